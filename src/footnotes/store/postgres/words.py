"""Terms of a chunk → what PostgreSQL keeps of them: a tsvector to find it by, and their BM25 weights to score it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from footnotes.store.lexemes import Terms
from footnotes.store.weights import PLACES, Averages, counts_of, cut, lengths_of, weights_of

MAX_TSVECTOR_BYTES = 900_000
"""PostgreSQL allows a tsvector of 1 MB: beyond this, a chunk's rarest forms, the longest terms, are left out."""
MANY_TERMS = 1_500
"""So many terms of the greatest length fit in any case."""
MAX_WEIGHTS = 15_000
"""pgvector allows 16,000 in a sparsevec."""


_MARKS = {"body": "1", "title": "2A", "section": "3B", "symbols": "4C"}
"""How a tsvector says that a term stands in a field: one position and one weight for each."""


@dataclass(frozen=True, slots=True)
class Words:
    """What is kept of a chunk's terms. The lengths are in the order of the fields."""

    tsvector: str
    weights: Any
    lengths: tuple[int, ...]


def weighed(terms: Terms, averages: Averages) -> Words:
    """A chunk's terms, weighed by the averages of its generation."""
    from pgvector import SparseVector

    counts = counts_of(terms)
    if (kept := _fit(counts)) is not None:
        counts = {field: {term: n for term, n in found.items() if term in kept} for field, found in counts.items()}
    weights = weights_of(counts, terms, averages)
    return Words(_tsvector(counts, terms.defines), SparseVector(weights, PLACES), lengths_of(terms))


def definition(name: str) -> str:
    """The lexeme of chunks that define a name. No term of our analysis begins so."""
    return cut(f"={name}")


def _fit(counts: Mapping[str, Mapping[str, int]]) -> set[str] | None:
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
    plain = "':1 '".join(term for term in body if term not in marks)
    if "\\" in plain or plain.count("'") != 2 * plain.count("':1 '"):  # a term has a quote in it
        plain = ":1 ".join(quoted(term) for term in body if term not in marks)[1:-1]
    marked = [f"{quoted(term)}:{'1,' if term in body else ''}{mark}" for term, mark in marks.items()]
    return " ".join([f"'{plain}':1"] * bool(plain) + marked + [quoted(definition(name)) for name in defines])


def quoted(term: str) -> str:
    if "'" in term or "\\" in term:
        term = term.replace("\\", "\\\\").replace("'", "''")
    return f"'{term}'"
