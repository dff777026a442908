"""Rerankers of the package fastembed: cross-encoders, and late interaction over models such as ColBERT. An extra."""

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
    """The reranker of a name: a cross-encoder, or a late-interaction model, whichever list it is in."""
    chosen, settings = model or DEFAULT_MODEL, parts.settings
    options = (chosen, settings.models_dir, settings.embedder_threads or cores())
    late = {one["model"].lower() for one in LateInteractionTextEmbedding.list_supported_models()}
    if chosen.lower() in late:
        return FastEmbedLateReranker(*options)
    try:
        find_listed(TextCrossEncoder, chosen)
    except ConfigError as error:
        remedy = f"{error.remedy} For late interaction it has {', '.join(sorted(late))}."
        raise ConfigError(error.message, remedy=remedy) from error
    return FastEmbedReranker(*options)


class _FastEmbed(ABC):
    kind: Any

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
    def _score(self, model: Any, question: str, texts: list[str]) -> list[float]: ...

    @cached_property
    def _loaded(self) -> Any:
        return load_model(self.kind, self._model, self._cache, self._threads)


class FastEmbedReranker(_FastEmbed):
    """Reads question and passage together and gives one score."""

    kind = TextCrossEncoder

    def _score(self, model: Any, question: str, texts: list[str]) -> list[float]:
        return [float(score) for score in model.rerank(question, texts, batch_size=BATCH)]


class FastEmbedLateReranker(_FastEmbed):
    """The sum over the question's tokens of the best likeness in the passage (Khattab and Zaharia, ColBERT, 2020)."""

    kind = LateInteractionTextEmbedding

    def _score(self, model: Any, question: str, texts: list[str]) -> list[float]:
        (asked,) = (np.asarray(one) for one in model.query_embed(question))
        passages = (np.asarray(one) for one in model.passage_embed(texts))
        return [float((asked @ passage.T).max(axis=1).sum()) for passage in passages]
