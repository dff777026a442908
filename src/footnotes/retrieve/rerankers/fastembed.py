"""Rerankers of the package fastembed: cross-encoders, and late interaction with models such as ColBERT. An extra."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from fastembed import LateInteractionTextEmbedding
from fastembed.rerank.cross_encoder import TextCrossEncoder

from footnotes.embed.fastembed import find_listed, load_model
from footnotes.embed.session import cores
from footnotes.errors import ConfigError, ProviderTimeout
from footnotes.remote.deadline import Deadline
from footnotes.retrieve.rerank import Reranker
from footnotes.types import Hit

DEFAULT_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
BATCH = 8


def make(model: str, parts: Any) -> Reranker:
    """Build the named reranker: a cross-encoder or a late-interaction model, whichever list has the name."""
    model_name, settings = model or DEFAULT_MODEL, parts.settings
    options = (model_name, settings.models_dir, settings.embedder_threads or cores())
    late = {one["model"].lower() for one in LateInteractionTextEmbedding.list_supported_models()}
    if model_name.lower() in late:
        return FastEmbedLateReranker(*options)
    try:
        find_listed(TextCrossEncoder, model_name)
    except ConfigError as error:
        remedy = f"{error.remedy} For late interaction it has {', '.join(sorted(late))}."
        raise ConfigError(error.message, remedy=remedy) from error
    return FastEmbedReranker(*options)


class _FastEmbed(ABC):
    kind: object

    def __init__(self, model: str, cache: str, threads: int) -> None:
        self._model, self._cache, self._threads = model, cache, threads

    @property
    def name(self) -> str:
        return f"fastembed:{self._model}"

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        model, scores = self._loaded, list[float]()
        for start in range(0, len(hits), BATCH):
            if deadline.over:
                raise ProviderTimeout("reranking did not finish in time")
            scores += self._score(model, question, [hit.text or " " for hit in hits[start : start + BATCH]])
        return scores

    @abstractmethod
    def _score(self, model: object, question: str, texts: list[str]) -> list[float]: ...

    @cached_property
    def _loaded(self) -> object:
        return load_model(self.kind, self._model, self._cache, self._threads)


class FastEmbedReranker(_FastEmbed):
    """Reads question and passage together and returns one score."""

    kind = TextCrossEncoder

    def _score(self, model: Any, question: str, texts: list[str]) -> list[float]:
        return [float(score) for score in model.rerank(question, texts, batch_size=BATCH)]


class FastEmbedLateReranker(_FastEmbed):
    """The sum over the question's tokens of the best similarity in the passage (Khattab and Zaharia, ColBERT, 2020)."""

    kind = LateInteractionTextEmbedding

    def _score(self, model: Any, question: str, texts: list[str]) -> list[float]:
        (query,) = (np.asarray(one) for one in model.query_embed(question))
        passages = (np.asarray(one) for one in model.passage_embed(texts))
        return [float((query @ passage.T).max(axis=1).sum()) for passage in passages]
