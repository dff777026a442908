"""Contexts of chunks, without a library."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.chunk.contextual import ContextualChunker, check_context
from footnotes.chunk.rules import RulesChunker
from footnotes.errors import ProviderError
from footnotes.store.memories import Memory
from footnotes.types import Part
from libraries import quick_library


def test_pieces_are_those_of_the_chunker_inside(tmp_path: Path) -> None:
    asked: list[str] = []

    def say(system: str, user: str) -> str:
        asked.append(user)
        if len(asked) == 2:
            raise ProviderError("overloaded")
        return f"Number {len(asked)}."

    part = Part(0, "\n\n".join(f"Paragraph {n} says something of its own." for n in range(12)), ())
    inner = RulesChunker(tokens=20, overlap=0)
    with quick_library(tmp_path / "library") as library:
        memories = library._store.memories("local")
        chunker = ContextualChunker(inner, say=say, model="m", memory_of=lambda scope: Memory(memories, scope))
        pieces = chunker.split(part)
    assert [(piece.start, piece.end) for piece in pieces] == [(piece.start, piece.end) for piece in inner.split(part)]
    assert [bool(piece.prefix) for piece in pieces].count(False) == 1
    assert chunker.take_notes() == ["1 chunks have no context from m (overloaded); `footnotes reindex` asks again"]
    assert chunker.take_notes() == []
    assert chunker.options["contextual"] == "m" and chunker.options["chunker"] == "rules"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ('"A sentence."\n\nAnd another.', "A sentence."),
        ("**Bold** words", "Bold** words"),
        ("- it is a list", "it is a list"),
        ("word " * 200, None),
    ],
)
def test_what_a_model_says_is_one_short_line(said: str, expected: str | None) -> None:
    context = check_context(said)
    assert len(context) <= 300 and "\n" not in context and (expected is None or context == expected)


@pytest.mark.parametrize("said", ["", "\n\n", "---", "…"])
def test_nothing_is_no_context(said: str) -> None:
    with pytest.raises(ValueError, match="said nothing"):
        check_context(said)
