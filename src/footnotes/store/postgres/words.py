"""Terms of a chunk → what PostgreSQL keeps of them: a tsvector to find it by, and their BM25 weights to score it.

A weight is tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), the part of BM25 that belongs to the chunk; the
inverse document frequency belongs to the question. So a score is one inner product. Text and headings are two fields
with statistics of their own, as in the embedded index: the same term has a place in `words` for each.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

K1, B = 1.2, 0.75
PLACES = 1_000_000_000
"""The most places a sparsevec may have: two of a million terms share one in about a thousand cases."""
MAX_TERM_BYTES = 512
"""Longer terms are cut; PostgreSQL allows 2,046 bytes."""
MAX_TSVECTOR_BYTES = 900_000
"""PostgreSQL allows a tsvector of 1 MB: beyond this, a chunk's rarest forms, the longest terms, are left out."""
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
    kept = _fitting(list(dict.fromkeys([*bodies, *headings])))
    weights = {}
    for field, counts, length, average in (
        ("b", bodies, len(body), averages.body),
        ("h", headings, len(heading), averages.heading),
    ):
        norm = K1 * (1 - B + B * length / average) if average > 0 else K1
        for term in kept:
            if count := counts.get(term):
                weights[place_of(field, term)] = count * (K1 + 1) / (count + norm)
    vector = SparseVector(weights, PLACES)
    return Words(_tsvector(kept, bodies, headings), vector, len(body), len(heading))


@lru_cache(maxsize=200_000)
def place_of(field: str, term: str) -> int:
    """Where the weight of a term in a field stands."""
    name = f"{field}{cut(term)}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") % PLACES


def cut(term: str) -> str:
    """The term as it is stored: without NUL, and not longer than a lexeme may be."""
    term = term.replace("\x00", "\ufffd")
    if len(term) * 4 <= MAX_TERM_BYTES:
        return term
    return term.encode("utf-8", "replace")[:MAX_TERM_BYTES].decode("utf-8", "ignore")


def _counted(terms: Sequence[str]) -> Counter[str]:
    return Counter(map(cut, terms))


def _fitting(terms: list[str]) -> list[str]:
    """As many terms as a tsvector and a sparsevec can hold, the shortest first: a chunk of prose has all of them."""
    if len(terms) <= MAX_WEIGHTS // 2 and sum(map(len, terms)) * 4 + 16 * len(terms) <= MAX_TSVECTOR_BYTES:
        return terms
    kept, room = [], MAX_TSVECTOR_BYTES
    for term in sorted(terms, key=len)[: MAX_WEIGHTS // 2]:
        room -= len(term.encode("utf-8", "replace")) + 16
        if room < 0:
            break
        kept.append(term)
    return kept


def _tsvector(terms: Sequence[str], bodies: Counter[str], headings: Counter[str]) -> str:
    """As PostgreSQL reads it: position 1 with weight D where the text has a term, 2 with weight A where headings do."""
    marks = {(True, False): "1", (False, True): "2A", (True, True): "1,2A"}
    return " ".join(f"{quoted(term)}:{marks[term in bodies, term in headings]}" for term in terms)


def quoted(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"
