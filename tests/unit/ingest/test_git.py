"""Git, as the ingest of code asks it."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.ingest.code.git import Git
from repositories import ROUTES, TOKENS, repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return repository(tmp_path / "repo", {"a.py": TOKENS, "b.py": ROUTES})


def test_a_commit_that_is_no_hash_is_never_given_to_git(repo: Path) -> None:
    opened = Git.open(repo)
    assert opened is not None
    assert opened.changes("--output=/tmp/evil") is None
    assert opened.changes("0" * 40) is None
