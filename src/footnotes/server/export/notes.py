"""Answers with marks and numbered footnotes, the base of both exports; and the export as Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from footnotes.types import KeptTurn

_CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.M | re.S)
_MARKUP = re.compile(r"<(?=[a-zA-Z/!?])|!(?=\[)")
_DOUBT = "[?]"
_DOUBT_TEXT = "[?] Nothing in the documents supports this."


@dataclass(frozen=True, slots=True)
class Note:
    """A footnote; `number` counts through all answers of a conversation."""

    number: int
    place: str
    quote: str


@dataclass(frozen=True, slots=True)
class TurnWithNotes:
    question: str
    text: str
    notes: tuple[Note, ...]


def add_notes(turns: Iterable[KeptTurn], mark: Callable[[int], str], doubt: str) -> list[TurnWithNotes]:
    """Mark the end of every sentence that has a footnote with `mark`, and of unsupported ones with `doubt`."""
    turns_with_notes: list[TurnWithNotes] = []
    first = 1
    for turn in turns:
        answer: Mapping[str, Any] = turn.answer or {}
        citations: Sequence[Mapping[str, Any]] = answer.get("citations") or ()
        numbers = {marker: first + at for at, marker in enumerate(sorted({one["marker"] for one in citations}))}
        first += len(numbers)
        marks = [
            (_end(turn.text, one["answer_span"]), numbers[one["marker"]], mark(numbers[one["marker"]]))
            for one in citations
        ]
        marks += [(_end(turn.text, span), 0, doubt) for span in answer.get("unsupported") or ()]
        by_marker = {one["marker"]: one for one in reversed(citations)}
        notes = tuple(
            Note(numbers[key], _citation_place(by_marker[key]), " ".join(str(by_marker[key]["quote"]).split()))
            for key in numbers
        )
        turns_with_notes.append(TurnWithNotes(turn.question, _insert_marks(turn.text, marks), notes))
    return turns_with_notes


def _end(text: str, span: Sequence[int]) -> int:
    """Return the end of a span, without trailing white space; in a table row, inside the last cell."""
    return span[0] + len(text[span[0] : span[1]].rstrip().removesuffix("|").rstrip())


def _insert_marks(text: str, marks: Iterable[tuple[int, int, str]]) -> str:
    for place, _, sign in sorted(set(marks), reverse=True):
        text = text[:place] + sign + text[place:]
    return text


def _citation_place(citation: Mapping[str, Any]) -> str:
    """`handbook.pdf, p. 4`, or a path with its lines."""
    lines = citation.get("lines")
    if citation.get("path"):
        return f"{citation['path']}:{lines[0]}" if lines else str(citation["path"])
    page = citation.get("page")
    return f"{citation['filename']}, p. {page}" if page else str(citation["filename"])


def to_markdown(title: str, turns: Iterable[KeptTurn]) -> str:
    parts = [f"# {_line(title)}"]
    turns_with_notes = add_notes(turns, lambda number: f"[^{number}]", _DOUBT)
    for turn in turns_with_notes:
        parts += [f"## {_line(turn.question)}", _harmless(turn.text)]
    notes = [
        f"[^{note.number}]: {_line(note.place)}: “{_line(note.quote)}”"
        for turn in turns_with_notes
        for note in turn.notes
    ]
    parts += ["\n".join(notes)] if notes else []
    parts += [_DOUBT_TEXT] if any(_DOUBT in turn.text for turn in turns_with_notes) else []
    return "\n\n".join(parts) + "\n"


def _line(text: str) -> str:
    return _harmless(" ".join(text.split()))


def _harmless(text: str) -> str:
    """Write Markdown that loads and runs nothing when it is rendered: no HTML, no images. Code stays."""
    return "".join(part if at % 2 else _MARKUP.sub(r"\\\g<0>", part) for at, part in enumerate(_CODE.split(text)))
