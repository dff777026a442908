"""A few bytes that tell how much two long texts have in common: a MinHash over what their letters say.

Broder, "On the resemblance and containment of documents" (1997). The features are runs of sixteen letters; case,
white space, line breaks and ASCII punctuation do not count, so that a PDF and the text it was made from are alike,
in any script. One run in eight is kept, chosen by its own hash; `rensa` makes the MinHash of those.
"""

from __future__ import annotations

import string
from typing import Any

import numpy as np
from numpy.typing import NDArray

VALUES = 60
"""Numbers in a sketch: the resemblance of two texts is told to within about five percent."""
LEAST_LETTERS = 200
"""Shorter texts are alike by chance, and have no sketch."""

_SEED = 1
_FACTOR, _MIX, _KEPT_BELOW = 0x01000193, 0x9E3779B1, np.uint32(1 << 29)
_UNCOUNTED = (string.whitespace + string.punctuation).encode()
_LOWER = bytes.maketrans(string.ascii_uppercase.encode(), string.ascii_lowercase.encode())


class Sketcher:
    """Takes a text in pieces. Only the smallest hash of each kind is kept, whatever the length."""

    def __init__(self) -> None:
        self._least: NDArray[np.uint32] | None = None
        self._letters = 0

    def add(self, text: str) -> None:
        letters = text.encode("utf-8", "replace").translate(_LOWER, _UNCOUNTED)
        self._letters += len(letters)
        kept = _kept_runs(np.frombuffer(letters, dtype=np.uint8))
        if len(kept):
            found = _minimum_hashes(kept)
            self._least = found if self._least is None else np.minimum(self._least, found)

    def sketch(self) -> bytes | None:
        """The lower half of every value, two bytes each; nothing for a text that is too short to tell."""
        if self._least is None or self._letters < LEAST_LETTERS:
            return None
        return self._least.astype("<u2").tobytes()


def resemblance(one: bytes, other: bytes) -> float:
    """The share of runs two texts have in common, of all they have (Jaccard), as their sketches estimate it."""
    values = [np.frombuffer(sketch, dtype="<u2") for sketch in (one, other)]
    return float(np.mean(values[0] == values[1])) if len(one) == len(other) else 0.0


def _kept_runs(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    """Hashes of the runs of sixteen letters whose hash lets them be kept, by doubling: 1, 2, 4, 8, 16 letters."""
    hashes = letters.astype(np.uint32)
    factor = _FACTOR
    for length in (1, 2, 4, 8):
        if len(hashes) <= length:
            return np.zeros(0, dtype=np.uint64)
        hashes = hashes[:-length] * np.uint32(factor) + hashes[length:]
        factor = factor * factor & 0xFFFFFFFF
    mixed = hashes * np.uint32(_MIX)
    kept: NDArray[np.uint64] = hashes[mixed < _KEPT_BELOW].astype(np.uint64)
    return kept


def _minimum_hashes(features: NDArray[np.uint64]) -> NDArray[np.uint32]:
    from rensa import RMinHash

    matrix: Any = RMinHash.digest_matrix_from_flat_token_hashes(features, [0, len(features)], VALUES, _SEED)
    return np.array(matrix.to_rows()[0], dtype=np.uint32)
