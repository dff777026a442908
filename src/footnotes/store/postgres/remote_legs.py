"""Legs served by a vector database: its candidates go into the one statement of a search, which decides."""

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
"""A filter with more terms is sent as the list of matching chunks."""
_SPARE = 10
"""Extra results, because the index may still have chunks that were just deleted."""


@dataclass(slots=True)
class RemoteResults:
    """The results of a vector database for its legs, and the errors of those that failed."""

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

    def found(
        self, terms: Mapping[str, float], vector: Vector | None, depth: int, allowed: Allowed | None
    ) -> RemoteResults:
        """Run its legs that have a query. A failure of one does not stop the other."""
        results = RemoteResults()
        allowed = hidden_filter(allowed)
        if "dense" in self.legs and vector is not None:
            try:
                results.dense = self._by_vector(vector, depth + _SPARE, allowed)
            except FootnotesError as error:
                _note(results, "dense", error)
        if "lexical" in self.legs and terms:
            try:
                results.lexical = self._by_words(terms, depth + _SPARE, allowed)
            except FootnotesError as error:
                _note(results, "lexical", error)
        return results

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


def facets_of(where: Filter) -> Allowed | None:
    """Return a filter as facets only, if possible: then the matching chunks need not be listed."""
    groups = facet_groups(where)
    if not groups or sum(map(len, groups)) > MOST_FACETS:
        return None
    return Allowed(np.zeros(0, dtype=np.int64), groups, listed=False)


def _note(results: RemoteResults, leg: str, error: FootnotesError) -> None:
    if isinstance(error, InputError):
        raise error  # the question itself is wrong, not a leg
    results.failures[leg] = error
