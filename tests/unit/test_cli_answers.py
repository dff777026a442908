"""`footnotes ask --stream` and `footnotes chat`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

import provider as fake
from footnotes.cli import main
from footnotes.library import Library
from provider import ScriptedProvider

TEXT = "The notice period is three months. During probation the notice period is two weeks. Lunch costs four euros.\n"


@pytest.fixture
def library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    folder = tmp_path / "library"
    with Library(folder) as opened:
        opened.add_text(TEXT, filename="handbook.txt")
    return str(folder)


def run(*arguments: str, stdin: str = "") -> str:
    result = CliRunner().invoke(main, arguments, input=stdin)
    assert result.exit_code == 0, result.output
    return result.output


def test_ask_streams_text_with_footnotes(library: str) -> None:
    output = run("ask", "How much does lunch cost?", "-l", library, "--stream")
    assert output.startswith("Lunch costs four euros. [1]\n\n[1] handbook.txt: “Lunch costs four euros.”")


def test_ask_streams_events_as_lines_of_json(library: str) -> None:
    lines = [json.loads(line) for line in run("ask", "lunch cost?", "-l", library, "--stream", "--json").splitlines()]
    assert [line["type"] for line in lines] == ["hits", "token", "citation", "usage", "done"]
    assert lines[-1]["answer"]["citations"][0]["quote"] == "Lunch costs four euros."


def test_ask_deep_shows_its_steps(library: str) -> None:
    question = "How long is the notice period and how much does lunch cost?"
    output = run("ask", question, "-l", library, "--stream", "--deep")
    assert "→ search(query='How long is the notice period')" in output and "four euros. [" in output


def test_ask_with_a_model_and_strict(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedProvider(fake.says("Lunch costs four euros [7]. Dinner is free.")) as provider:
        monkeypatch.setenv("FOOTNOTES_OPENAI_BASE_URL", provider.base_url)
        flagged = run("ask", "lunch?", "-l", library, "--model", "openai:test")
        assert "Lunch costs four euros. [1] Dinner is free. [?]" in flagged
        strict = run("ask", "lunch?", "-l", library, "--model", "openai:test", "--strict")
        assert "Dinner" not in strict and "Lunch costs four euros. [1]" in strict
        ids = {asked.headers.get("X-Request-ID") or asked.headers.get("x-request-id") for asked in provider.requests}
    assert None not in ids and len(ids) == 2, "each command has an id of its own"


def test_chat_understands_a_question_from_those_before(library: str) -> None:
    output = run("chat", "-l", library, stdin="How long is the notice period?\nAnd during probation?\n\nignored\n")
    assert "three months. [1]" in output
    assert "Standalone question: How long is the notice period? And during probation?" in output
    assert "two weeks. [" in output and "ignored" not in output
