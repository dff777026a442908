"""Cosine for every model: one more dimension turns a dot product into a cosine.

An embedder for the dot product has `metric = "dot"` and `largest_norm`, the greatest length L of its vectors.
A passage x becomes [x / L, √(1 − |x / L|²)] and a question q becomes [q / |q|, 0]. Both have length one, and their
cosine is x · q up to a factor that is the same for all passages (Bachrach et al., "Speeding up the Xbox recommender
system using a Euclidean transformation for inner-product spaces", RecSys 2014).
"""

from __future__ import annotations

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.errors import InvalidVector
from footnotes.types import Role

_ROUNDING = 1e-4


def by_dot_product(embedder: Embedder) -> bool:
    return getattr(embedder, "metric", "cosine") == "dot"


def stored_dimensions(embedder: Embedder) -> int:
    """Return the dimensions of the stored and searched vectors."""
    return embedder.dimensions + by_dot_product(embedder)


def as_unit(vectors: Matrix, norms: Matrix, embedder: Embedder, role: Role) -> Matrix:
    """Return unit vectors whose cosine ranks as the model's metric does; `norms` are their lengths, as a column."""
    if not by_dot_product(embedder):
        unit: Matrix = (vectors / norms).astype(np.float32)
        return unit
    if role == "query":
        return np.hstack([vectors / norms, np.zeros_like(norms)]).astype(np.float32)
    largest = float(getattr(embedder, "largest_norm", 1.0))
    shares = norms / largest
    if (shares > 1 + _ROUNDING).any():
        raise InvalidVector(f"{embedder.name} returned a vector longer than the {largest:g} it says is the longest")
    rest = np.sqrt(np.maximum(0.0, 1.0 - shares**2))
    return np.hstack([vectors / largest, rest]).astype(np.float32)
