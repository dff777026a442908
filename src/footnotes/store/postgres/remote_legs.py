"""Legs that a vector database serves: what it proposes is given to the one statement of a search, which decides."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from footnotes.errors import FootnotesError, InputError
from footnotes.index import Allowed, Found, Vector
from footnotes.store.change_feed import hidden_filter
from footnotes.store.database import Database
from footnotes.store.filters import facet_groups
from footnotes.store.records import Generation
from footnotes.store.remote_keeper import RemoteKeeper
from footnotes.store.weights import cut, question_weights
from footnotes.types import Filter

_CHUNKS = " chunks"
MOST_FACETS = 40
"""A filter of more terms than that is said by what passes it."""
_SPARE = 10
"""A few more than are wanted: what was deleted a moment ago may still be on the index."""


@dataclass(slots=True)
class Given:
    """What a vector database found for the legs it serves, and why it found nothing where it failed."""

    lexical: list[int] | None = None
    dense: list[int] | None = None
    failures: dict[str, FootnotesError] = field(default_factory=dict)


class RemoteLegs:
    """One search's legs in a vector database."""

    def __init__(self, database: Database, remote: RemoteKeeper, generation: Generation) -> None:
        self._database = database
        self._remote = remote
        self._generation = generation

    @property
    def legs(self) -> frozenset[str]:
        return self._remote.legs

    def look_after(self, *, behind: bool) -> None:
        self._remote.look_after(self._generation, behind=behind)

    def found(self, terms: Mapping[str, float], vector: Vector | None, depth: int, allowed: Allowed | None) -> Given:
        """Run the legs it serves and there is anything for. One that fails does not stop the other."""
        given = Given()
        allowed = hidden_filter(allowed)
        if "dense" in self.legs and vector is not None:
            try:
                given.dense = self._by_vector(vector, depth + _SPARE, allowed)
            except FootnotesError as error:
                _note(given, "dense", error)
        if "lexical" in self.legs and terms:
            try:
                given.lexical = self._by_words(terms, depth + _SPARE, allowed)
            except FootnotesError as error:
                _note(given, "lexical", error)
        return given

    def _by_vector(self, vector: Vector, limit: int, allowed: Allowed | None) -> list[int]:
        return self._remote.ask(self._generation, lambda index: index.search(vector, limit, allowed), Found()).keys

    def _by_words(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None) -> list[int]:
        generation, names = self._generation, [cut(term) for term in terms]
        with self._database.read(generation.user_id) as cursor:
            rows = cursor.all("frequencies_of_terms", generation=generation.pk, terms=names)
        known = {row["term"]: row for row in rows}
        total = known[_CHUNKS]["body"] if _CHUNKS in known else 0

        def frequency(name: str, term: str) -> float:
            row = known.get(cut(term))
            return 0.0 if row is None else float(row[name])

        weights = question_weights(terms, total, frequency)
        if not weights:
            return []
        return self._remote.ask(self._generation, lambda index: index.search(weights, limit, allowed), Found()).keys


def said_in_facets(where: Filter) -> Allowed | None:
    """A filter as facets alone, where it can be said in them: then nobody need list what passes it."""
    groups = facet_groups(where)
    if not groups or sum(map(len, groups)) > MOST_FACETS:
        return None
    return Allowed(np.zeros(0, dtype=np.int64), groups, listed=False)


def _note(given: Given, leg: str, error: FootnotesError) -> None:
    if isinstance(error, InputError):
        raise error  # the question itself is at fault, not a leg
    given.failures[leg] = error
