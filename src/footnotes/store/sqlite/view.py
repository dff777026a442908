"""The view of one search on a tenant's library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from footnotes.errors import StoreUnavailable
from footnotes.index import Allowed, Facets, Found, IndexDamaged, Vector
from footnotes.store.database import Cursor
from footnotes.store.facets import DEFINES, facet_term
from footnotes.store.filters import facet_groups
from footnotes.store.legs import LegsView
from footnotes.store.records import ChunkSpan, Generation, StoredHit
from footnotes.store.rows import generation_row
from footnotes.store.sqlite import chunks
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.cursor import compile_filter
from footnotes.store.sqlite.indexes import DenseLeg, Indexes, LexicalLeg
from footnotes.store.views import Symbols
from footnotes.types import Filter

MOST_DEFINITIONS = 50
"""The most definitions of a name to return: more of them say little."""


class SqliteSearchView(LegsView):
    """Bound to the state when the search began, and to one view of each index.

    If versions are replaced, `is_current` returns False when asked after all reads, and the caller starts again.
    Indexes may contain unpublished chunks, of a next or of a removed version.
    """

    def __init__(
        self,
        database: Database,
        indexes: Indexes,
        served: Served,
        user_id: str,
        *,
        waiting: int = 0,
        waiting_words: int = 0,
        trial: bool = False,
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._served = served
        self._generation = served.generation
        self._user_id = user_id
        self.waiting = waiting
        self.waiting_words = waiting_words
        self._trial = trial
        self._lexical_index: LexicalLeg | None = None
        self._dense_index: DenseLeg | None = None
        self._seq = 0
        if self._generation is not None:
            self._seq = indexes.expected(self._generation, served.visible, served.required)

    @property
    def stamp(self) -> str:
        return f"{self._generation.pk if self._generation else 0}/{self._seq}"

    def is_current(self) -> bool:
        """Return whether the results are still current: versions or the generation may have been replaced."""
        if self._trial:
            return True
        with self._database.read(self._user_id) as cursor:
            row = cursor.one("serving_epoch")
        now = (None, 0) if row is None or row["serving"] is None else (row["serving"], row["epoch"])
        return now == ((self._generation.pk, self._served.epoch) if self._generation else (None, 0))

    def allowed(self, where: Filter) -> Allowed:
        """Return the keys that pass a filter. The tenant is always part of it, and a filter cannot name it."""
        if self._generation is None:
            compile_filter(where, self._user_id, 1)  # an invalid filter raises in an empty library too
            return Allowed(np.zeros(0, dtype=np.int64))
        generation = self._generation.pk

        def read() -> NDArray[np.int64]:
            with self._database.read(self._user_id) as cursor:
                return np.sort(cursor.keys("allowed_keys", where, generation=generation))

        keys = self._database.remembered(f"{self._user_id}\x1f{generation}\x1f{where!r}", read)
        # Facets in an index are as old as the index, so only keys are used if it lags.
        is_complete = not self._served.staged and self._served.visible == self._served.last == self._seq
        return Allowed(keys, facet_groups(where) if is_complete else ())

    def chunk_count(self) -> int:
        index = self._lexical()
        return 0 if index is None else index.count()

    def document_frequency(self, term: str) -> int:
        index = self._lexical()
        return 0 if index is None else index.document_frequency(term)

    def search_lexical(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None) -> Found:
        index = self._lexical()
        if index is None or (allowed is not None and len(allowed.keys) == 0):
            return Found()
        with self._distrusting("lexical"):
            return self._only_served(index, lambda most: index.search(terms, most, allowed), limit)

    def score_lexical(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]:
        index = self._lexical()
        if index is None:
            return {}
        with self._distrusting("lexical"):
            return index.score(terms, keys)

    def defining(self, symbols: Symbols, allowed: Allowed | None) -> list[int]:
        index = self._lexical()
        if index is None or (allowed is not None and len(allowed.keys) == 0):
            return []
        facets = [facet_term(DEFINES, name) for name in symbols.names]
        with self._distrusting("lexical"):
            found = index.search(Facets(facets), MOST_DEFINITIONS, allowed).keys
        return found if self._holds_no_other(index) else sorted(self._live(found))

    def using(self, symbols: Symbols, keys: Sequence[int]) -> set[int]:
        scores = self.score_lexical(dict.fromkeys(symbols.terms, 1.0), keys)
        return {key for key, score in scores.items() if score > 0}

    def search_dense(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        index = self._dense()
        if index is None or (allowed is not None and len(allowed.keys) == 0):
            return Found()
        return self._only_served(index, lambda most: index.search(vector, most, allowed), limit)

    def score_dense(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        index = self._dense()
        return {} if index is None else index.score(vector, keys)

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        index = self._dense()
        return None if index is None else index.vectors(keys)

    def _only_served(self, index: LexicalLeg | DenseLeg, search: Callable[[int], Found], limit: int) -> Found:
        """Return the best published chunks; ask for more results until enough of them are published."""
        if self._holds_no_other(index):
            return search(limit)
        count = limit
        while True:
            found = search(count)
            live = self._live(found.keys)
            pairs = [pair for pair in zip(found.keys, found.scores, strict=True) if pair[0] in live][:limit]
            if len(pairs) == limit or len(found.keys) < count:
                return Found([key for key, _ in pairs], [score for _, score in pairs])
            count *= 4

    def _holds_no_other(self, index: LexicalLeg | DenseLeg) -> bool:
        """Return whether an index contains only published chunks."""
        return not self._served.staged and getattr(index, "position", None) == self._served.last

    def _live(self, keys: Sequence[int]) -> set[int]:
        """Return the published chunks among given ones."""
        if self._generation is None or not keys:
            return set()
        with self._database.read(self._user_id) as cursor:
            return {row["key"] for row in cursor.all("live_of_keys", generation=self._generation.pk, keys=keys)}

    @contextmanager
    def _distrusting(self, leg: str) -> Iterator[None]:
        """Turn damage found by a search into a failure of its leg, and mark the index for a rebuild."""
        try:
            yield
        except IndexDamaged as damage:
            if self._generation is not None:
                self._indexes.distrust(self._generation, leg, str(damage))
            raise StoreUnavailable(
                f"the {leg} index is damaged ({damage})", remedy="Search again: it is rebuilt from the database."
            ) from damage

    def _lexical(self) -> LexicalLeg | None:
        if self._lexical_index is None and self._generation is not None:
            self._lexical_index = self._indexes.lexical(self._generation, self._seq)
        return self._lexical_index

    def _dense(self) -> DenseLeg | None:
        if self._dense_index is None and self._generation is not None:
            self._dense_index = self._indexes.dense(self._generation, self._seq)
        return self._dense_index

    def places_of(self, keys: Sequence[int]) -> dict[int, ChunkSpan]:
        if self._generation is None or not keys:
            return {}
        with self._database.read(self._user_id) as cursor:
            return chunks.places_of(cursor, self._generation.pk, keys)

    def hits(self, keys: Sequence[int]) -> list[StoredHit]:
        if self._generation is None or not keys:
            return []
        # One statement reads one state of the database; only a chunk longer than two pieces needs another statement.
        with self._database.read(self._user_id) as cursor:
            return chunks.hits(cursor, self._generation.pk, keys)


# ── the state of a folder that a tenant's searches see ────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Served:
    """The state for searches: `visible` is the change they expect, `required` the one they need at least.

    `last` is the last change, and `staged` means that a version waits to be shown. If an index has another position
    than `last`, or a version waits, it contains unpublished chunks.
    """

    generation: Generation | None = None
    visible: int = 0
    waiting: int = 0
    required: int = 0
    epoch: int = 0
    last: int = 0
    staged: bool = False


def served(cursor: Cursor) -> Served:
    """Return the current state for searches."""
    row = cursor.one("served")
    if row is None:
        return Served()
    names = ("visible", "waiting", "required", "epoch", "last")
    return Served(generation_row(row), **{name: row[name] for name in names}, staged=bool(row["staged"]))
