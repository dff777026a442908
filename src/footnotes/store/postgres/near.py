"""Sketches of documents in PostgreSQL; what is done with them is said in `store.near`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from footnotes.store.near import Bands, Place
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.sql import queries
from footnotes.types import NearDuplicate


class PostgresSketches:
    """The sketches of one tenant in one transaction."""

    def __init__(self, connection: Connection, user_id: str) -> None:
        self._connection = connection
        self._user_id = user_id

    def sketch_of(self, pk: int) -> bytes | None:
        found: bytes | None = self._connection.value(queries()["sketch_of"], self._user_id, pk)
        return found

    def put(self, place: Place, pk: int, sketch: bytes, bands: Bands, other: int | None, alike: float | None) -> None:
        self._connection.execute(queries()["put_sketch"], self._user_id, pk, sketch, other, alike)
        self._connection.execute(queries()["put_bands"], self._user_id, pk, list(bands))

    def drop_bands(self, pk: int, bands: Bands) -> None:
        self._connection.execute(queries()["drop_bands"], self._user_id, pk, list(bands))

    def drop(self, pk: int) -> None:
        self._connection.execute(queries()["drop_sketch"], self._user_id, pk)

    def in_bands(self, bands: Bands, pk: int) -> Iterable[int]:
        return [row[0] for row in self._connection.fetch(queries()["band_members"], self._user_id, pk, list(bands))]

    def candidates(self, place: Place, pks: Sequence[int]) -> Iterable[tuple[int, str, str, bytes]]:
        rows: list[Any] = self._connection.fetch(queries()["sketched_candidates"], *place, list(pks))
        return [tuple(row) for row in rows]

    def resembling(self, pk: int) -> Iterable[tuple[int, bytes]]:
        return [(row[0], row[1]) for row in self._connection.fetch(queries()["resembling"], self._user_id, pk)]

    def set_resembles(self, pk: int, other: int | None, alike: float | None) -> None:
        self._connection.execute(queries()["set_resembles"], self._user_id, pk, other, alike)


def listed(connection: Connection, user_id: str) -> dict[str, NearDuplicate]:
    """Every document that nearly equals another, by its id."""
    rows = connection.fetch(queries()["near_duplicates"], user_id)
    return {id_: NearDuplicate(other, filename, similarity) for id_, other, filename, similarity in rows}


def count(connection: Connection, user_id: str) -> int:
    return int(connection.value(queries()["count_near_duplicates"], user_id))
