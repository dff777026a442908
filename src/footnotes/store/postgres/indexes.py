"""The dense index of a generation that is large enough to need one, and the upkeep of search tables.

Uses the server's best method: ScaNN (AlloyDB), HNSW, IVFFlat. Indexes are built concurrently with the table's use, by
one server at a time; an interrupted build starts again. Until an index exists, searches compare every vector.
"""

from __future__ import annotations

import math

from footnotes.store.postgres import reweigh, statistics
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.records import Generation

WORTH_AN_INDEX = 5_000
"""The chunks from which a dense index is built. Comparing fewer takes only some milliseconds."""
MOST_DIMENSIONS = 4_000
"""The limit of pgvector's indexes of half-precision vectors."""
_BUILD_MEMORY = "512MB"

_METHODS = {
    "scann": "USING scann ({column} cosine) WITH (num_leaves = {lists})",
    "hnsw": "USING hnsw ({column} halfvec_cosine_ops)",
    "ivfflat": "USING ivfflat ({column} halfvec_cosine_ops) WITH (lists = {lists})",
}


class Indexes:
    """The dense indexes of one database."""

    def __init__(self, database: Database, *, worth: int = WORTH_AN_INDEX, method: str = "") -> None:
        self._database = database
        self._worth = worth
        self._method = method

    def grow(self, generation: Generation, *, dense: bool = True) -> bool:
        """Do the upkeep that is due; return whether an index was built. Work in progress on another server is skipped.

        Without `dense`, vectors are searched elsewhere and need no index here.
        """
        with self._database.owning() as connection:
            cursor = PostgresCursor(connection, generation.user_id)
            if not cursor.value("may_build_indexes") or not cursor.value("hold_index", generation=generation.pk):
                return False
            try:
                if statistics.is_scattered(cursor, generation.pk):
                    cursor.run("fold_terms", generation=generation.pk)
                reweigh.if_due(cursor, generation)
                return dense and self._build(connection, generation)
            finally:
                cursor.run("let_go_index", generation=generation.pk)

    def drop(self, generation: Generation) -> None:
        with self._database.owning() as connection:
            if PostgresCursor(connection, "").value("may_build_indexes"):
                connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name_of(generation)}")

    def rebuild(self, generation: Generation) -> None:
        """Rebuild the index without deleted entries."""
        with self._database.owning() as connection:
            if self._state(connection, generation) is not None:
                connection.execute(f"REINDEX INDEX CONCURRENTLY {name_of(generation)}")

    def method(self, connection: Connection) -> str:
        """Return the best index method of this server; empty if it has none."""
        offered = {row["method"] for row in PostgresCursor(connection, "").all("index_methods")}
        if self._method:
            return self._method if self._method in offered else ""
        return next((name for name in _METHODS if name in offered), "")

    def _build(self, connection: Connection, generation: Generation) -> bool:
        state = self._state(connection, generation)
        if state is True or generation.dimensions > MOST_DIMENSIONS:
            return False
        chunks = self._chunks(connection, generation)
        method = self.method(connection)
        if not method or chunks < self._worth:
            return False
        if state is False:  # an interrupted build leaves an invalid index
            connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name_of(generation)}")
        column = f"(embedding::halfvec({generation.dimensions:d}))"
        using = _METHODS[method].format(column=column, lists=max(10, int(math.sqrt(chunks))))
        connection.execute(f"SET maintenance_work_mem = '{_BUILD_MEMORY}'")
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {name_of(generation)} ON document_chunks {using} "
            f"WHERE generation = {generation.pk:d}"
        )
        connection.execute("ANALYZE document_chunks")  # the planner may not know the latest rows
        return True

    @staticmethod
    def _chunks(connection: Connection, generation: Generation) -> int:
        cursor = PostgresCursor(connection, generation.user_id)
        return int(cursor.value("document_frequency", generation=generation.pk, term=" chunks"))

    @staticmethod
    def _state(connection: Connection, generation: Generation) -> object:
        """Return True for a valid index, False for an incomplete one, None for none."""
        return PostgresCursor(connection, "").value("is_index_valid", name=name_of(generation))


def name_of(generation: Generation) -> str:
    return f"chunks_dense_{generation.pk:d}"
