"""Converts a chunk's terms to PostgreSQL: a tsvector to find it by, and BM25 weights to score it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from pgvector import SparseVector

from footnotes.store.lexemes import Terms
from footnotes.store.weights import PLACES, Averages, counts_of, cut, lengths_of, weights_of

MAX_TSVECTOR_BYTES = 900_000
"""PostgreSQL allows a tsvector of 1 MB. Beyond this size the longest terms, the rarest forms, are dropped."""
MANY_TERMS = 1_500
"""This many terms of the greatest length always fit."""
MAX_WEIGHTS = 15_000
"""pgvector allows 16,000 in a sparsevec."""


_MARKS = {"body": "1", "title": "2A", "section": "3B", "symbols": "4C"}
"""The position and weight that mark a field of a term in a tsvector."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is kept of a chunk's terms. The lengths are in the order of the fields; `counts` are of those that are
    found, by field."""

    tsvector: str
    weights: SparseVector
    lengths: tuple[int, ...]
    counts: Mapping[str, Mapping[str, int]]


class _Weights(SparseVector):
    """Weights by place, never 0: built without the checks that other vectors need."""

    def __init__(self, weights: Mapping[int, float]) -> None:
        self._dim = PLACES
        self._indices = sorted(weights)
        self._values = [*map(weights.__getitem__, self._indices)]


def weighed(terms: Terms, averages: Averages) -> Words:
    """Weight a chunk's terms by the averages of its generation."""
    counts = counts_of(terms)
    if (kept := _fit(counts)) is not None:
        counts = {field: {term: n for term, n in found.items() if term in kept} for field, found in counts.items()}
    weights = weights_of(counts, terms, averages)
    return Words(_tsvector(counts, terms.defines), _Weights(weights), lengths_of(terms), counts)


def definition(name: str) -> str:
    """Return the lexeme of chunks that define a name. No term of our analysis begins like it."""
    return cut(f"={name}")


def _fit(counts: Mapping[str, Mapping[str, int]]) -> set[str] | None:
    """Return the terms that fit into a tsvector and a sparsevec, shortest first; None if all fit."""
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
    """Format a tsvector for PostgreSQL: a position with a weight for every field of a term."""
    body = counts.get("body", {})
    marks: dict[str, str] = {}
    for field, found in counts.items():
        if field != "body":
            for term in found:
                marks[term] = f"{marks[term]},{_MARKS[field]}" if term in marks else _MARKS[field]
    plain = "':1 '".join(term for term in body if term not in marks)
    if "\\" in plain or plain.count("'") != 2 * plain.count("':1 '"):  # a term contains a quote
        plain = ":1 ".join(quoted(term) for term in body if term not in marks)[1:-1]
    marked = [f"{quoted(term)}:{'1,' if term in body else ''}{mark}" for term, mark in marks.items()]
    return " ".join([f"'{plain}':1"] * bool(plain) + marked + [quoted(definition(name)) for name in defines])


def quoted(term: str) -> str:
    if "'" in term or "\\" in term:
        term = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{term}'"
