"""Small repositories for tests, made with git itself."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder: Path, *arguments: str) -> str:
    """What a command of git prints, run as nobody in particular."""
    who = {f"GIT_{role}_{what}": "test@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", "-C", str(folder), *arguments], env=environment, capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace").strip()


def files_in(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def repository(folder: Path, files: dict[str, str | bytes]) -> Path:
    """A repository with one commit of these files."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "-b", "main")
    files_in(folder, files)
    commit(folder)
    return folder


def commit(folder: Path) -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a change", "--allow-empty")
    return git(folder, "rev-parse", "HEAD")


TOKENS = '''"""Tokens and what is wrong with them."""

import bcrypt
from datetime import timedelta

LIFETIME = timedelta(hours=1)


class TokenError(Exception):
    """A token that is not to be trusted."""


class TokenService:
    def refresh(self, token: str) -> str:
        """A new token for an old one."""
        return validate_token(token)


def validate_token(token: str) -> str:
    """Check the signature and the time of a token."""
    if not bcrypt.checkpw(token.encode(), b"hash"):
        raise TokenError(token)
    return token
'''
ROUTES = """from fastapi import APIRouter

router = APIRouter(prefix="/users")


@router.get("/{id}")
def one(id: int) -> dict[str, int]:
    return {"id": id}


if __name__ == "__main__":
    print("no")
"""
