"""Batches, retries and checks around any embedder. The embedders themselves do none of these."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from footnotes import tracing
from footnotes.embed import Embedder, Matrix
from footnotes.embed.metric import as_unit, stored_dimensions
from footnotes.errors import DimensionMismatch, InvalidVector, ProviderError
from footnotes.remote.deadline import backoff
from footnotes.types import Role

ATTEMPTS = 5
QUERY_ATTEMPTS = 2
"""A user waits for a question: after two failures the lexical leg answers alone."""
LONGEST_WAIT = 30.0


def embed_all(
    embedder: Embedder,
    texts: Sequence[str],
    *,
    role: Role,
    batch: int = 32,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], None] = time.sleep,
) -> Matrix:
    """Embed texts and return checked unit vectors in the same order. Texts of similar length share a batch."""
    vectors = np.empty((len(texts), stored_dimensions(embedder)), dtype=np.float32)
    with tracing.span("embed", embedder=embedder.name, texts=len(texts), role=role):
        for rows in _batches_by_length(texts, batch):
            inputs = [texts[row] for row in rows]
            vectors[rows] = check_vectors(
                with_retries(embedder, inputs, role, attempts, sleep), embedder, role, len(rows)
            )
    return vectors


def embed_one(
    embedder: Embedder,
    text: str,
    *,
    role: Role,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], None] = time.sleep,
) -> Matrix:
    """Embed one text and return its checked unit vector, as a row."""
    with tracing.span("embed", embedder=embedder.name, texts=1, role=role):
        row: Matrix = check_vectors(with_retries(embedder, [text], role, attempts, sleep), embedder, role, 1)[0]
    return row


def _batches_by_length(texts: Sequence[str], batch: int) -> Iterator[list[int]]:
    order = sorted(range(len(texts)), key=lambda row: len(texts[row]))
    for start in range(0, len(order), batch):
        yield order[start : start + batch]


def with_retries(
    embedder: Embedder,
    texts: Sequence[str],
    role: Role,
    attempts: int = ATTEMPTS,
    sleep: Callable[[float], None] = time.sleep,
) -> Matrix:
    """Call the provider. Retry errors that may go away, with growing delays."""
    for attempt in range(1, attempts):
        try:
            return embedder.embed(texts, role=role)
        except ProviderError as error:
            if not error.retryable:
                raise
            sleep(min(backoff(attempt + 1, retry_after=error.retry_after), LONGEST_WAIT))
    return embedder.embed(texts, role=role)


def check_vectors(vectors: Matrix, embedder: Embedder, role: Role, count: int) -> Matrix:
    """Scale vectors to unit length. Raises on a bad vector: in the store it would go unnoticed forever."""
    if not isinstance(vectors, np.ndarray) or vectors.dtype != np.float32:
        with np.errstate(over="ignore"):  # values too large for float32 become infinite and are rejected below
            vectors = np.asarray(vectors, dtype=np.float32)
    if vectors.ndim != 2 or len(vectors) != count:
        raise InvalidVector(f"{embedder.name} returned vectors of shape {vectors.shape} for {count} texts")
    if vectors.shape[1] != embedder.dimensions:
        raise DimensionMismatch(
            f"{embedder.name} returned {vectors.shape[1]} dimensions where {embedder.dimensions} were expected"
        )
    if not np.isfinite(vectors).all():
        raise InvalidVector(f"{embedder.name} returned a vector with NaN or infinity in it")
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    if not norms.all():
        raise InvalidVector(f"{embedder.name} returned a vector of zeros")
    return as_unit(vectors, norms, embedder, role)
