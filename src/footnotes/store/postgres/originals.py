"""What PostgreSQL knows of the originals that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from footnotes.store.postgres.database import Database
from footnotes.store.postgres.sql import queries
from footnotes.store.postgres.writers import Writers


class PostgresOriginals:
    """Rows of originals; see `store.originals`. One that a living writer is bringing in is left alone."""

    def __init__(self, database: Database, writers: Writers) -> None:
        self._database = database
        self._writers = writers

    def make(self, user_id: str, name: str) -> int:
        with self._database.transaction(user_id) as connection:
            return int(connection.value(queries()["make_original"], user_id, name, self._writers.number(user_id)))

    def attach(self, user_id: str, original: int, pk: int, digest: str, size: int) -> None:
        with self._database.transaction(user_id) as connection:
            connection.execute(queries()["release_original"], user_id, pk)
            connection.execute(queries()["attach_original"], user_id, original, pk, digest, size)

    def name_of(self, user_id: str, document_id: str) -> str | None:
        with self._database.reading(user_id) as connection:
            found: str | None = connection.value(queries()["original_of"], user_id, document_id)
        return found

    def loose(self, user_id: str | None) -> Sequence[tuple[int, str]]:
        assert user_id is not None
        with self._database.reading(user_id) as connection:
            mine = self._writers.number_if_any(user_id)
            return [(row[0], row[1]) for row in connection.fetch(queries()["loose_originals"], user_id, mine)]

    def drop(self, user_id: str | None, originals: Sequence[int]) -> None:
        assert user_id is not None
        with self._database.transaction(user_id) as connection:
            connection.execute(queries()["drop_originals"], user_id, list(originals))

    def all(self, user_id: str) -> Iterable[tuple[str, str, str | None]]:
        with self._database.reading(user_id) as connection:
            return [(row[0], row[1], row[2]) for row in connection.fetch(queries()["all_originals"], user_id)]
