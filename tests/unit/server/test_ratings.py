"""Rated answers as a golden set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footnotes.evaluate.golden import questions_of_ratings, read_golden, write_golden
from libraries import HANDBOOK, TRAVEL
from serving import Running

NOTICE = "How long is the notice period?"


def begin(server: Running, question: str = NOTICE, **body: Any) -> tuple[str, dict[str, Any]]:
    answer = server.client.post("/v1/conversations", json={"question": question, **body})
    assert answer.status_code == 200, answer.text
    return answer.headers["location"].rpartition("/")[2], answer.json()


@pytest.fixture
def filled(server: Running) -> Running:
    server.add("handbook.md", HANDBOOK)
    server.add("travel.txt", TRAVEL)
    return server


def test_judged_answers_become_a_golden_set(filled: Running, tmp_path: Path) -> None:
    conversation, turn = begin(filled)
    filled.client.put(f"/v1/conversations/{conversation}/turns/1/rating", json={"rating": "up"})
    other, _ = begin(filled, "Who may travel first class?")
    filled.client.put(f"/v1/conversations/{other}/turns/1/rating", json={"rating": "down", "reason": "no"})
    library = filled.app.state.tenants.borrow("local")
    try:
        write_golden(tmp_path / "golden.jsonl", questions_of_ratings(library))
    finally:
        filled.app.state.tenants.release("local")
    good, bad = read_golden(tmp_path / "golden.jsonl")
    assert (good.text, list(good.documents), good.answer) == (NOTICE, ["handbook.md"], turn["text"])
    assert good.passages == tuple(dict.fromkeys(one["quote"] for one in turn["answer"]["citations"]))
    assert bad.id.startswith("down-") and not bad.documents
