"""A deterministic embedder without a model: texts that share words are near. For tests and benchmarks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from zlib import crc32

import numpy as np

from footnotes.embed import Matrix
from footnotes.types import Role

_WORDS = re.compile(r"\w+")


class HashingEmbedder:
    """A bag of words, each word a fixed random direction drawn from its hash.

    `calls` and `texts` count the work, so a test can show that nothing was embedded twice.
    """

    def __init__(self, model: str = "", *, dimensions: int = 64, max_tokens: int = 256) -> None:
        self._dimensions = int(model) if model else dimensions
        self._max_tokens = max_tokens
        self.calls = 0
        self.texts = 0

    @property
    def name(self) -> str:
        return f"hashing:{self._dimensions}"

    @property
    def fingerprint(self) -> str:
        return f"hashing/1/{self._max_tokens}/{self._dimensions}"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    @property
    def max_tokens(self) -> int:
        return self._max_tokens

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        self.calls += 1
        self.texts += len(texts)
        vectors = np.zeros((len(texts), self._dimensions), dtype=np.float32)
        for row, text in enumerate(texts):
            words = _WORDS.findall(text.lower())[: self._max_tokens]
            for word in words or [""]:
                vectors[row] += _direction(word, self._dimensions)
        unit: Matrix = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return unit


@lru_cache(maxsize=100_000)
def _direction(word: str, dimensions: int) -> Matrix:
    """The word's own direction: the same on every machine and in every process."""
    generator = np.random.default_rng(crc32(word.encode("utf-8", "surrogatepass")))
    return generator.standard_normal(dimensions, dtype=np.float32)
