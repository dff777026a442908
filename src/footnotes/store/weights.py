"""Terms of a chunk → their BM25 weights, each at a place that a hash of field and term names.

A weight is tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), the part of BM25 that belongs to the chunk; the
inverse document frequency belongs to the question. So a score is one inner product, which databases know how to do.
Text, title, sections and names are fields with statistics of their own, as in the embedded index: the same term has a
place for each.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from footnotes.index import FIELD_WEIGHTS
from footnotes.store.lexemes import Terms

K1, B = 1.2, 0.75
PLACES = 1_000_000_000
"""The most places a sparsevec may have: two of a million terms share one in about a thousand cases."""
MAX_TERM_BYTES = 512
"""Longer terms are cut; PostgreSQL allows 2,046 bytes."""
REMEMBERED = 500_000
"""Places remembered for each field before the memory is emptied."""
FIELDS = tuple(FIELD_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Averages:
    """Terms in each field of a chunk, on average over a generation."""

    body: float = 1.0
    title: float = 1.0
    section: float = 1.0
    symbols: float = 1.0


def lengths_of(terms: Terms) -> tuple[int, ...]:
    """How many terms each field has, in the order of the fields."""
    return tuple(len(getattr(terms, field)) for field in FIELDS)


def averages_of(lengths: Sequence[Sequence[int]]) -> Averages:
    """The averages of some chunks."""
    return Averages(*(max(sum(column) / len(lengths), 1.0) for column in zip(*lengths, strict=True)))


def counts_of(terms: Terms) -> dict[str, Mapping[str, int]]:
    """How often each term stands in each field that has any."""
    return {field: _count(words) for field in FIELDS if (words := getattr(terms, field))}


def weights_of(counts: Mapping[str, Mapping[str, int]], terms: Terms, averages: Averages) -> dict[int, float]:
    """The weights of counted terms, by place."""
    weights: dict[int, float] = {}
    for field, found in counts.items():
        weights.update(_weights(_PLACES[field], found, len(getattr(terms, field)), getattr(averages, field)))
    return weights


def question_weights(
    terms: Mapping[str, float], chunks: float, frequency: Callable[[str, str], float]
) -> dict[int, float]:
    """What a question's terms weigh: how often it says each, times its rarity in the field, times the field's weight.

    `frequency` says how many chunks have a term in a field. Two terms may share a place: then their weights are added.
    """
    weights: dict[int, float] = {}
    for term, said in terms.items():
        for field, of_field in FIELD_WEIGHTS.items():
            found = frequency(field, term)
            if found > 0:
                at = place(field, term)
                weights[at] = weights.get(at, 0.0) + said * rarity(chunks, found) * of_field
    return weights


def rarity(chunks: float, found: float) -> float:
    """The inverse document frequency of BM25, as in Lucene; counts that lag a little must not break it."""
    return math.log(1 + max(chunks - found + 0.5, 0.5) / (found + 0.5))


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


def cut(term: str) -> str:
    """The term as it is stored: without NUL, and not longer than a lexeme may be."""
    term = term.replace("\x00", "\ufffd")
    if len(term) * 4 <= MAX_TERM_BYTES:
        return term
    return term.encode("utf-8", "replace")[:MAX_TERM_BYTES].decode("utf-8", "ignore")


def _count(terms: Sequence[str]) -> Mapping[str, int]:
    counted = Counter(terms)
    if max(map(len, counted), default=0) * 4 > MAX_TERM_BYTES or "\x00" in "".join(counted):
        return Counter(map(cut, terms))
    return counted
