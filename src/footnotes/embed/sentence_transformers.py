"""Any model of the package sentence-transformers, by name or path. An extra: it installs torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np

from footnotes.embed import Matrix
from footnotes.errors import ConfigError, MissingExtra
from footnotes.settings import Settings
from footnotes.types import Role


class SentenceTransformersEmbedder:
    """The first text loads the model. Uses the model's own prompts for questions and passages, if it has them."""

    def __init__(self, model: str) -> None:
        if not model:
            raise ConfigError("the model is not named", remedy="Write it as sentence-transformers:name-or-path.")
        self._model = model
        self._loading = Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> SentenceTransformersEmbedder:
        return cls(name.partition(":")[2])

    @property
    def name(self) -> str:
        return f"sentence-transformers:{self._model}"

    @property
    def fingerprint(self) -> str:
        return f"sentence-transformers:{Path(self._model).name}/{self.dimensions}/{self.max_tokens}"

    @property
    def dimensions(self) -> int:
        return int(self._loaded.get_sentence_embedding_dimension())

    @property
    def max_tokens(self) -> int:
        return int(self._loaded.max_seq_length or 512)

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        prompt = role if role in (self._loaded.prompts or {}) else None
        vectors = self._loaded.encode(
            list(texts), prompt_name=prompt, normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)

    @property
    def _loaded(self) -> Any:
        with self._loading:
            return self._transformer

    @cached_property
    def _transformer(self) -> object:
        try:
            from sentence_transformers import SentenceTransformer
        except ModuleNotFoundError as error:
            raise MissingExtra(
                "sentence-transformers models need the package of that name, which is not installed",
                remedy='pip install "footnotes[sentence-transformers]"',
            ) from error
        return SentenceTransformer(self._model)
