"""Legs served by a vector database: it returns candidates, and the folder's data decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from footnotes.index import Allowed, Facets, Found, Terms, Vector, Weights
from footnotes.store.change_feed import hidden, hidden_filter
from footnotes.store.records import Generation
from footnotes.store.remote_keeper import RemoteKeeper
from footnotes.store.sqlite import words
from footnotes.store.sqlite.connection import Database
from footnotes.store.weights import FIELDS, place, question_weights


class RemoteDense:
    """Nearest neighbours from the database, scored again from the stored vectors. Removed chunks are dropped."""

    def __init__(self, database: Database, generation: Generation, remote: RemoteKeeper) -> None:
        self._database = database
        self._generation = generation
        self._remote = remote

    def search(self, vector: Vector, limit: int, allowed: Allowed | None = None) -> Found:
        if limit < 1 or (allowed is not None and len(allowed.keys) == 0):
            return Found()
        within = hidden_filter(allowed)
        known, count = self._nearest(vector, limit, within), limit
        while known is None:
            count *= 4
            known = self._nearest(vector, count, within, least=limit)
        best = sorted(known.items(), key=lambda item: (-item[1], item[0]))[:limit]
        return Found([key for key, _ in best], [score for _, score in best])

    def _nearest(
        self, vector: Vector, count: int, within: Allowed | None, least: int | None = None
    ) -> dict[int, float] | None:
        """Return published chunks among the nearest; None if they are too few and there may be more."""
        found = self._remote.ask(self._generation, lambda index: index.search(vector, count, within), Found())
        known = self.score(vector, found.keys)
        return None if len(known) < (least or count) and len(found.keys) >= count else known

    def score(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact cosine of given chunks."""
        found, vectors = self._stored(keys)
        return dict(zip(found, (vectors @ vector).tolist(), strict=True)) if found else {}

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        """Return the vectors of given chunks, a row each; None if one of them has been removed."""
        found, vectors = self._stored(keys)
        if not keys or len(found) < len(keys):
            return None
        at = {key: row for row, key in enumerate(found)}
        ordered: Vector = vectors[[at[key] for key in keys]]
        return ordered

    def _stored(self, keys: Sequence[int]) -> tuple[list[int], Vector]:
        if not keys:
            return [], np.zeros(0, dtype=np.float32)
        generation = self._generation
        with self._database.read(generation.user_id) as cursor:
            wanted = {"generation": generation.pk, "model": generation.model}
            rows = cursor.all("vectors_of_keys", **wanted, keys=keys)
        stored = np.frombuffer(b"".join(row["vector"] for row in rows), dtype=np.float16).astype(np.float32)
        return [row["key"] for row in rows], stored.reshape(len(rows), -1) if rows else stored


class RemoteLexical:
    """BM25 as one inner product, with term rarity from the tenant's own chunks."""

    def __init__(self, database: Database, generation: Generation, remote: RemoteKeeper) -> None:
        self._database = database
        self._generation = generation
        self._remote = remote
        self._known: dict[int, int] = {}

    def count(self) -> int:
        return self._counted(words.CHUNKS)

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks with the term in their body."""
        return self._counted(place("body", term))

    def search(self, query: Terms | Facets, limit: int, allowed: Allowed | None = None) -> Found:
        if isinstance(query, Facets):
            return self._having(query.names, limit, allowed)
        weights = self._weights(query)
        if not weights or limit < 1 or (allowed is not None and len(allowed.keys) == 0):
            return Found()
        within = hidden_filter(allowed)
        return self._remote.ask(self._generation, lambda index: index.search(weights, limit, within), Found())

    def score(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]:
        weights = self._weights(terms)
        known = dict.fromkeys(keys, 0.0)
        if not weights or not keys:
            return known
        return self._remote.ask(self._generation, lambda index: known | index.score(weights, keys), known)

    def _having(self, facets: Sequence[str], limit: int, allowed: Allowed | None) -> Found:
        if not facets:
            return Found()
        within, wanted = hidden_filter(allowed), Facets(hidden(facets))
        return self._remote.ask(self._generation, lambda index: index.search(wanted, limit, within), Found())

    def _weights(self, terms: Mapping[str, float]) -> Weights:
        places = [place(field, term) for term in terms for field in FIELDS]
        self._look_up([*places, words.CHUNKS])
        return question_weights(terms, self.count(), lambda field, term: self._counted(place(field, term)))

    def _counted(self, at: int) -> int:
        if at not in self._known:
            self._look_up([at])
        return self._known[at]

    def _look_up(self, places: Sequence[int]) -> None:
        missing = [at for at in places if at not in self._known]
        if missing:
            with self._database.read(self._generation.user_id) as cursor:
                found = words.counts(cursor, self._generation.pk, missing)
            self._known |= dict.fromkeys(missing, 0) | found
