"""Terms of a chunk → what PostgreSQL keeps of them: a tsvector to find it by, and their BM25 weights to score it.

A weight is tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), the part of BM25 that belongs to the chunk; the
inverse document frequency belongs to the question. So a score is one inner product. Text and headings are two fields
with statistics of their own, as in the embedded index: the same term has a place in `words` for each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

K1, B = 1.2, 0.75
PLACES = 1_000_000_000
"""The most places a sparsevec may have: two of a million terms share one in about a thousand cases."""
MAX_TERM_BYTES = 512
"""Longer terms are cut; PostgreSQL allows 2,046 bytes."""
MAX_TSVECTOR_BYTES = 900_000
"""PostgreSQL allows a tsvector of 1 MB: beyond this, a chunk's rarest forms, the longest terms, are left out."""
MANY_TERMS = 1_500
"""So many terms of the greatest length fit in any case."""
REMEMBERED = 500_000
"""Places remembered for each field before the memory is emptied."""
MAX_WEIGHTS = 15_000
"""pgvector allows 16,000 in a sparsevec."""


@dataclass(frozen=True, slots=True)
class Averages:
    """Terms in the text and in the headings of a chunk, on average over a generation."""

    body: float
    heading: float


@dataclass(frozen=True, slots=True)
class Words:
    """What is kept of a chunk's terms."""

    tsvector: str
    weights: Any
    body_length: int
    heading_length: int


def weighed(body: Sequence[str], heading: Sequence[str], averages: Averages) -> Words:
    """A chunk's terms, weighed by the averages of its generation."""
    from pgvector import SparseVector

    bodies, headings = _counted(body), _counted(heading)
    if (kept := _fitting(bodies, headings)) is not None:
        bodies = {term: count for term, count in bodies.items() if term in kept}
        headings = {term: count for term, count in headings.items() if term in kept}
    weights = dict(
        chain(
            _weights(_BODY_PLACES, bodies, len(body), averages.body),
            _weights(_HEADING_PLACES, headings, len(heading), averages.heading),
        )
    )
    return Words(_tsvector(bodies, headings), SparseVector(weights, PLACES), len(body), len(heading))


def _weights(places: _Places, counts: Mapping[str, int], length: int, average: float) -> Iterable[tuple[int, float]]:
    norm = K1 * (1 - B + B * length / average) if average > 0 else K1
    by_count = [count * (K1 + 1) / (count + norm) for count in range(max(counts.values(), default=0) + 1)]
    return zip(map(places.__getitem__, counts), map(by_count.__getitem__, counts.values()), strict=True)


class _Places(dict[str, int]):
    """Where the weights of terms stand, of one field; each is computed once."""

    def __init__(self, field: str) -> None:
        super().__init__()
        self._field = field

    def __missing__(self, term: str) -> int:
        if len(self) >= REMEMBERED:
            self.clear()
        name = f"{self._field}{term}".encode("utf-8", "surrogatepass")
        place = self[term] = int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") % PLACES
        return place


_BODY_PLACES, _HEADING_PLACES = _Places("b"), _Places("h")


def body_place(term: str) -> int:
    """Where the weight of a term of the text stands."""
    return _BODY_PLACES[cut(term)]


def heading_place(term: str) -> int:
    """Where the weight of a term of the headings stands."""
    return _HEADING_PLACES[cut(term)]


def cut(term: str) -> str:
    """The term as it is stored: without NUL, and not longer than a lexeme may be."""
    term = term.replace("\x00", "\ufffd")
    if len(term) * 4 <= MAX_TERM_BYTES:
        return term
    return term.encode("utf-8", "replace")[:MAX_TERM_BYTES].decode("utf-8", "ignore")


def _counted(terms: Sequence[str]) -> Mapping[str, int]:
    counted = Counter(terms)
    if any(len(term) * 4 > MAX_TERM_BYTES or "\x00" in term for term in counted):
        return Counter(map(cut, terms))
    return counted


def _fitting(bodies: Mapping[str, int], headings: Mapping[str, int]) -> set[str] | None:
    """As many terms as a tsvector and a sparsevec can hold, the shortest first; None where all of them fit."""
    if len(bodies) + len(headings) <= MANY_TERMS:
        return None
    kept, room = set[str](), MAX_TSVECTOR_BYTES
    for term in sorted({*bodies, *headings}, key=len)[: MAX_WEIGHTS // 2]:
        room -= len(term.encode("utf-8", "replace")) + 16
        if room < 0:
            break
        kept.add(term)
    return kept


def _tsvector(bodies: Mapping[str, int], headings: Mapping[str, int]) -> str:
    """As PostgreSQL reads it: position 1 with weight D where the text has a term, 2 with weight A where headings do."""
    both = [f"{quoted(term)}:1,2A" if term in headings else f"{quoted(term)}:1" for term in bodies]
    return " ".join([*both, *(f"{quoted(term)}:2A" for term in headings if term not in bodies)])


def quoted(term: str) -> str:
    if "'" in term or "\\" in term:
        term = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{term}'"
