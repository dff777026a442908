"""Documents that are nearly the same: found among a hundred thousand by bands of their sketches.

Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", 3.4: with twelve bands of five values, two documents that
share 80% of their text have a band in common 99 times in 100, two that share 30% three times; all are compared by
their whole sketches before anything is said.
"""

from __future__ import annotations

import hashlib
from array import array
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Protocol, TypeAlias

import numpy as np

from footnotes.text.sketch import VALUES, resemblance
from footnotes.types import NearDuplicate

LEAST_RESEMBLANCE = 0.8
_BANDS = 12
_WEIGHTS = np.array([pow(0x9E3779B97F4A7C15, power, 1 << 64) for power in range(1, 1 + VALUES // _BANDS)], np.uint64)
_NUMBERS = np.arange(_BANDS, dtype=np.uint64) * np.uint64(0xD6E8FEB86659FD93)

Place: TypeAlias = tuple[str, str]
"""Tenant and collection: documents are compared within them only."""
Bands: TypeAlias = "array[int]"


class Sketches(Protocol):
    """Where a store keeps sketches and their bands; one transaction."""

    def sketch_of(self, pk: int) -> bytes | None: ...

    def put(self, place: Place, pk: int, sketch: bytes, bands: Bands, other: int | None, alike: float | None) -> None:
        """Keep a sketch with its bands, and which document it resembles how much."""
        ...

    def drop_bands(self, pk: int, bands: Bands) -> None: ...

    def drop(self, pk: int) -> None: ...

    def in_bands(self, bands: Bands, pk: int) -> Iterable[int]:
        """Documents in any of these bands, without the one named; not more than some dozens a band."""
        ...

    def candidates(self, place: Place, pks: Sequence[int]) -> Iterable[tuple[int, str, str, bytes]]:
        """Key, id, file name and sketch of documents at a place."""
        ...

    def resembling(self, pk: int) -> Iterable[tuple[int, bytes]]:
        """Documents that were found to resemble this one, with their sketches."""
        ...

    def set_resembles(self, pk: int, other: int | None, alike: float | None) -> None: ...


def put(sketches: Sketches, place: Place, pk: int, sketch: bytes | None, *, new: bool) -> NearDuplicate | None:
    """Keep the sketch of a document in place of the one before. Returns the document it nearly equals, if any."""
    if not new:
        _forget(sketches, place, pk)
        _settle(sketches, place, pk, sketch)
        sketches.drop(pk)
    if sketch is None:
        return None
    bands = bands_of(place, sketch)
    found = _nearest(sketches, place, pk, sketch, bands)
    near, other = found if found else (None, None)
    sketches.put(place, pk, sketch, bands, other, near.similarity if near else None)
    return near


def drop(sketches: Sketches, place: Place, pk: int) -> None:
    """Forget a document that is about to go; those that resembled it are compared with what is left."""
    _forget(sketches, place, pk)
    _settle(sketches, place, pk, None)


def bands_of(place: Place, sketch: bytes) -> Bands:
    """Names of the bands: a hash of the place and of each run of values. What is found by them is compared."""
    values = np.frombuffer(sketch, dtype="<u2").reshape(_BANDS, -1)
    names = (values @ _WEIGHTS + _NUMBERS) * np.uint64(_place_hash(place))
    return array("q", names.tobytes())


def _nearest(
    sketches: Sketches, place: Place, pk: int, sketch: bytes, bands: Bands, *, only_older: bool = False
) -> tuple[NearDuplicate, int] | None:
    """The document most like this one, the oldest of equals, with its key."""
    keys = sorted({key for key in sketches.in_bands(bands, pk) if key < pk or not only_older})
    if not keys:
        return None
    rows = sketches.candidates(place, keys)
    alike = [(resemblance(sketch, other), -key, id_, filename) for key, id_, filename, other in rows]
    best = max(alike, default=None)
    if best is None or best[0] < LEAST_RESEMBLANCE:
        return None
    return NearDuplicate(best[2], best[3], round(best[0], 3)), -best[1]


def _forget(sketches: Sketches, place: Place, pk: int) -> None:
    if (sketch := sketches.sketch_of(pk)) is not None:
        sketches.drop_bands(pk, bands_of(place, sketch))


def _settle(sketches: Sketches, place: Place, pk: int, sketch: bytes | None) -> None:
    """Compare those that resembled a document with what it is now, or with what else there is."""
    for other, own in list(sketches.resembling(pk)):
        similarity = resemblance(sketch, own) if sketch else 0.0
        if similarity >= LEAST_RESEMBLANCE:
            sketches.set_resembles(other, pk, round(similarity, 3))
            continue
        found = _nearest(sketches, place, other, own, bands_of(place, own), only_older=True)
        near, key = found if found else (None, None)
        sketches.set_resembles(other, key, near.similarity if near else None)


@lru_cache(maxsize=256)
def _place_hash(place: Place) -> int:
    name = "\x1f".join(place).encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") | 1
