"""What SQLite knows of the originals that are kept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.sql import queries


class SqliteOriginals:
    """Rows of originals; see `store.originals`. One writer at a time: whatever is loose is nobody's."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def make(self, user_id: str, name: str) -> int:
        with self._database.transaction() as connection:
            made: Any = connection.execute(queries()["make_original"], (user_id, name)).fetchone()
        return int(made[0])

    def attach(self, user_id: str, original: int, pk: int, digest: str, size: int) -> None:
        with self._database.transaction() as connection:
            connection.execute(queries()["release_original"], (user_id, pk))
            connection.execute(queries()["attach_original"], (pk, digest, size, user_id, original))

    def name_of(self, user_id: str, document_id: str) -> str | None:
        with self._database.snapshot() as connection:
            row: Any = connection.execute(queries()["original_of"], (user_id, document_id)).fetchone()
        return None if row is None else str(row[0])

    def loose(self, user_id: str | None) -> Sequence[tuple[int, str]]:
        with self._database.snapshot() as connection:
            rows: list[Any] = connection.execute(queries()["loose_originals"]).fetchall()
        return rows

    def drop(self, user_id: str | None, originals: Sequence[int]) -> None:
        with self._database.transaction() as connection:
            connection.executemany(queries()["drop_original"], [(pk,) for pk in originals])

    def all(self, user_id: str) -> Iterable[tuple[str, str, str | None]]:
        with self._database.snapshot() as connection:
            rows: list[Any] = connection.execute(queries()["all_originals"], (user_id,)).fetchall()
        return [(name, file_hash, document_id) for name, file_hash, _, document_id in rows]
