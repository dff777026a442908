"""Repositories that mean harm, are odd, or are broken: nothing of theirs runs, and nothing else is lost."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError
from footnotes.library import Library
from repositories import ROUTES, TOKENS, commit, files_in, git, needs_git, repository

pytestmark = needs_git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"a.py": TOKENS, "b.py": ROUTES})


def paths(library: Library) -> set[str]:
    return {str(document.metadata["path"]) for document in library.documents()}


def test_no_setting_or_hook_of_a_repository_runs_anything(library: Library, repo: Path, tmp_path: Path) -> None:
    library.add_code(repo)
    mark = tmp_path / "ran"
    script = tmp_path / "evil.sh"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {mark}\ncat\n', encoding="utf-8")
    script.chmod(0o755)
    evil = str(script)
    settings = {
        "core.fsmonitor": evil, "core.pager": evil, "core.editor": evil, "core.sshCommand": evil, "diff.external": evil,
        "core.askPass": evil, "credential.helper": evil, "filter.evil.clean": evil, "filter.evil.smudge": evil,
        "filter.evil.process": evil, "diff.evil.textconv": evil, "diff.evil.command": evil, "gpg.program": evil,
        "core.hooksPath": str(tmp_path), "uploadpack.packObjectsHook": evil, "alias.ls-files": f"!{evil}",
        "alias.rev-parse": f"!{evil}", "core.alternateRefsCommand": evil, "pager.diff-tree": evil,
        "pager.ls-files": evil, "pager.config": evil,
    }  # fmt: skip
    files_in(
        repo, {"a.py": TOKENS + "\nX = 1\n", ".gitattributes": "*.py filter=evil diff=evil\n", "new.py": "y = 2\n"}
    )
    commit(repo)
    for name, value in settings.items():
        git(repo, "config", name, value)
    for hook in ("post-index-change", "pre-commit", "post-checkout", "fsmonitor-watchman", "reference-transaction"):
        (repo / ".git" / "hooks").mkdir(exist_ok=True)
        shutil.copy(script, repo / ".git" / "hooks" / hook)
    files_in(repo, {"b.py": ROUTES + "\nZ = 1\n"})
    mark.unlink(missing_ok=True)
    library.add_code(repo, untracked=True)
    library.add_wiki(repo, repository=repo)
    assert not mark.exists(), mark.read_text(encoding="utf-8")
    assert paths(library) >= {"a.py", "b.py", "new.py"}
    git(repo, "status")
    assert mark.exists(), "these settings would have run something"


def test_variables_of_git_around_us_mean_nothing(
    library: Library, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = repository(tmp_path / "other", {"c.py": "def other(): ...\n"})
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    library.add_code(repo)
    assert paths(library) == {"a.py", "b.py"}


def test_a_partial_clone_fetches_nothing(library: Library, repo: Path, tmp_path: Path) -> None:
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo}", str(clone))
    shutil.rmtree(repo)  # whoever wants to fetch fails
    library.add_code(clone)
    assert paths(library) == {"a.py", "b.py"}


@pytest.mark.skipif(sys.platform != "linux", reason="names that are no text need Linux")
def test_odd_names(library: Library, tmp_path: Path) -> None:
    names = [
        "line\nbreak.py",
        "tab\t.py",
        "quo\"te'.py",
        "-rf.py",
        "ünï ☃.py",
        "a b/c d.py",
        "*.py",
        ":(top).py",
        "\\.py",
    ]
    repo = repository(tmp_path / "repo", {name: f"def f{n}(): ...\n" for n, name in enumerate(names)})
    raw = os.fsencode(repo) + b"/\xff\xfe.py"
    Path(os.fsdecode(raw)).write_bytes(b"def undecodable(): ...\n")
    commit(repo)
    library.add_code(repo)
    assert paths(library) == {*names, "\\xff\\xfe.py"}
    assert not any(str(document.metadata["commit"]).endswith("-dirty") for document in library.documents())
    git(repo, "mv", "line\nbreak.py", "other\nbreak.py")
    commit(repo)
    assert [file.status for file in library.add_code(repo) if file.status != "unchanged"] == ["renamed"]


def test_links_and_submodules_are_left_out(library: Library, repo: Path, tmp_path: Path) -> None:
    remote = tmp_path / "outside"
    files_in(remote, {"secret.py": "PASSWORD = 1\n", "deep/secret.py": "PASSWORD = 2\n"})
    inner = repository(tmp_path / "inner", {"sub.py": "def sub(): ...\n"})
    files_in(repo, {"deep/secret.py": "x = 1\n"})
    (repo / "link.py").symlink_to(remote / "secret.py")
    (repo / "near.py").symlink_to("a.py")
    (repo / "circle.py").symlink_to("circle.py")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner), "inner")
    commit(repo)
    shutil.rmtree(repo / "deep")
    (repo / "deep").symlink_to(remote / "deep")  # a tracked folder that leads elsewhere now
    reasons = {Path(file.path).name: file.warnings for file in library.add_code(repo) if file.status == "skipped"}
    assert paths(library) == {"a.py", "b.py"}
    assert reasons["inner"] == ("a submodule",)
    assert reasons["link.py"] == reasons["near.py"] == reasons["circle.py"] == ("a link",)
    assert reasons["secret.py"] == ("a link out of the repository",)


def test_a_repository_without_a_commit(library: Library, tmp_path: Path) -> None:
    repo = tmp_path / "empty"
    repo.mkdir()
    git(repo, "init", "-q")
    assert library.add_code(repo) == []
    files_in(repo, {"a.py": TOKENS})
    git(repo, "add", "a.py")
    library.add_code(repo)
    [document] = library.documents()
    assert "commit" not in document.metadata
    now = commit(repo)
    files_in(repo, {"b.py": ROUTES})
    now = commit(repo)
    library.add_code(repo)
    assert {document.metadata.get("commit") for document in library.documents() if document.filename == "b.py"} == {now}


def test_detached_and_shallow_repositories(library: Library, repo: Path, tmp_path: Path) -> None:
    git(repo, "checkout", "-q", "--detach")
    files_in(repo, {"c.py": "def third(): ...\n"})
    commit(repo)
    clone = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", f"file://{repo}", str(clone))
    library.add_code(clone)
    assert paths(library) == {"a.py", "b.py", "c.py"}
    files_in(clone, {"c.py": "def fourth(): ...\n"})
    commit(clone)
    statuses = {Path(file.path).name: file.status for file in library.add_code(clone)}
    assert statuses == {"a.py": "unchanged", "b.py": "unchanged", "c.py": "changed"}


def test_an_unfinished_merge_lists_a_file_once(library: Library, repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side")
    files_in(repo, {"a.py": "def side(): ...\n"})
    commit(repo)
    git(repo, "checkout", "-q", "main")
    files_in(repo, {"a.py": "def main(): ...\n"})
    commit(repo)
    with pytest.raises(Exception, match="merge"):
        git(repo, "merge", "side")
    assert len([file for file in library.add_code(repo) if file.path.endswith("a.py")]) == 1


def test_broken_binary_and_huge_files_do_not_stop_the_others(library: Library, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "good.py": TOKENS,
        "broken.py": "def broken(:\n  return ((((\nclass {{{\n" * 50,
        "deep.py": "x = " + "(" * 5_000 + ")" * 5_000 + "\n" + "y = 1\n" * 100,
        "deep.js": ("function f(){" * 2_000 + "}" * 2_000 + "\n").replace("{", "{\n"),
        "binary.py": bytes(range(256)) * 20,
        "latin.py": "# Größe\ndef size(): ...\n".encode("latin-1"),
        "wide.py": "def wide(): ...\n".encode("utf-16"),
        "windows.py": "def windows():\r\n    return 1\r\n",
        "nothing.py": "",
    }
    repo = repository(tmp_path / "repo", files)
    found = {Path(file.path).name: file for file in library.add_code(repo)}
    assert found["binary.py"].warnings == ("binary",)
    assert found["nothing.py"].warnings == ("empty",)
    for name in ("good.py", "broken.py", "latin.py", "windows.py", "wide.py"):
        assert found[name].status == "added", found[name]
    assert found["deep.js"].status in ("added", "failed")
    symbols = {name for hit in library.search("windows size").hits for name in hit.metadata.get("symbols", [])}  # type: ignore[union-attr]
    assert {"windows", "size"} <= symbols


def test_line_ends_of_another_system_are_no_change(library: Library, tmp_path: Path) -> None:
    repo = repository(tmp_path / "repo", {"a.py": "def a():\n    return 1\n"})
    files_in(repo, {"a.py": "def a():\r\n    return 1\r\n"})
    library.add_code(repo)
    [document] = library.documents()
    assert document.metadata["commit"] == git(repo, "rev-parse", "HEAD")


def test_a_damaged_repository_is_an_error_that_says_so(library: Library, repo: Path) -> None:
    (repo / ".git" / "index").write_bytes(b"no index")
    with pytest.raises(FootnotesError) as error:
        library.add_code(repo)
    assert "git" in error.value.message


def test_git_that_is_not_there(library: Library, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnotes.ingest.code.git._program", lambda: None)
    library.add_code(repo)
    assert paths(library) == {"a.py", "b.py"}
