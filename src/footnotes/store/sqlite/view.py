"""One search's picture of a tenant's library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain

import numpy as np

from footnotes.errors import StoreUnavailable
from footnotes.index import Allowed, Found, IndexDamaged, Vector
from footnotes.store.facets import DEFINES, facet_term
from footnotes.store.filters import facet_groups
from footnotes.store.records import Generation, HitRow, Place
from footnotes.store.sqlite import chunks
from footnotes.store.sqlite.connection import Database, translated
from footnotes.store.sqlite.filters import compile_filter
from footnotes.store.sqlite.indexes import DenseLeg, Indexes, LexicalLeg
from footnotes.store.sqlite.sql import queries
from footnotes.store.views import Symbols
from footnotes.types import Filter

MOST_DEFINITIONS = 50
"""A name that is defined more often than that tells little."""

_ALLOWED = """
SELECT c.key FROM documents d JOIN chunks c ON c.generation = ? AND c.document = d.pk AND c.version = d.current
WHERE d.user_id = ? AND {condition}
"""


class SqliteSearchView:
    """Bound to the generation that served when the search began."""

    def __init__(
        self,
        database: Database,
        indexes: Indexes,
        generation: Generation | None,
        seq: int,
        user_id: str,
        waiting: int,
        *,
        waiting_words: int = 0,
        trial: bool = False,
    ) -> None:
        self._database = database
        self._indexes = indexes
        self._generation = generation
        self._seq = seq
        self._user_id = user_id
        self.waiting = waiting
        self.waiting_words = waiting_words
        self._trial = trial
        self._lexical_index: LexicalLeg | None = None
        self._dense_index: DenseLeg | None = None

    @property
    def embedder(self) -> str:
        return self._generation.embedder if self._generation else ""

    @property
    def fingerprint(self) -> str:
        return self._generation.fingerprint if self._generation else ""

    @property
    def stamp(self) -> str:
        return f"{self._generation.pk if self._generation else 0}/{self._seq}"

    def is_current(self) -> bool:
        """Whether the generation still serves: one that was switched off may have been dropped under a search."""
        if self._trial:
            return True
        with translated():
            row = self._database.reader.execute(queries()["serving_generation"], (self._user_id,)).fetchone()
        return (row[0] if row else None) == (self._generation.pk if self._generation else None)

    def allowed(self, where: Filter) -> Allowed:
        """The keys a filter lets through. The tenant is always part of it, and cannot be named in it."""
        condition, bindings = compile_filter(where, self._user_id)
        if self._generation is None:
            return Allowed(np.zeros(0, dtype=np.int64))
        statement = _ALLOWED.format(condition=condition)
        with self._database.snapshot() as connection:
            rows = connection.execute(statement, (self._generation.pk, self._user_id, *bindings)).fetchall()
        keys = np.fromiter(chain.from_iterable(rows), dtype=np.int64, count=len(rows))
        keys.sort()
        return Allowed(keys, facet_groups(where))

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
            return index.search(terms, limit, allowed)

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
        with self._distrusting("lexical"):
            return index.having([facet_term(DEFINES, name) for name in symbols.names], MOST_DEFINITIONS, allowed)

    def using(self, symbols: Symbols, keys: Sequence[int]) -> set[int]:
        scores = self.score_lexical(dict.fromkeys(symbols.terms, 1.0), keys)
        return {key for key, score in scores.items() if score > 0}

    def search_dense(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        index = self._dense()
        if index is None or (allowed is not None and len(allowed.keys) == 0):
            return Found()
        return index.search(vector, limit, allowed)

    def score_dense(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        index = self._dense()
        return {} if index is None else index.score(vector, keys)

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        index = self._dense()
        return None if index is None else index.vectors(keys)

    @contextmanager
    def _distrusting(self, leg: str) -> Iterator[None]:
        """An index that breaks while it is searched fails its leg, and is made anew for the next search."""
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

    def places_of(self, keys: Sequence[int]) -> dict[int, Place]:
        if self._generation is None or not keys:
            return {}
        with translated():
            return chunks.places_of(self._database.reader, self._user_id, self._generation.pk, keys)

    def hits(self, keys: Sequence[int]) -> list[HitRow]:
        if self._generation is None or not keys:
            return []
        # One statement is one picture of the database; only a chunk longer than two pieces needs another.
        with translated():
            return chunks.hits(self._database.reader, self._user_id, self._generation.pk, keys)
