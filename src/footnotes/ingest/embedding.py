"""Vectors for inputs that have none yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.embed.checked import embed_all
from footnotes.ingest.pieces import mean_vector
from footnotes.ingest.work import OnProgress, Progress
from footnotes.store.records import Generation
from footnotes.store.sqlite import SqliteStore

VECTORS_A_COMMIT = 64


def embed_missing(
    store: SqliteStore,
    generation: Generation,
    inputs: Mapping[bytes, Sequence[str]],
    *,
    embedder: Embedder,
    batch: int,
    on_progress: OnProgress,
) -> int:
    """Embed what was never embedded, and keep each batch as soon as it is made: a crash costs one batch at most."""
    user_id = generation.user_id
    missing = store.missing_vectors(user_id, generation, inputs)
    for start in range(0, len(missing), VECTORS_A_COMMIT):
        on_progress(Progress("embedding", start, len(missing)))
        keys = missing[start : start + VECTORS_A_COMMIT]
        vectors = _pooled([inputs[key] for key in keys], embedder, batch)
        store.save_vectors(user_id, generation, keys, vectors)
    return len(missing)


def _pooled(inputs: Sequence[Sequence[str]], embedder: Embedder, batch: int) -> Matrix:
    """One vector an input: the mean of its pieces, each of which is embedded once however many share it."""
    pieces = {piece: row for row, piece in enumerate(dict.fromkeys(piece for each in inputs for piece in each))}
    vectors = embed_all(embedder, list(pieces), role="passage", batch=batch)
    return np.stack([mean_vector(vectors[[pieces[piece] for piece in each]]) for each in inputs])
