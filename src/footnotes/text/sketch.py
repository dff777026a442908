"""Sketches of texts that estimate how much two long texts share: a MinHash over their letters.

Broder, "On the resemblance and containment of documents" (1997). The features are runs of sixteen letters. Case,
white space, line breaks and ASCII punctuation do not count, so a PDF matches the text it was made from, in any
script. One run in eight is kept, selected by its own hash; `rensa` computes their MinHash.
"""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

VALUES = 60
"""Values per sketch: they estimate the resemblance to within about five percent."""
LEAST_LETTERS = 200
"""Shorter texts resemble each other by chance, so they get no sketch."""

_SEED = 1
_RUN = 16
_HELD_LETTERS = 1 << 18
_FACTOR, _MIX, _KEPT_BELOW = 0x01000193, 0x9E3779B1, np.uint32(1 << 29)
_UNCOUNTED = (string.whitespace + string.punctuation).encode()
_LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())


class Sketcher:
    """Reads a text in pieces. Keeps only the smallest hash of each kind, so memory does not grow with the length."""

    def __init__(self) -> None:
        self._least: NDArray[np.uint32] | None = None
        self._letters = 0
        self._waiting: list[bytes] = []

    def add(self, text: str) -> None:
        letters = text.encode("utf-8", "replace").translate(_LOWER, _UNCOUNTED)
        self._letters += len(letters)
        self._waiting.append(letters)
        if len(letters) > _HELD_LETTERS or len(self._waiting) > 1:
            sketch_together([self])

    def sketch(self) -> bytes | None:
        """Return the lower half of every value, two bytes each; None if the text is too short."""
        return sketch_together([self])[0]

    def _build(self) -> bytes | None:
        if self._least is None or self._letters < LEAST_LETTERS:
            return None
        return self._least.astype("<u2").tobytes()


def sketch_together(sketchers: Sequence[Sketcher]) -> list[bytes | None]:
    """Return the sketches of many texts in one call: for short texts the overhead of a call dominates."""
    waiting = [(each, letters) for each in sketchers for letters in each._waiting if len(letters) >= _RUN]
    if waiting:
        runs, counts = _kept_runs([letters for _, letters in waiting])
        found = _minimum_hashes(runs, counts)
        for (each, _), least, count in zip(waiting, found, counts.tolist(), strict=True):
            if count:
                each._least = least if each._least is None else np.minimum(each._least, least)
    for each in sketchers:
        each._waiting = []
    return [each._build() for each in sketchers]


def resemblance(one: bytes, other: bytes) -> float:
    """Estimate from two sketches the share of runs that the texts have in common (Jaccard)."""
    values = [np.frombuffer(sketch, dtype="<u2") for sketch in (one, other)]
    return float(np.mean(values[0] == values[1])) if len(one) == len(other) else 0.0


def _kept_runs(texts: Sequence[bytes]) -> tuple[NDArray[np.uint64], NDArray[np.intp]]:
    """Return the hashes of selected runs of sixteen letters, and their number per text.

    Computed by doubling: 1, 2, 4, 8, 16 letters. Runs across two texts are excluded.
    """
    hashes = np.frombuffer(b"".join(texts), dtype=np.uint8).astype(np.uint32)
    factor = _FACTOR
    for length in (1, 2, 4, 8):
        hashes = hashes[:-length] * np.uint32(factor) + hashes[length:]
        factor = factor * factor & 0xFFFFFFFF
    is_kept = hashes * np.uint32(_MIX) < _KEPT_BELOW
    ends = np.cumsum([len(text) for text in texts])
    for end in ends[:-1].tolist():
        is_kept[end - _RUN + 1 : end] = False
    at = np.flatnonzero(is_kept)
    runs: NDArray[np.uint64] = hashes[at].astype(np.uint64)
    return runs, np.diff(np.searchsorted(at, ends), prepend=0)


def _minimum_hashes(features: NDArray[np.uint64], counts: NDArray[np.intp]) -> NDArray[np.uint32]:
    """Return the smallest hashes of each text, given the features per text; a row is undefined for a count of 0."""
    from rensa import RMinHash

    offsets = [0, *np.cumsum(counts).tolist()]
    matrix: Any = RMinHash.digest_matrix_from_flat_token_hashes(features, offsets, VALUES, _SEED)
    return np.array(matrix.to_rows(), dtype=np.uint32)
