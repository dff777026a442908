"""Documents that are nearly the same: found among a hundred thousand by bands of their sketches.

Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4: with twelve bands of five values, two documents that
share 80% of their text have a band in common 99 times in 100, two that share 30% three times; all are compared by
their whole sketches before anything is said.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import apsw
import numpy as np

from footnotes.store.sqlite.sql import queries
from footnotes.text.sketch import VALUES, resemblance
from footnotes.types import NearDuplicate

LEAST_RESEMBLANCE = 0.8
_BANDS = 12
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, 1 + VALUES // _BANDS)], np.uint64)
_NUMBERS = np.arange(_BANDS, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)

Place: TypeAlias = tuple[str, str]
"""Tenant and collection: documents are compared within them only."""


def put(connection: apsw.Connection, place: Place, pk: int, sketch: bytes | None, *, new: bool) -> NearDuplicate | None:
    """Keep the sketch of a document in place of the one before. Returns the document it nearly equals, if any."""
    if not new:
        _forget(connection, place, pk)
        _settle(connection, place, pk, sketch)
        connection.execute(queries()["drop_sketch"], (pk,))
    if sketch is None:
        return None
    bands = _bands(place, sketch)
    found = _nearest(connection, place, pk, sketch, bands)
    near, other = found if found else (None, None)
    connection.execute(queries()["put_sketch"], (pk, sketch, other, near.similarity if near else None))
    connection.execute(queries()["put_bands"], (pk, bands))
    return near


def drop(connection: apsw.Connection, place: Place, pk: int) -> None:
    """Forget a document that is about to go; those that resembled it are compared with what is left."""
    _forget(connection, place, pk)
    _settle(connection, place, pk, None)


def listed(connection: apsw.Connection, user_id: str) -> dict[str, NearDuplicate]:
    """Every document that nearly equals another, by its id."""
    rows: list[Any] = connection.execute(queries()["near_duplicates"], (user_id,)).fetchall()
    return {id_: NearDuplicate(other, filename, similarity) for id_, other, filename, similarity in rows}


def count(connection: apsw.Connection, user_id: str) -> int:
    row: Any = connection.execute(queries()["count_near_duplicates"], (user_id,)).fetchone()
    return int(row[0])


def _nearest(
    connection: apsw.Connection, place: Place, pk: int, sketch: bytes, bands: Any, *, only_older: bool = False
) -> tuple[NearDuplicate, int] | None:
    """The document most like this one, the oldest of equals, with its key."""
    members: list[Any] = connection.execute(queries()["band_members"], (bands, pk)).fetchall()
    keys = sorted({key for (key,) in members if key < pk or not only_older})
    if not keys:
        return None
    rows: list[Any] = connection.execute(queries()["sketched_candidates"], (_as_table(keys), *place)).fetchall()
    alike = [(resemblance(sketch, other), -key, id_, filename) for key, id_, filename, other in rows]
    best = max(alike, default=None)
    if best is None or best[0] < LEAST_RESEMBLANCE:
        return None
    return NearDuplicate(best[2], best[3], round(best[0], 3)), -best[1]


def _forget(connection: apsw.Connection, place: Place, pk: int) -> None:
    row: Any = connection.execute(queries()["sketch_of"], (pk,)).fetchone()
    if row is not None:
        connection.execute(queries()["drop_bands"], (pk, _bands(place, row[0])))


def _settle(connection: apsw.Connection, place: Place, pk: int, sketch: bytes | None) -> None:
    """Compare those that resembled a document with what it is now, or with what else there is."""
    rows: list[Any] = connection.execute(queries()["resembling"], (pk,)).fetchall()
    for other, own in rows:
        similarity = resemblance(sketch, own) if sketch else 0.0
        if similarity >= LEAST_RESEMBLANCE:
            connection.execute(queries()["set_resembles"], (pk, round(similarity, 3), other))
            continue
        found = _nearest(connection, place, other, own, _bands(place, own), only_older=True)
        near, key = found if found else (None, None)
        connection.execute(queries()["set_resembles"], (key, near.similarity if near else None, other))


def _bands(place: Place, sketch: bytes) -> Any:
    """Names of the bands: a hash of the place and of each run of values. What is found by them is compared."""
    values = np.frombuffer(sketch, dtype="<u2").reshape(_BANDS, -1)
    names = (values @ _WEIGHTS + _NUMBERS) * np.uint64(_place_hash(place))
    return _as_table(array("q", names.tobytes()))


@lru_cache(maxsize=256)
def _place_hash(place: Place) -> int:
    name = "\x1f".join(place).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") | 1


def _as_table(keys: Sequence[int]) -> Any:
    return apsw.carray(keys if isinstance(keys, array) else array("q", keys), flags=apsw.SQLITE_CARRAY_INT64)
