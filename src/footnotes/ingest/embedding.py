"""Vectors for inputs that have none yet, made by the one model that a generation was made with."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.embed.checked import embed_all
from footnotes.embed.metric import stored_dimensions
from footnotes.errors import DimensionMismatch
from footnotes.ingest.pieces import mean_vector
from footnotes.ingest.work import OnProgress, Progress
from footnotes.store import Store
from footnotes.store.records import Generation

EMBEDDED_AT_ONCE = 64
KEPT_EVERY_SECONDS = 2.0
"""Vectors are kept this often while they are made: a crash costs no more work, and a commit costs a disk its rest."""


def open_generation(store: Store, user_id: str, embedder: Embedder) -> Generation:
    """The generation that serves, or the first one of a tenant; an error where another model made its vectors."""
    generation = store.generations.ensure(
        user_id,
        embedder=embedder.name,
        fingerprint=embedder.fingerprint,
        dimensions=stored_dimensions(embedder),
        plan={},
    )
    check_embedder(generation, embedder)
    return generation


def check_embedder(generation: Generation, embedder: Embedder) -> None:
    """Raise unless vectors of the embedder can stand beside those of the generation."""
    if generation.fingerprint != embedder.fingerprint:
        raise DimensionMismatch(
            f"the library's vectors are of {generation.embedder} ({generation.dimensions} dimensions), "
            f"the settings name {embedder.name} ({stored_dimensions(embedder)})",
        )


def embed_missing(
    store: Store,
    generation: Generation,
    inputs: Mapping[bytes, Sequence[str]],
    *,
    embedder: Embedder,
    batch: int,
    on_progress: OnProgress,
) -> int:
    """Embed what was never embedded, and keep it every few seconds: a crash costs the last of them at most."""
    check_embedder(generation, embedder)
    user_id = generation.user_id
    missing = store.vectors.missing(user_id, generation, inputs)
    made: list[Matrix] = []
    kept, since = 0, time.monotonic()
    for start in range(0, len(missing), EMBEDDED_AT_ONCE):
        on_progress(Progress("embedding", start, len(missing)))
        keys = missing[start : start + EMBEDDED_AT_ONCE]
        made.append(_pooled([inputs[key] for key in keys], embedder, batch))
        end = start + len(keys)
        if end == len(missing) or time.monotonic() - since >= KEPT_EVERY_SECONDS:
            store.vectors.save(user_id, generation, missing[kept:end], np.concatenate(made))
            made, kept, since = [], end, time.monotonic()
    return len(missing)


def _pooled(inputs: Sequence[Sequence[str]], embedder: Embedder, batch: int) -> Matrix:
    """One vector an input: the mean of its pieces, each of which is embedded once however many share it."""
    pieces = {piece: row for row, piece in enumerate(dict.fromkeys(piece for each in inputs for piece in each))}
    vectors = embed_all(embedder, list(pieces), role="passage", batch=batch)
    if all(len(each) == 1 for each in inputs):  # of unit length already
        alone: Matrix = vectors[[pieces[each[0]] for each in inputs]]
        return alone
    return np.stack([_mean(vectors, [pieces[piece] for piece in each]) for each in inputs])


def _mean(vectors: Matrix, rows: Sequence[int]) -> Matrix:
    if len(rows) == 1:
        one: Matrix = vectors[rows[0]]
        return one
    return mean_vector(vectors[rows])
