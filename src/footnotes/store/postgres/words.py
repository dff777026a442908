"""Terms of a chunk → what PostgreSQL keeps of them: a tsvector to find it by, and their BM25 weights to score it.

A weight is tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), the part of BM25 that belongs to the chunk; the
inverse document frequency belongs to the question. So a score is one inner product. Text, title, sections and names are
fields with statistics of their own, as in the embedded index: the same term has a place in `words` for each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from footnotes.store.lexemes import Terms

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


_MARKS = {"body": "1", "title": "2A", "section": "3B", "symbols": "4C"}
"""How a tsvector says that a term stands in a field: one position and one weight for each."""
FIELDS = tuple(_MARKS)


@dataclass(frozen=True, slots=True)
class Averages:
    """Terms in each field of a chunk, on average over a generation."""

    body: float = 1.0
    title: float = 1.0
    section: float = 1.0
    symbols: float = 1.0


@dataclass(frozen=True, slots=True)
class Words:
    """What is kept of a chunk's terms. The lengths are in the order of the fields."""

    tsvector: str
    weights: Any
    lengths: tuple[int, ...]


def weighed(terms: Terms, averages: Averages) -> Words:
    """A chunk's terms, weighed by the averages of its generation."""
    from pgvector import SparseVector

    fields: dict[str, Sequence[str]] = {field: getattr(terms, field) for field in FIELDS}
    counts = {field: _counted(words) for field, words in fields.items() if words}
    if (kept := _fitting(counts)) is not None:
        counts = {field: {term: n for term, n in found.items() if term in kept} for field, found in counts.items()}
    weights: dict[int, float] = {}
    for field, found in counts.items():
        weights.update(_weights(_PLACES[field], found, len(fields[field]), getattr(averages, field)))
    lengths = tuple(len(words) for words in fields.values())
    return Words(_tsvector(counts, terms.defines), SparseVector(weights, PLACES), lengths)


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


_PLACES = {field: _Places(letter) for field, letter in zip(FIELDS, "btsn", strict=True)}


def place(field: str, term: str) -> int:
    """Where the weight of a term in a field stands."""
    return _PLACES[field][cut(term)]


def definition(name: str) -> str:
    """The lexeme of chunks that define a name. No term of our analysis begins so."""
    return cut(f"={name}")


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


def _fitting(counts: Mapping[str, Mapping[str, int]]) -> set[str] | None:
    """As many terms as a tsvector and a sparsevec can hold, the shortest first; None where all of them fit."""
    if sum(map(len, counts.values())) <= MANY_TERMS:
        return None
    fields = Counter(chain.from_iterable(counts.values()))
    kept, room, places = set[str](), MAX_TSVECTOR_BYTES, MAX_WEIGHTS
    for term in sorted(fields, key=len):
        room -= len(term.encode("utf-8", "replace")) + 20
        places -= fields[term]
        if room < 0 or places < 0:
            break
        kept.add(term)
    return kept


def _tsvector(counts: Mapping[str, Mapping[str, int]], defines: Sequence[str]) -> str:
    """As PostgreSQL reads it: a position with a weight for every field that has a term."""
    body = counts.get("body", {})
    marks: dict[str, str] = {}
    for field, found in counts.items():
        if field != "body":
            for term in found:
                marks[term] = f"{marks[term]},{_MARKS[field]}" if term in marks else _MARKS[field]
    both = [f"{quoted(term)}:1,{marks[term]}" if term in marks else f"{quoted(term)}:1" for term in body]
    others = [f"{quoted(term)}:{mark}" for term, mark in marks.items() if term not in body]
    return " ".join([*both, *others, *(quoted(definition(name)) for name in defines)])


def quoted(term: str) -> str:
    if "'" in term or "\\" in term:
        term = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{term}'"
