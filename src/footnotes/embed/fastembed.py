"""Embedding models of the package fastembed, by name. An extra."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

import fastembed
import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.session import cores
from footnotes.errors import ConfigError, EmbedderUnavailable
from footnotes.settings import Settings
from footnotes.types import Role

DEFAULT_MODEL = "BAAI/bge-small-en-v1.5"
MAX_TOKENS = 512


class FastEmbedEmbedder:
    """One model of fastembed's list. The first text fetches its files and loads it."""

    def __init__(self, model: str, *, cache: str = "", threads: int = 0) -> None:
        self._model = model or DEFAULT_MODEL
        self._cache, self._threads = cache, threads or cores()
        self._loading = Lock()
        self._listed = find_listed(fastembed.TextEmbedding, self._model)

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> FastEmbedEmbedder:
        return cls(name.partition(":")[2], cache=settings.models_dir, threads=settings.embedder_threads)

    @property
    def name(self) -> str:
        return f"fastembed:{self._model}"

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        return int(self._listed["dim"])

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Embed texts with the package's own prefixes for questions and passages, if the model has them."""
        with self._loading:
            model = self._loaded
        embed = model.query_embed if role == "query" else model.passage_embed
        return np.asarray(list(embed([text or " " for text in texts])), dtype=np.float32)

    @cached_property
    def _loaded(self) -> Any:
        return load_model(fastembed.TextEmbedding, self._model, self._cache, self._threads)


def find_listed(kind: Any, model: str) -> dict[str, Any]:
    """Return fastembed's description of one of its models."""
    models = {one["model"].lower(): one for one in kind.list_supported_models()}
    if model.lower() not in models:
        names = ", ".join(sorted(one["model"] for one in models.values()))
        raise ConfigError(f"fastembed has no model {model!r}", remedy=f"It has {names}.")
    return dict(models[model.lower()])


def load_model(kind: Any, model: str, cache: str, threads: int) -> object:
    """Load the model from the folder of fetched models or from the hub."""
    folder = Path(cache).expanduser() / "fastembed"
    try:
        return kind(model_name=model, cache_dir=str(folder), threads=threads)
    except Exception as error:  # errors of the package and of the hub's client share no other base
        message = str(error).splitlines()[0] if str(error) else type(error).__name__
        remedy = f"Load it once where there is a network; its files are kept in {folder}, which can be copied."
        raise EmbedderUnavailable(f"{model} cannot be loaded by fastembed: {message}", remedy=remedy) from error
