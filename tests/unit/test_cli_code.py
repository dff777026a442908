"""`footnotes add --code` and `--wiki` as a user meets them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from command_line import run
from repositories import ROUTES, TOKENS, files_in, needs_git, repository

pytestmark = needs_git


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "shop", {"src/tokens.py": TOKENS, "src/api/routes.py": ROUTES, "yarn.lock": "x\n"})


def test_code_is_added_and_then_followed(tmp_path: Path, repo: Path) -> None:
    arguments = ("add", str(repo), "--code", "--library", str(tmp_path / "l"))
    first = run(*arguments)
    assert first.exit_code == 0
    assert "2 added, 1 skipped" in first.output and "1 a lock file" in first.output
    assert "2 unchanged" in run(*arguments).output
    shape = json.loads(run(*arguments, "--json").stdout)
    assert shape["counts"]["unchanged"] == 2


def test_pages_are_added(tmp_path: Path, repo: Path) -> None:
    files_in(tmp_path / "wiki", {"index.md": "# Shop\n\nIt has a TokenService.\n"})
    done = run("add", str(tmp_path / "wiki"), "--wiki", "--repo", str(repo), "--library", str(tmp_path / "l"))
    assert done.exit_code == 0 and "1 added" in done.output


@pytest.mark.parametrize(
    "wrong",
    [["--code", "--wiki"], ["--untracked"], ["--repo", "x"], ["--wiki", "--repo", "x", "--analysis", "y"],
     ["--wiki", "--chunker", "rules"]],
)  # fmt: skip
def test_what_does_not_go_together_is_refused(tmp_path: Path, wrong: list[str]) -> None:
    assert run("add", str(tmp_path), *wrong, "--library", str(tmp_path / "l")).exit_code == 2
