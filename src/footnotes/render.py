"""Renders answers as plain text: sentences with markers, footnotes, and their places in documents."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from footnotes.types import SEARCHED_FOR, Answer, Citation, Hit, JsonValue, Leg, SearchResult

QUOTE_CHARACTERS = 160
UNSUPPORTED = "[?]"
UNCERTAIN = "[~]"
_SHORT = 7
_DIRTY = "-dirty"


def answer_as_text(answer: Answer) -> str:
    """Render an answer: a marker after every supported sentence, footnotes, and notes for the reader."""
    parts = [mark_sentences(answer)]
    if footnotes := [footnote_line(citation) for citation in distinct_footnotes(answer.citations)]:
        parts.append("\n".join(footnotes))
    if notes := list(notes_on(answer)):
        parts.append("\n".join(notes))
    return "\n\n".join(part for part in parts if part)


def index_state_as_text(state: Mapping[str, Any]) -> str:
    """Return one line on the state of the vector database."""
    name = f"{state['address']} ({', '.join(state['legs'])})"
    lacking = "1 document behind" if state["behind"] == 1 else f"{state['behind']:,} documents behind"
    if state["error"]:
        return f"{name}: {f'{lacking}: ' if state['behind'] else ''}{one_line(state['error']['message'])}"
    return f"{name}: {lacking if state['behind'] else 'up to date'}"


def dense_index_as_text(state: Mapping[str, Any]) -> str:
    """Return one line on the dense index that the database builds itself."""
    method = state["method"] or "none: searches compare every vector"
    return f"{method} ({one_line(state['error'])})" if state["error"] else method


def mark_sentences(answer: Answer) -> str:
    """Insert `[1]` after supported sentences of an answer, `[?]` after unsupported and `[~]` after uncertain ones."""
    marks: dict[int, list[str]] = {}
    for citation in answer.citations:
        marks.setdefault(_mark_position(answer.answer, citation.answer_span), []).append(f"[{citation.marker}]")
    for span in answer.unsupported:
        marks.setdefault(_mark_position(answer.answer, span), []).append(UNSUPPORTED)
    for span in answer.uncertain:
        marks.setdefault(_mark_position(answer.answer, span), []).append(UNCERTAIN)
    text, begin = "", 0
    for position in sorted(marks):
        text += answer.answer[begin:position] + " " + "".join(dict.fromkeys(marks[position]))
        begin = position
    return printable(text + answer.answer[begin:])


def distinct_footnotes(citations: tuple[Citation, ...]) -> list[Citation]:
    """Return one citation per marker, in order; several sentences may share a footnote."""
    by_marker: dict[int, Citation] = {}
    for citation in citations:
        by_marker.setdefault(citation.marker, citation)
    return [by_marker[marker] for marker in sorted(by_marker)]


def footnote_line(citation: Citation) -> str:
    """Format a footnote: `[1] handbook.pdf, p. 4: “the quote on one line”`."""
    return f"[{citation.marker}] {place_of(citation)}: “{shortened(citation.quote)}”"


def place_of(citation: Citation) -> str:
    """Return `handbook.pdf, p. 4`, or `src/auth/token.py:12-14 @ 1a2b3c4` for source code."""
    if citation.path:
        return one_line(source_place(citation.path, citation.lines, citation.commit))
    return one_line(citation.filename) + (f", p. {citation.page}" if citation.page is not None else "")


def hit_place(hit: Hit) -> str:
    """Return the place of a hit, like `place_of`."""
    path, commit = source_of(hit.metadata)
    if path:
        return one_line(source_place(path, hit.lines, commit))
    first, last = hit.pages or (0, 0)
    pages = f", p. {first}" if first == last else f", p. {first}–{last}"
    return one_line(hit.filename) + (pages if hit.pages else "")


def source_place(path: str, lines: tuple[int, int] | None, commit: str = "") -> str:
    """Return `path:line-line` at the short commit, as far as they are known."""
    place = path
    if lines is not None:
        first, last = lines
        place += f":{first}" if first == last else f":{first}-{last}"
    return f"{place} @ {short_commit(commit)}" if commit else place


def short_commit(commit: str) -> str:
    """Return seven characters of a commit, and the mark that the file differed from it."""
    plain = commit.removesuffix(_DIRTY)
    return plain[:_SHORT] + (_DIRTY if plain != commit else "")


def source_of(metadata: Mapping[str, JsonValue]) -> tuple[str, str]:
    """Return path and commit of a source file of a repository; empty for any other document."""
    path, commit = metadata.get("path"), metadata.get("commit")
    if not isinstance(path, str) or not metadata.get("repository"):
        return "", ""
    return path, commit if isinstance(commit, str) else ""


def shortened(text: str, limit: int = QUOTE_CHARACTERS) -> str:
    """Put a text on one line and cut it at a word, within the limit."""
    line = one_line(text)
    if len(line) <= limit:
        return line
    cut = line[: limit - 1]
    head, _, tail = cut.rpartition(" ")
    return (head if head and len(tail) < limit // 4 else cut).rstrip(" ,;:") + "…"


def printable(text: str, instead: str = "") -> str:
    """Remove characters that could draw on a terminal."""
    return "".join(char if char.isprintable() or char in "\n\t" else instead for char in text)


def one_line(text: str) -> str:
    """Replace white space and control characters by single spaces, so that no document can draw on a terminal."""
    return " ".join("".join(char if char.isprintable() else " " for char in text).split())


def _reasons(legs: Mapping[str, Leg]) -> Iterator[str]:
    """Yield the reasons why a result is degraded."""
    for name, leg in legs.items():
        if leg.status == "failed":
            yield f"{name} failed: {leg.reason or 'no reason given'}"
        elif leg.status == "pending":
            yield f"{leg.reason or 'vectors are being made'}, see `footnotes jobs`"


def note_on_search(result: SearchResult) -> str | None:
    """Return a note for degraded hits; None if they are complete."""
    return f"Note: degraded ({'; '.join(_reasons(result.legs))})." if result.degraded else None


def notes_on(answer: Answer) -> Iterator[str]:
    """Yield notes for the reader: missing support, a break, legs that did not run."""
    for step in answer.steps:
        if step.text.startswith(SEARCHED_FOR):
            yield f"Note: {step.text[0].lower()}{one_line(step.text[1:])}"
    if answer.unsupported:
        yield f"{UNSUPPORTED} Nothing in the documents supports this."
    if answer.uncertain:
        yield f"{UNCERTAIN} Not certain: the checks do not agree that the documents support this."
    if answer.incomplete:
        yield "Note: the answer broke off before its end."
    if not answer.degraded:
        return
    reasons = "; ".join(_reasons(answer.legs))
    yield "Note: degraded" + (f" ({reasons})." if reasons else ".")


def _mark_position(text: str, span: tuple[int, int]) -> int:
    """Return the end of a span, before trailing white space."""
    start, end = span
    return start + len(text[start:end].rstrip())
