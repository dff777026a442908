"""Vectors for inputs that have none yet."""

from __future__ import annotations

from collections.abc import Mapping

from footnotes.embed import Embedder
from footnotes.embed.checked import embed_all
from footnotes.ingest.work import OnProgress, Progress
from footnotes.store.records import Generation
from footnotes.store.sqlite import SqliteStore

VECTORS_A_COMMIT = 256


def embed_missing(
    store: SqliteStore,
    generation: Generation,
    inputs: Mapping[bytes, str],
    *,
    embedder: Embedder,
    batch: int,
    on_progress: OnProgress,
) -> int:
    """Embed what was never embedded, and keep each batch as soon as it is made: a crash costs one batch at most."""
    user_id = generation.user_id
    missing = store.missing_vectors(user_id, generation, inputs)
    missing.sort(key=lambda key: len(inputs[key]))
    for start in range(0, len(missing), VECTORS_A_COMMIT):
        on_progress(Progress("embedding", start, len(missing)))
        keys = missing[start : start + VECTORS_A_COMMIT]
        vectors = embed_all(embedder, [inputs[key] for key in keys], role="passage", batch=batch)
        store.save_vectors(user_id, generation, keys, vectors)
    return len(missing)
