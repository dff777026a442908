"""Turns hits into the passages for a model: chosen within a budget of tokens, merged, in reading order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from footnotes.answer.passages import Passage, lines_of, origin_of, page_of, passages_of
from footnotes.render import source_place
from footnotes.text.analysis import analyze
from footnotes.types import Hit

Count = Callable[[str], int]
ReadText = Callable[[str, int, int], str]
"""Returns the canonical text of a document from start to end."""

CLOSE = 0.95
"""Hits with at least this share of the best remaining score count as equal; another document then goes first."""
DUPLICATE = 0.9
MAX_GAP = 400
"""The largest gap in characters between neighbouring chunks that is read from the store to join them."""


@dataclass(frozen=True, slots=True)
class Context:
    """The passages for a model, sorted by document, then position; the n-th is `[n]`."""

    passages: tuple[Passage, ...]
    tokens: int
    dropped: tuple[Hit, ...]
    duplicates: int

    def note(self) -> str:
        """Return a sentence about what was left out; empty if nothing was."""
        notes = []
        if self.dropped:
            notes.append(f"{len(self.dropped)} of the hits with the lowest scores did not fit the model's context")
        if self.duplicates:
            notes.append(f"{self.duplicates} near-duplicates were left out")
        return "; ".join(notes)


def build_context(hits: Sequence[Hit], *, budget: int, count: Count, read: ReadText | None = None) -> Context:
    """Choose whole chunks up to the budget, best first, from several documents if scores are close."""
    distinct = _distinct(sorted(hits, key=lambda hit: -hit.score))
    chosen: list[Hit] = []
    used = 0
    ordered = _spread(distinct)
    for hit in ordered:
        cost = count(hit.text) + count(_label(hit.filename, hit.pages, hit.headings)) + 8
        # Everything after the first that does not fit has a lower score: nothing may replace it.
        if used + cost > budget:
            break
        chosen.append(hit)
        used += cost
    merged = passages_of(_with_gaps(chosen, read) if read else chosen)
    passages = tuple(sorted(merged, key=lambda passage: _reading_order(passage, merged)))
    return Context(passages, used, tuple(ordered[len(chosen) :]), len(hits) - len(distinct))


def heading_of(number: int, passage: Passage) -> str:
    """Format `[n] filename, p. N, heading`; code as `[n] path:line-line @ commit (file), heading`; wikis alike."""
    path, commit = origin_of(passage)
    if path:
        place = source_place(path, lines_of(passage, passage.start, passage.text), commit)
        return f"[{number}] {_label(f'{place}{_type_of(passage)}', None, passage.headings)}"
    described = passage.hits[0].metadata.get("path")
    if isinstance(described, str) and (kind := _type_of(passage)):
        return f"[{number}] {_label(f'{described}{kind}', None, passage.headings)}"
    first, last = page_of(passage, passage.start), page_of(passage, passage.end - 1)
    pages = (first, last or first) if first else _page_range(passage)
    return f"[{number}] {_label(passage.filename, pages, passage.headings)}"


def _type_of(passage: Passage) -> str:
    """Return the type of a repository file or wiki page, and the file it describes: ` (module, src/auth.py)`."""
    told = passage.hits[0].metadata
    words = [word for name in ("type", "describes") if isinstance(word := told.get(name), str) and word]
    return f" ({', '.join(words)})" if isinstance(told.get("type"), str) and words else ""


def _label(filename: str, pages: tuple[int, int] | None, headings: tuple[str, ...]) -> str:
    parts = [" ".join(filename.split())]
    if pages:
        parts.append(f"p. {pages[0]}" if pages[0] == pages[1] else f"pp. {pages[0]}–{pages[1]}")
    if headings:
        parts.append(" › ".join(" ".join(heading.split()) for heading in headings))
    return ", ".join(parts)


def _page_range(passage: Passage) -> tuple[int, int] | None:
    ranges = [hit.pages for hit in passage.hits if hit.pages]
    return (min(first for first, _ in ranges), max(last for _, last in ranges)) if ranges else None


def _distinct(hits: list[Hit]) -> list[Hit]:
    """Remove hits that say the same as a better one."""
    kept: list[tuple[Hit, frozenset[str]]] = []
    for hit in hits:
        terms = frozenset(analyze(hit.text))
        if not any(_alike(terms, other) for _, other in kept):
            kept.append((hit, terms))
    return [hit for hit, _ in kept]


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    """Compare terms by their Jaccard similarity."""
    smaller, larger = sorted((len(one), len(other)))
    if not larger or smaller < DUPLICATE * larger:
        return False
    return len(one & other) >= DUPLICATE * len(one | other)


def _spread(hits: list[Hit]) -> list[Hit]:
    """Sort by score, but among nearly equal hits put documents with the fewest hits so far first."""
    remaining, ordered = list(hits), list[Hit]()
    given: dict[str, int] = {}
    while remaining:
        bar = remaining[0].score * CLOSE if remaining[0].score > 0 else remaining[0].score
        equal = [hit for hit in remaining if hit.score >= bar]
        chosen = min(equal, key=lambda hit: given.get(hit.document_id, 0))
        remaining.remove(chosen)
        ordered.append(chosen)
        given[chosen.document_id] = given.get(chosen.document_id, 0) + 1
    return ordered


def _with_gaps(hits: list[Hit], read: ReadText) -> list[Hit]:
    """Add the few characters between neighbouring chunks to the first, so that they merge."""
    by_place = {(hit.document_id, hit.index): hit for hit in hits}
    return [_extend(hit, by_place.get((hit.document_id, hit.index + 1)), read) for hit in hits]


def _extend(hit: Hit, following: Hit | None, read: ReadText) -> Hit:
    if following is None or not 0 < following.start - hit.end <= MAX_GAP:
        return hit
    return replace(hit, text=hit.text + read(hit.document_id, hit.end, following.start), end=following.start)


def _reading_order(passage: Passage, merged: list[Passage]) -> tuple[int, int]:
    """Return a sort key: documents in the order of their best passage, then positions."""
    best = min(other.rank for other in merged if other.document_id == passage.document_id)
    return best, passage.start
