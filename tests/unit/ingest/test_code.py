"""A repository's source in a library: what is taken, what is left out, and what the next commit costs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import SourceUnreadable, SyncRefused
from footnotes.library import Library
from footnotes.types import Document
from libraries import quick_library
from repositories import ROUTES, TOKENS, commit, files_in, git, needs_git, repository

pytestmark = needs_git


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    files: dict[str, str | bytes] = {
        "src/auth/tokens.py": TOKENS,
        "src/api/routes.py": ROUTES,
        "pyproject.toml": '[project.scripts]\nshop = "shop:main"\n',
        "README.md": "# Shop\n\nA shop.\n",
        ".gitignore": "ignored.py\n",
    }
    return repository(tmp_path / "shop", files)


def by_path(library: Library) -> dict[str, Document]:
    return {str(document.metadata["path"]): document for document in library.documents()}


def statuses(files: list[Any]) -> dict[str, str]:
    return {Path(file.path).name: file.status for file in files}


def test_what_is_said_of_files_and_chunks(library: Library, repo: Path) -> None:
    said = statuses(library.add_code(repo))
    assert said == {
        "tokens.py": "added",
        "routes.py": "added",
        "pyproject.toml": "added",
        "README.md": "skipped",
        ".gitignore": "skipped",
    }
    documents = by_path(library)
    tokens = documents["src/auth/tokens.py"].metadata
    assert tokens["repository"] == "shop"
    assert tokens["commit"] == git(repo, "rev-parse", "HEAD")
    assert (tokens["type"], tokens["language"], tokens["layer"]) == ("file", "python", "other")
    assert tokens["imports"] == ["bcrypt", "datetime"]
    routes = documents["src/api/routes.py"].metadata
    assert (routes["layer"], routes["entry_points"]) == ("api", ["GET /users/{id}", "main"])
    assert documents["pyproject.toml"].metadata["entry_points"] == ["cli:shop"]
    chunks = library.chunks(documents["src/auth/tokens.py"].id)
    symbols = [name for chunk in chunks for name in chunk.metadata.get("symbols", [])]  # type: ignore[union-attr]
    assert {"TokenError", "TokenService", "TokenService.refresh", "refresh", "validate_token"} <= set(symbols)
    hit = library.search("validate_token").hits[0]
    assert hit.metadata["path"] == "src/auth/tokens.py"


def test_entry_points_of_a_chunk_are_its_own(library: Library, repo: Path) -> None:
    many = ROUTES + "".join(f'\n\n@router.post("/x{n}")\ndef make{n}():\n' + "    call(1)\n" * 60 for n in range(4))
    files_in(repo, {"src/api/many.py": many})
    commit(repo)
    library.add_code(repo)
    found = [chunk.metadata.get("entry_points", []) for chunk in library.chunks(by_path(library)["src/api/many.py"].id)]
    assert ["POST /users/x2"] in found
    assert sum("POST /users/x2" in each for each in found) == 1  # type: ignore[operator]


def test_a_second_run_reads_nothing(library: Library, repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for path in repo.rglob("*"):  # files that settled before they were read
        if path.is_file() and ".git" not in path.parts:
            os.utime(path, ns=(1_700_000_000_000_000_000,) * 2)
    monkeypatch.setattr("footnotes.ingest.plan.SETTLING_NS", -(10**18))
    library.add_code(repo)

    def read(path: Path, *_: object) -> None:
        raise AssertionError(f"{path} was read")

    monkeypatch.setattr("footnotes.ingest.sync.hash_file", read)
    monkeypatch.setattr("footnotes.ingest.code.sync.reason_by_content", read)
    said = statuses(library.add_code(repo))
    assert [said[name] for name in ("tokens.py", "routes.py", "pyproject.toml")] == ["unchanged"] * 3


def test_changes_renames_and_deletions_of_commits_are_followed(library: Library, repo: Path) -> None:
    library.add_code(repo)
    before = by_path(library)
    git(repo, "mv", "src/auth/tokens.py", "src/auth/secrets.py")
    files_in(repo, {"src/auth/secrets.py": TOKENS + "\n\nEXTRA = 1\n", "src/new.py": "def fresh(): ...\n"})
    (repo / "src/api/routes.py").unlink()
    now = commit(repo)
    files = library.add_code(repo)
    said = statuses(files)
    assert (said["secrets.py"], said["new.py"], said["routes.py"]) == ("renamed", "added", "deleted")
    assert next(file.before for file in files if file.status == "renamed") == str(repo / "src/auth/tokens.py")
    after = by_path(library)
    assert set(after) == {"src/auth/secrets.py", "src/new.py", "pyproject.toml"}
    moved = after["src/auth/secrets.py"]
    assert moved.id == before["src/auth/tokens.py"].id
    assert (moved.metadata["commit"], moved.filename) == (now, "secrets.py")


def test_a_plain_rename_says_its_new_path(library: Library, repo: Path) -> None:
    library.add_code(repo)
    (repo / "src/domain").mkdir()
    git(repo, "mv", "src/auth/tokens.py", "src/domain/tokens.py")
    commit(repo)
    assert statuses(library.add_code(repo))["tokens.py"] == "renamed"
    document = by_path(library)["src/domain/tokens.py"]
    assert document.metadata["layer"] == "domain"
    assert all(chunk.prefix.startswith("[Document: src/domain/tokens.py") for chunk in library.chunks(document.id))


def test_a_file_that_is_not_as_committed_says_so_until_it_is(library: Library, repo: Path) -> None:
    first = git(repo, "rev-parse", "HEAD")
    files_in(repo, {"src/auth/tokens.py": TOKENS + "\nX = 1\n"})
    library.add_code(repo)
    assert by_path(library)["src/auth/tokens.py"].metadata["commit"] == f"{first}-dirty"
    assert by_path(library)["src/api/routes.py"].metadata["commit"] == first
    now = commit(repo)
    assert statuses(library.add_code(repo))["tokens.py"] == "unchanged"
    assert by_path(library)["src/auth/tokens.py"].metadata["commit"] == now


def test_a_file_git_was_told_to_forget_goes(library: Library, repo: Path) -> None:
    library.add_code(repo)
    git(repo, "rm", "-q", "--cached", "src/auth/tokens.py")
    git(repo, "commit", "-q", "-m", "forget")
    assert statuses(library.add_code(repo))["tokens.py"] == "deleted"
    assert (repo / "src/auth/tokens.py").exists()


def test_other_documents_below_the_folder_are_left_alone(library: Library, repo: Path) -> None:
    library.add(repo / "README.md")
    library.add_code(repo)
    library.add_code(repo)
    assert "README.md" in {document.filename for document in library.documents()}


def test_a_commit_that_is_not_known_any_more_leaves_it_to_hashes(library: Library, repo: Path) -> None:
    library.add_code(repo)
    git(repo, "checkout", "-q", "--orphan", "fresh")
    files_in(repo, {"src/auth/tokens.py": TOKENS + "\nY = 2\n"})
    commit(repo)
    git(repo, "branch", "-D", "-q", "main")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    said = statuses(library.add_code(repo))
    assert (said["tokens.py"], said["routes.py"]) == ("changed", "unchanged")


def test_untracked_files_come_only_when_asked_and_ignored_ones_never(library: Library, repo: Path) -> None:
    files_in(repo, {"draft.py": "def draft(): ...\n", "ignored.py": "def ignored(): ...\n"})
    assert "draft.py" not in statuses(library.add_code(repo))
    said = statuses(library.add_code(repo, untracked=True))
    assert said["draft.py"] == "added" and "ignored.py" not in said
    assert str(by_path(library)["draft.py"].metadata["commit"]).endswith("-dirty")


def test_what_gitattributes_calls_generated_is_left_out(library: Library, repo: Path) -> None:
    files_in(repo, {".gitattributes": "src/api/* linguist-generated\nsrc/auth/* -linguist-vendored\n"})
    commit(repo)
    reasons = {Path(file.path).name: file.warnings for file in library.add_code(repo)}
    assert reasons["routes.py"] == ("generated, according to .gitattributes",)
    assert set(by_path(library)) == {"src/auth/tokens.py", "pyproject.toml"}


def test_a_folder_of_a_repository_keeps_paths_from_the_top(library: Library, repo: Path) -> None:
    library.add_code(repo / "src/auth")
    assert set(by_path(library)) == {"src/auth/tokens.py"}


def test_the_name_comes_from_the_remote(library: Library, repo: Path) -> None:
    git(repo, "remote", "add", "origin", "git@example.org:team/boutique.git")
    library.add_code(repo)
    assert {document.metadata["repository"] for document in library.documents()} == {"boutique"}


def test_a_folder_without_git_is_walked(library: Library, tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    files_in(folder, {"a.py": TOKENS, "b.py": ROUTES, "skip/c.py": "x = 1\n", ".gitignore": "skip/\n"})
    assert statuses(library.add_code(folder))["a.py"] == "added"
    assert set(by_path(library)) == {"a.py", "b.py"}
    assert "commit" not in by_path(library)["a.py"].metadata
    (folder / "a.py").unlink()
    assert statuses(library.add_code(folder))["a.py"] == "deleted"


def test_identical_files_are_one_document_that_says_a_path_it_has(library: Library, repo: Path) -> None:
    files_in(repo, {"a/same.py": "def same(): ...\n", "b/same.py": "def same(): ...\n"})
    commit(repo)
    library.add_code(repo)
    [document] = [each for each in library.documents() if each.filename == "same.py"]
    path = str(document.metadata["path"])
    files_in(repo, {path: "def other(): ...\n"})
    commit(repo)
    library.add_code(repo)
    other = "b/same.py" if path == "a/same.py" else "a/same.py"
    texts = {str(each.metadata["path"]): library.text(each.id) for each in library.documents()}
    assert "other" in texts[path] and "same" in texts[other]


def test_other_layers_are_said_without_reading_anew(repo: Path, tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_code(repo)
        version = by_path(library)["src/auth/tokens.py"].version
    with quick_library(tmp_path / "library", layers={"src/auth/**": "security"}) as library:
        assert statuses(library.add_code(repo))["tokens.py"] == "unchanged"
        document = by_path(library)["src/auth/tokens.py"]
        assert (document.metadata["layer"], document.version) == ("security", version)


def test_a_pass_that_was_cut_off_is_made_up_for(library: Library, repo: Path) -> None:
    library.add_code(repo)
    files_in(repo, {"src/auth/tokens.py": TOKENS + "\nX = 1\n"})
    commit(repo)
    stream: Iterator[Any] = library.adding_code(repo)
    next(stream)
    stream.close()  # type: ignore[attr-defined]
    files_in(repo, {"src/auth/tokens.py": TOKENS})
    commit(repo)
    library.add_code(repo)
    assert library.text(by_path(library)["src/auth/tokens.py"].id) == TOKENS


def test_a_repository_whose_files_are_gone_is_not_emptied_by_accident(library: Library, repo: Path) -> None:
    library.add_code(repo)
    for name in ("src/auth/tokens.py", "src/api/routes.py", "pyproject.toml"):
        (repo / name).unlink()
    with pytest.raises(SyncRefused):
        library.add_code(repo)
    library.add_code(repo, delete_all=True)
    assert not library.documents()


def test_a_folder_that_is_missing_is_an_error(library: Library, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        library.add_code(tmp_path / "nowhere")
