"""Sketches of documents in SQLite; what is done with them is said in `store.near`."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import apsw

from footnotes.store.near import Bands, Place
from footnotes.store.sqlite.sql import queries
from footnotes.types import NearDuplicate


class SqliteSketches:
    """The sketches of one transaction."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def sketch_of(self, pk: int) -> bytes | None:
        row: Any = self._connection.execute(queries()["sketch_of"], (pk,)).fetchone()
        return None if row is None else row[0]

    def put(self, place: Place, pk: int, sketch: bytes, bands: Bands, other: int | None, alike: float | None) -> None:
        self._connection.execute(queries()["put_sketch"], (pk, sketch, other, alike))
        self._connection.execute(queries()["put_bands"], (pk, _as_table(bands)))

    def drop_bands(self, pk: int, bands: Bands) -> None:
        self._connection.execute(queries()["drop_bands"], (pk, _as_table(bands)))

    def drop(self, pk: int) -> None:
        self._connection.execute(queries()["drop_sketch"], (pk,))

    def in_bands(self, bands: Bands, pk: int) -> Iterable[int]:
        rows: list[Any] = self._connection.execute(queries()["band_members"], (_as_table(bands), pk)).fetchall()
        return [row[0] for row in rows]

    def candidates(self, place: Place, pks: Sequence[int]) -> Iterable[tuple[int, str, str, bytes]]:
        bindings = (_as_table(array("q", pks)), *place)
        rows: list[Any] = self._connection.execute(queries()["sketched_candidates"], bindings).fetchall()
        return rows

    def resembling(self, pk: int) -> Iterable[tuple[int, bytes]]:
        rows: list[Any] = self._connection.execute(queries()["resembling"], (pk,)).fetchall()
        return rows

    def set_resembles(self, pk: int, other: int | None, alike: float | None) -> None:
        self._connection.execute(queries()["set_resembles"], (other, alike, pk))


def listed(connection: apsw.Connection, user_id: str) -> dict[str, NearDuplicate]:
    """Every document that nearly equals another, by its id."""
    rows: list[Any] = connection.execute(queries()["near_duplicates"], (user_id,)).fetchall()
    return {id_: NearDuplicate(other, filename, similarity) for id_, other, filename, similarity in rows}


def count(connection: apsw.Connection, user_id: str) -> int:
    row: Any = connection.execute(queries()["count_near_duplicates"], (user_id,)).fetchone()
    return int(row[0])


def _as_table(keys: Bands) -> Any:
    return apsw.carray(keys, flags=apsw.SQLITE_CARRAY_INT64)
