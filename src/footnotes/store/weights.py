"""BM25 weights of a chunk's terms, each at a place given by a hash of field and term.

A weight is tf · (k1 + 1) / (tf + k1 · (1 - b + b · length / average)), the chunk's part of BM25; the inverse document
frequency belongs to the question. A score is then one inner product, which databases can compute.
Text, title, sections and names are fields with separate statistics, as in the embedded index: a term has a place in
each.
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
"""The most places in a sparsevec: of a million terms, about one in a thousand shares a place with another."""
MAX_TERM_BYTES = 512
"""Longer terms are cut; PostgreSQL allows 2,046 bytes."""
REMEMBERED = 500_000
"""Places cached per field before the cache is cleared."""
FIELDS = tuple(FIELD_WEIGHTS)


@dataclass(frozen=True, slots=True)
class Averages:
    """The mean number of terms per field of a chunk, over a generation."""

    body: float = 1.0
    title: float = 1.0
    section: float = 1.0
    symbols: float = 1.0


def lengths_of(terms: Terms) -> tuple[int, ...]:
    """Return the number of terms in each field, in the order of the fields."""
    return tuple(len(getattr(terms, field)) for field in FIELDS)


def averages_of(lengths: Sequence[Sequence[int]]) -> Averages:
    """Return the averages over some chunks."""
    return Averages(*(max(sum(column) / len(lengths), 1.0) for column in zip(*lengths, strict=True)))


def counts_of(terms: Terms) -> dict[str, Mapping[str, int]]:
    """Count the terms in each field that has any."""
    return {field: _count(words) for field in FIELDS if (words := getattr(terms, field))}


def weights_of(counts: Mapping[str, Mapping[str, int]], terms: Terms, averages: Averages) -> dict[int, float]:
    """Return the weights of counted terms, by place."""
    weights: dict[int, float] = {}
    for field, found in counts.items():
        weights.update(_weights(_PLACES[field], found, len(getattr(terms, field)), getattr(averages, field)))
    return weights


def question_weights(
    terms: Mapping[str, float], chunks: float, frequency: Callable[[str, str], float]
) -> dict[int, float]:
    """Return the weights of a question's terms: count in the question · rarity in the field · weight of the field.

    `frequency` returns the number of chunks with a term in a field. If two terms share a place, their weights add up.
    """
    weights: dict[int, float] = {}
    for term, number in terms.items():
        for field, of_field in FIELD_WEIGHTS.items():
            found = frequency(field, term)
            if found > 0:
                at = place(field, term)
                weights[at] = weights.get(at, 0.0) + number * rarity(chunks, found) * of_field
    return weights


def rarity(chunks: float, found: float) -> float:
    """Return BM25's inverse document frequency, as in Lucene; safe if the counts lag a little."""
    return math.log(1 + max(chunks - found + 0.5, 0.5) / (found + 0.5))


def _weights(places: _Places, counts: Mapping[str, int], length: int, average: float) -> Iterable[tuple[int, float]]:
    norm = K1 * (1 - B + B * length / average) if average > 0 else K1
    by_count = [count * (K1 + 1) / (count + norm) for count in range(max(counts.values(), default=0) + 1)]
    return zip(map(places.__getitem__, counts), map(by_count.__getitem__, counts.values()), strict=True)


class _Places(dict[str, int]):
    """The places of one field's weights, each computed once."""

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
    """Return the place of a term's weight in a field."""
    return _PLACES[field][cut(term)]


def cut(term: str) -> str:
    """Return the term as stored: without NUL, and cut to the length of a lexeme."""
    term = term.replace("\x00", "\ufffd")
    if len(term) * 4 <= MAX_TERM_BYTES:
        return term
    return term.encode("utf-8", "replace")[:MAX_TERM_BYTES].decode("utf-8", "ignore")


def _count(terms: Sequence[str]) -> Mapping[str, int]:
    counted = Counter(terms)
    if max(map(len, counted), default=0) * 4 > MAX_TERM_BYTES or "\x00" in "".join(counted):
        return Counter(map(cut, terms))
    return counted
