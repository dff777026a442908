"""MiniLM and bge-small side by side: `quality = "better"`. Each finds most of what the other misses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import ClassVar, Unpack

import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.local import LocalEmbedder, LocalOptions, local_options
from footnotes.embed.session import unit_rows
from footnotes.errors import EmbedderUnavailable
from footnotes.settings import Settings
from footnotes.types import Role

MODELS = ("minilm-l6", "bge-small")
SHARES = (0.23, 0.77)
"""Weights of the two cosines. bge's lie in .45 to 1, MiniLM's in 0 to 1: MiniLM makes a third of the difference."""


class PairedEmbedder:
    """`pair:minilm-l6+bge-small`: the cosine of two texts is the weighted mean of both models' cosines."""

    background: ClassVar[float] = round(SHARES[1] * 0.45, 3)
    least_words: ClassVar[float] = 0.3
    languages: ClassVar[tuple[str, ...]] = ("en",)

    def __init__(self, model: str = "", **options: Unpack[LocalOptions]) -> None:
        if model not in ("", "+".join(MODELS)):
            raise EmbedderUnavailable(f"there is no pair of models {model!r}", remedy=f"Use {self.name}.")
        self._first = LocalEmbedder(MODELS[0], **options)
        as_shipped: LocalOptions = {**options, "variant": "int8"}
        self._second = LocalEmbedder(MODELS[1], **as_shipped)

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> PairedEmbedder:
        return cls(name.partition(":")[2], **local_options(settings))

    @property
    def name(self) -> str:
        return f"pair:{'+'.join(MODELS)}"

    @property
    def fingerprint(self) -> str:
        return f"pair/{SHARES[0]}/{self._first.fingerprint}/{self._second.fingerprint}"

    @property
    def dimensions(self) -> int:
        return self._first.dimensions + self._second.dimensions

    @property
    def max_tokens(self) -> int:
        return min(self._first.max_tokens, self._second.max_tokens)

    def count_tokens(self, text: str) -> int:
        """Count tokens; both models have the same vocabulary."""
        return self._first.count_tokens(text)

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one unit vector per text, in the given order."""
        both = [
            each.embed(texts, role=role) * math.sqrt(share) for each, share in zip(self._models, SHARES, strict=True)
        ]
        return unit_rows(np.concatenate(both, axis=1))

    @property
    def _models(self) -> tuple[LocalEmbedder, LocalEmbedder]:
        return self._first, self._second
