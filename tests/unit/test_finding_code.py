"""A small repository, asked for symbols by name, by behaviour, by layer and by importer: each is in the top three."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.library import Library
from libraries import quick_library

FILES = {
    "src/domain/tokens.py": '''"""Tokens and what makes them valid."""

import bcrypt


class TokenError(Exception):
    """A token that must not be accepted."""


def validate_token(token: str, secret: bytes) -> bool:
    """Whether a token carries the right signature and has not expired."""
    if not token:
        raise TokenError("empty")
    return bcrypt.checkpw(token.encode(), secret)


class TokenService:
    """Issues tokens and makes old ones new."""

    def refresh(self, token: str) -> str:
        """A fresh token in exchange for one that is about to expire."""
        return token[::-1]
''',
    "src/api/login.py": '''"""The routes for logging in."""

from fastapi import APIRouter

from src.domain.tokens import TokenError, validate_token

router = APIRouter()


@router.post("/login")
def login(token: str) -> dict[str, bool]:
    """Let somebody in whose token is good."""
    try:
        return {"ok": validate_token(token, b"x") and validate_token(token, b"y")}
    except TokenError:
        return {"ok": False}
''',
    "src/infrastructure/mail.py": '''"""Sends mail."""

import smtplib


def send_message(recipient: str, body: str) -> None:
    """Hand a message to the mail server, retrying when it is busy."""
    with smtplib.SMTP("localhost") as server:
        server.sendmail("us", recipient, body)
''',
    "src/infrastructure/cache.py": '''"""Keeps what was computed."""


def remember(key: str, value: str) -> None:
    """Store a value until memory is short; validate_token is never remembered."""
''',
    "src/domain/prices.py": '''"""What things cost."""


def price_with_tax(net: int) -> int:
    """The gross price, rounded to whole cents."""
    return round(net * 1.19)
''',
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    folder = tmp_path_factory.mktemp("shop")
    for path, content in FILES.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content, encoding="utf-8")
    identity = ("-c", "user.name=a", "-c", "user.email=a@b.test")
    for words in (["init", "-q"], ["add", "."], [*identity, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *words], cwd=folder, check=True)
    return folder


@pytest.fixture(scope="module")
def library(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with quick_library(tmp_path_factory.mktemp("library")) as opened:
        opened.add_code(repository)
        yield opened


@pytest.mark.parametrize(
    ("question", "path", "within"),
    [
        ("validate_token", "src/domain/tokens.py", 1),
        ("where is TokenError raised?", "src/domain/tokens.py", 1),
        ("TokenService.refresh()", "src/domain/tokens.py", 1),
        ("what does `send_message` do", "src/infrastructure/mail.py", 1),
        ("exchange a token that is about to expire", "src/domain/tokens.py", 3),
        ("hand a message to the mail server", "src/infrastructure/mail.py", 3),
        ("gross price rounded to cents", "src/domain/prices.py", 3),
        ("token layer:domain", "src/domain/tokens.py", 3),
        ("is the token good layer:api", "src/api/login.py", 3),
        ("imports:bcrypt", "src/domain/tokens.py", 3),
        ("who logs in imports:fastapi", "src/api/login.py", 3),
        ("symbol:refresh", "src/domain/tokens.py", 1),
        ("entry_point:*login*", "src/api/login.py", 1),
        ("path:src/infrastructure/** message", "src/infrastructure/mail.py", 3),
    ],
)
def test_found_by_name_behaviour_layer_and_importer(library: Library, question: str, path: str, within: int) -> None:
    found = [hit.metadata["path"] for hit in library.search(question, limit=within).hits]
    assert path in found, found


def test_definition_then_uses(library: Library) -> None:
    hits = library.search("validate_token", limit=3).hits
    assert hits[0].metadata["path"] == "src/domain/tokens.py"
    assert {hit.metadata["path"] for hit in hits[1:]} == {"src/api/login.py", "src/infrastructure/cache.py"}
    assert [hit.scores.reason.split()[0] for hit in hits] == ["defines", "uses", "uses"]


def test_filters_leave_the_rest_out(library: Library) -> None:
    assert {hit.metadata["layer"] for hit in library.search("token layer:domain", limit=10).hits} == {"domain"}
    assert {document.metadata["path"] for document in library.documents(where="imports:bcrypt")} == {
        "src/domain/tokens.py"
    }


def test_the_answer_cites_path_and_lines(library: Library, repository: Path) -> None:
    answer = library.ask("What does validate_token check about the signature of a token?")
    (citation, *_) = answer.citations
    lines = FILES[citation.path].splitlines()
    assert citation.lines is not None
    first, last = citation.lines
    assert citation.quote.strip() in "\n".join(lines[first - 1 : last])
    commit = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repository, capture_output=True, text=True, check=True)
    assert citation.commit == commit.stdout.strip()
    assert f"{citation.path}:{first}" in str(answer) and f"@ {commit.stdout[:7]}" in str(answer)
