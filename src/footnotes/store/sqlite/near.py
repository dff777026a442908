"""Documents that are nearly the same: found among a hundred thousand by bands of their sketches.

Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4: with twelve bands of five values, two documents that
share 80% of their text have a band in common 99 times in 100, two that share 30% three times; all are compared by
their whole sketches before anything is said.
"""

from __future__ import annotations

import hashlib
from array import array
from typing import Any

import apsw

from footnotes.store.sqlite.sql import queries
from footnotes.text.sketch import VALUES, resemblance
from footnotes.types import NearDuplicate

LEAST_RESEMBLANCE = 0.8
_BANDS = 12
_BAND_BYTES = 2 * VALUES // _BANDS


def put(
    connection: apsw.Connection, user_id: str, collection: str, pk: int, sketch: bytes | None
) -> NearDuplicate | None:
    """Keep the sketch of a document in place of the one before. Returns the document it nearly equals, if any."""
    _forget(connection, user_id, collection, pk)
    if sketch is None:
        _settle(connection, user_id, collection, pk, None)
        connection.execute(queries()["drop_sketch"], (pk,))
        return None
    bands = _bands(user_id, collection, sketch)
    found = _nearest(connection, user_id, collection, pk, sketch)
    near, other = found if found else (None, None)
    connection.execute(queries()["put_sketch"], (pk, sketch, other, near.similarity if near else None))
    connection.execute(queries()["put_bands"], (pk, bands))
    _settle(connection, user_id, collection, pk, sketch)
    return near


def drop(connection: apsw.Connection, user_id: str, collection: str, pk: int) -> None:
    """Forget a document that is about to go; those that resembled it are compared with what is left."""
    _forget(connection, user_id, collection, pk)
    _settle(connection, user_id, collection, pk, None)


def listed(connection: apsw.Connection, user_id: str) -> dict[str, NearDuplicate]:
    """Every document that nearly equals another, by its id."""
    rows: list[Any] = connection.execute(queries()["near_duplicates"], (user_id,)).fetchall()
    return {id_: NearDuplicate(other, filename, similarity) for id_, other, filename, similarity in rows}


def count(connection: apsw.Connection, user_id: str) -> int:
    row: Any = connection.execute(queries()["count_near_duplicates"], (user_id,)).fetchone()
    return int(row[0])


def _nearest(
    connection: apsw.Connection, user_id: str, collection: str, pk: int, sketch: bytes, *, only_older: bool = False
) -> tuple[NearDuplicate, int] | None:
    """The document most like this one, the oldest of equals, with its key."""
    bindings = (_bands(user_id, collection, sketch), pk)
    members = {int(row[0]) for row in connection.execute(queries()["band_members"], bindings)}  # type: ignore[call-overload]
    keys = sorted(key for key in members if key < pk or not only_older)
    if not keys:
        return None
    rows: list[Any] = connection.execute(
        queries()["sketched_candidates"], (_as_table(keys), user_id, collection)
    ).fetchall()
    alike = [(resemblance(sketch, other), -key, id_, filename) for key, id_, filename, other in rows]
    best = max(alike, default=None)
    if best is None or best[0] < LEAST_RESEMBLANCE:
        return None
    return NearDuplicate(best[2], best[3], round(best[0], 3)), -best[1]


def _forget(connection: apsw.Connection, user_id: str, collection: str, pk: int) -> None:
    row: Any = connection.execute(queries()["sketch_of"], (pk,)).fetchone()
    if row is not None:
        connection.execute(queries()["drop_bands"], (pk, _bands(user_id, collection, row[0])))


def _settle(connection: apsw.Connection, user_id: str, collection: str, pk: int, sketch: bytes | None) -> None:
    """Compare those that resembled a document with what it is now, or with what else there is."""
    rows: list[Any] = connection.execute(queries()["resembling"], (pk,)).fetchall()
    for other, own in rows:
        similarity = resemblance(sketch, own) if sketch else 0.0
        if similarity >= LEAST_RESEMBLANCE:
            connection.execute(queries()["set_resembles"], (pk, round(similarity, 3), other))
            continue
        found = _nearest(connection, user_id, collection, other, own, only_older=True)
        near, key = found if found else (None, None)
        connection.execute(queries()["set_resembles"], (key, near.similarity if near else None, other))


def _bands(user_id: str, collection: str, sketch: bytes) -> Any:
    """Names of the bands: hashes of the place and of each run of values."""
    place = hashlib.blake2b(f"{user_id}\x1f{collection}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
    keys = array("q")
    for number in range(_BANDS):
        values = sketch[number * _BAND_BYTES : (number + 1) * _BAND_BYTES]
        name = hashlib.blake2b(values, digest_size=8, key=place, salt=bytes([number])).digest()
        keys.append(int.from_bytes(name, "little", signed=True))
    return _as_table(keys)


def _as_table(keys: Any) -> Any:
    return apsw.carray(keys if isinstance(keys, array) else array("q", keys), flags=apsw.SQLITE_CARRAY_INT64)
