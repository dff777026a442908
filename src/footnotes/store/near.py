"""Finds near-duplicates among a hundred thousand documents, by bands of their sketches.

Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4: with twelve bands of five values, two documents that
share 80% of their text have a common band 99 times in 100, two that share 30% three times. Whole sketches are compared
before a result counts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import NamedTuple, TypeAlias

import numpy as np

from footnotes.store.database import Cursor
from footnotes.text.sketch import VALUES, resemblance
from footnotes.types import NearDuplicate

LEAST_RESEMBLANCE = 0.8
CANDIDATES = 64
"""The most documents to compare with: a band shared by more says nothing."""
_BANDS = 12
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, 1 + VALUES // _BANDS)], np.uint64)
_NUMBERS = np.arange(_BANDS, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)

Bands: TypeAlias = list[int]


def put(cursor: Cursor, collection: str, pk: int, sketch: bytes | None, *, new: bool) -> NearDuplicate | None:
    """Store a document's sketch, replacing the previous one. Return the document it nearly equals, if any."""
    if not new:
        _drop_bands(cursor, collection, pk)
        _compare_again(cursor, collection, pk, sketch)
        cursor.run("drop_sketch", document=pk)
    if sketch is None:
        return None
    bands = bands_of(cursor.user_id, collection, sketch)
    found = _nearest(cursor, collection, pk, sketch, bands)
    near, other = found if found else (None, None)
    similarity = near.similarity if near else None
    cursor.run("put_sketch", document=pk, sketch=sketch, resembles=other, similarity=similarity)
    cursor.run("put_bands", document=pk, bands=bands)
    return near


class SketchDraft(NamedTuple):
    """A new document with its sketch."""

    collection: str
    pk: int
    id: str
    filename: str
    sketch: bytes


def put_new(cursor: Cursor, new: Sequence[SketchDraft]) -> list[NearDuplicate | None]:
    """Store the sketches of new documents. Return the earlier document that each nearly equals, if any."""
    if not new:
        return []
    bands = bands_of_many(cursor.user_id, [each.collection for each in new], [each.sketch for each in new])
    shared = _Shared(cursor, bands)
    found: list[NearDuplicate | None] = []
    rows: list[tuple[str, int, bytes, int | None, float | None]] = []
    for each, own in zip(new, bands, strict=True):
        alike, other = most_alike(each.sketch, shared.candidates(each.collection, own)) or (None, None)
        found.append(alike)
        similarity = alike.similarity if alike else None
        rows.append((cursor.user_id, each.pk, each.sketch, other, similarity))
        shared.add(Candidate(*each[1:]), each.collection, own)
    cursor.insert("put_new_sketches", rows)
    # Sorted as in the table, so that each of its pages is written once.
    entries = sorted((cursor.user_id, band, each.pk) for each, own in zip(new, bands, strict=True) for band in own)
    cursor.insert("put_new_bands", entries)
    return found


class _Shared:
    """Documents by their bands: those in the database and those being written."""

    def __init__(self, cursor: Cursor, bands: Sequence[Bands]) -> None:
        every = list(chain.from_iterable(bands))
        names, counts = np.unique(np.array(every, dtype=np.int64), return_counts=True)
        self._repeated: frozenset[int] = frozenset(names[counts > 1].tolist())
        """Bands shared by several new documents; only these need to be looked up among the new ones."""
        self._members: dict[int, list[int]] = {}
        for row in cursor.all("members_of_bands", bands=every):
            self._members.setdefault(row["band"], []).append(row["document"])
        keys = sorted(set(chain.from_iterable(self._members.values())))
        rows = cursor.all("sketches_of", keys=keys) if keys else []
        self._known = {
            row["pk"]: (row["collection"], Candidate(row["pk"], row["id"], row["filename"], row["sketch"]))
            for row in rows
        }

    def candidates(self, collection: str, bands: Bands) -> list[Candidate]:
        """Return the documents of a collection that share bands."""
        shared = [self._members[band] for band in bands if band in self._members]
        if not shared:  # the usual case
            return []
        found = islice(chain.from_iterable(shared), CANDIDATES)
        known = (self._known[pk] for pk in set(found) if pk in self._known)
        return [candidate for owner, candidate in known if owner == collection]

    def add(self, candidate: Candidate, collection: str, bands: Bands) -> None:
        repeated = self._repeated.intersection(bands)
        if repeated:
            self._known[candidate.pk] = (collection, candidate)
        for band in repeated:
            self._members.setdefault(band, []).append(candidate.pk)


def drop(cursor: Cursor, collection: str, pk: int) -> None:
    """Remove a document's bands before it is deleted, and compare documents that resembled it with others."""
    _drop_bands(cursor, collection, pk)
    _compare_again(cursor, collection, pk, None)


def near_duplicates(cursor: Cursor) -> dict[str, NearDuplicate]:
    """Return the near-duplicates of other documents, by id."""
    rows = cursor.all("near_duplicates")
    return {row["id"]: NearDuplicate(row["other"], row["filename"], row["similarity"]) for row in rows}


def bands_of(user_id: str, collection: str, sketch: bytes) -> Bands:
    """Return the names of the bands: hashes of tenant, collection and a run of values, so that only documents within a
    collection are compared. Documents with a common name are only candidates.
    """
    return bands_of_many(user_id, [collection], [sketch])[0]


def bands_of_many(user_id: str, collections: Sequence[str], sketches: Sequence[bytes]) -> list[Bands]:
    """Return the bands of several documents, each in its collection."""
    if not sketches:
        return []
    values = np.frombuffer(b"".join(sketches), dtype="<u2").reshape(len(sketches), _BANDS, -1)
    owners = np.array([_hash(user_id, collection) for collection in collections], dtype=np.uint64)
    names = (values @ _WEIGHTS + _NUMBERS) * owners[:, np.newaxis]
    bands: list[Bands] = names.view(np.int64).tolist()
    return bands


def _nearest(
    cursor: Cursor, collection: str, pk: int, sketch: bytes, bands: Bands, *, only_older: bool = False
) -> tuple[NearDuplicate, int] | None:
    """Return the most similar document with its key; the oldest of equals."""
    members = (row["document"] for row in cursor.all("band_members", bands=bands, document=pk))
    keys = sorted({key for key in members if key < pk or not only_older})
    if not keys:
        return None
    rows = cursor.all("sketched_candidates", collection=collection, keys=keys)
    return most_alike(sketch, [Candidate(row["pk"], row["id"], row["filename"], row["sketch"]) for row in rows])


class Candidate(NamedTuple):
    """A document that shares a band with another."""

    pk: int
    id: str
    filename: str
    sketch: bytes


def most_alike(sketch: bytes, candidates: Iterable[Candidate]) -> tuple[NearDuplicate, int] | None:
    """Return the candidate most similar to a sketch with its key, the oldest of equals; None if none is close."""
    alike = ((resemblance(sketch, one.sketch), -one.pk, one.id, one.filename) for one in candidates)
    best = max(alike, default=None)
    if best is None or best[0] < LEAST_RESEMBLANCE:
        return None
    return NearDuplicate(best[2], best[3], round(best[0], 3)), -best[1]


def _drop_bands(cursor: Cursor, collection: str, pk: int) -> None:
    sketch: bytes | None = cursor.value("sketch_of", document=pk)
    if sketch is not None:
        cursor.run("drop_bands", document=pk, bands=bands_of(cursor.user_id, collection, sketch))


def _compare_again(cursor: Cursor, collection: str, pk: int, sketch: bytes | None) -> None:
    """Compare documents that resembled this one with its new sketch, or with other documents."""
    for row in cursor.all("resembling", document=pk):
        other, own = row["document"], row["sketch"]
        similarity = resemblance(sketch, own) if sketch else 0.0
        if similarity >= LEAST_RESEMBLANCE:
            cursor.run("set_resembles", document=other, resembles=pk, similarity=round(similarity, 3))
            continue
        bands = bands_of(cursor.user_id, collection, own)
        found = _nearest(cursor, collection, other, own, bands, only_older=True)
        near, key = found if found else (None, None)
        cursor.run("set_resembles", document=other, resembles=key, similarity=near.similarity if near else None)


@lru_cache(maxsize=256)
def _hash(user_id: str, collection: str) -> int:
    name = f"{user_id}\x1f{collection}".encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") | 1
