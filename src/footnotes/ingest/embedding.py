"""Embeds inputs without vectors, with the one model of their generation."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.embed.checked import embed_all
from footnotes.embed.metric import stored_dimensions
from footnotes.errors import DimensionMismatch
from footnotes.ingest.pieces import mean_vector, mean_vectors
from footnotes.ingest.work import OnProgress, Progress, quiet
from footnotes.store import Store
from footnotes.store.generations import Recipe
from footnotes.store.records import Generation

EMBEDDED_TOGETHER = 512
"""This many inputs are sorted by length together: fewer would waste more of the model's input on padding."""
EMBEDDED_AT_ONCE = 64
KEPT_EVERY_SECONDS = 2.0
"""Vectors are stored this often: a crash loses no more work than this, and commits stay rare."""


def recipe_for(embedder: Embedder, plan: Mapping[str, object] | None = None) -> Recipe:
    return Recipe(embedder.name, embedder.fingerprint, stored_dimensions(embedder), dict(plan or {}))


def check_embedder(generation: Generation, embedder: Embedder) -> None:
    """Raise unless the embedder's vectors are comparable with those of the generation."""
    if generation.fingerprint != embedder.fingerprint:
        raise DimensionMismatch(
            f"the library's vectors are from {generation.embedder} ({generation.dimensions} dimensions), "
            f"the settings name {embedder.name} ({stored_dimensions(embedder)})",
        )


class Embedded(NamedTuple):
    """The number of embedded inputs, and the time of the embedder, without the time to store them."""

    inputs: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Embedding:
    """What makes the vectors of a tenant's library: an embedder, and the store that keeps them."""

    store: Store
    user: str
    embedder: Embedder
    batch: int
    on_progress: OnProgress = quiet

    def open_generation(self) -> Generation:
        """Return the current generation, or create a tenant's first. Raises if another model made its vectors."""
        generation = self.store.generations.ensure(self.user, recipe_for(self.embedder))
        check_embedder(generation, self.embedder)
        return generation

    def embed(
        self, generation: Generation, inputs: Mapping[bytes, Sequence[str]], known: dict[str, Matrix] | None = None
    ) -> Embedded:
        """Embed new inputs, and store the vectors every few seconds: a crash loses only the last ones.

        `known` are vectors of recently embedded pieces, and on return those of the last ones: neighbouring inputs share
        pieces.
        """
        check_embedder(generation, self.embedder)
        missing = self.store.vectors.missing(self.user, generation, inputs)
        kept, known, seconds = _Kept(self.store, generation), {} if known is None else known, 0.0
        for start in range(0, len(missing), EMBEDDED_TOGETHER):
            window = {key: inputs[key] for key in missing[start : start + EMBEDDED_TOGETHER]}
            for piece in known.keys() - {piece for pieces in window.values() for piece in pieces}:
                del known[piece]
            fresh = sorted({piece: 0 for pieces in window.values() for piece in pieces if piece not in known}, key=len)
            for at in range(0, len(fresh), EMBEDDED_AT_ONCE):
                self.on_progress(Progress("embedding", start + len(window) * at // len(fresh), len(missing)))
                some = fresh[at : at + EMBEDDED_AT_ONCE]
                began = time.perf_counter()
                vectors = embed_all(self.embedder, some, role="passage", batch=self.batch)
                known.update(zip(some, vectors, strict=True))
                seconds += time.perf_counter() - began
                if kept.is_due:
                    kept.add(window, known)
            kept.add(window, known, now=start + EMBEDDED_TOGETHER >= len(missing))
        return Embedded(len(missing), seconds)


class _Kept:
    """Writes vectors of inputs whose pieces are embedded, each input once."""

    def __init__(self, store: Store, generation: Generation) -> None:
        self._store, self._generation = store, generation
        self._keys: list[bytes] = []
        self._vectors: list[Matrix] = []
        self._done: set[bytes] = set()
        self._since = time.monotonic()

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._since >= KEPT_EVERY_SECONDS

    def add(self, window: Mapping[bytes, Sequence[str]], known: Mapping[str, Matrix], *, now: bool = False) -> None:
        """Collect the complete vectors of a window, and store them when it is time, or `now`."""
        complete = [
            key for key, pieces in window.items() if key not in self._done and all(map(known.__contains__, pieces))
        ]
        self._done.update(complete)
        self._keys += complete
        self._vectors += _means([[known[piece] for piece in window[key]] for key in complete])
        if self._keys and (now or self.is_due):
            self._store.vectors.save(self._generation.user_id, self._generation, self._keys, np.stack(self._vectors))
            self._keys, self._vectors, self._since = [], [], time.monotonic()


def _means(made: Sequence[Sequence[Matrix]]) -> list[Matrix]:
    """Return the vector of each input: of its piece, or the mean of its pieces. All means of two are made at once."""
    pairs = [vectors for vectors in made if len(vectors) == 2]
    of_pairs = iter(mean_vectors(np.array(pairs))) if pairs else iter(())
    return [next(of_pairs) if len(vectors) == 2 else _mean(vectors) for vectors in made]


def _mean(vectors: Sequence[Matrix]) -> Matrix:
    return vectors[0] if len(vectors) == 1 else mean_vector(np.stack(vectors))
