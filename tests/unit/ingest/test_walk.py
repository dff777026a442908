from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import SourceUnreadable
from footnotes.ingest.walk import Skipped, walk


def names(root: Path, **options: Path) -> tuple[list[str], dict[str, str]]:
    found, skipped = [], {}
    for item in walk(root, **options):
        if isinstance(item, Skipped):
            skipped[item.path.relative_to(root).as_posix()] = item.reason
        else:
            found.append(item.relative_to(root).as_posix())
    return found, skipped


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name in ("b.txt", "a.txt", ".hidden", "sub/c.txt", "sub/build/out.txt", "node_modules/x.txt", "sub/keep.log"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name)
    (root / ".gitignore").write_text("node_modules/\n*.log\n")
    (root / "sub" / ".gitignore").write_text("build/\n!keep.log\n")
    return root


def test_files_come_in_a_stable_order_without_what_is_ignored(tree: Path) -> None:
    found, skipped = names(tree)
    assert found == ["a.txt", "b.txt", "sub/c.txt"] or found == ["a.txt", "b.txt", "sub/c.txt", "sub/keep.log"]
    assert skipped[".hidden"] == "hidden"
    assert skipped["node_modules"] == skipped["sub/build"] == "ignored by .gitignore"


def test_links_out_of_the_root_are_left_out(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    (tree / "out.txt").symlink_to(tmp_path / "secret.txt")
    (tree / "in.txt").symlink_to(tree / "a.txt")
    (tree / "loop").symlink_to(tree)
    (tree / "dangling").symlink_to(tree / "nothing")
    found, skipped = names(tree)
    assert "out.txt" not in found and skipped["out.txt"] == "a link out of the folder"
    assert "in.txt" in found
    assert skipped["loop"] == "a link to a folder that is taken anyway"
    assert skipped["dangling"] == "a link to nothing"


def test_the_library_itself_is_not_taken_in(tree: Path) -> None:
    (tree / "library").mkdir()
    (tree / "library" / "footnotes.db").write_text("x")
    found, skipped = names(tree, avoid=tree / "library")
    assert "library/footnotes.db" not in found and skipped["library"] == "is a library itself"


def test_a_file_named_itself_is_taken_even_when_hidden(tree: Path) -> None:
    assert list(walk(tree / ".hidden")) == [tree / ".hidden"]


def test_what_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        list(walk(tmp_path / "nothing"))
