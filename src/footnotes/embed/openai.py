"""Embeddings of any server that speaks OpenAI's interface: OpenAI, Azure, vLLM, llama.cpp, Ollama, Gemini …"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.checked import with_retries
from footnotes.errors import ConfigError, ProviderBadResponse
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.presets import endpoint_for
from footnotes.settings import Settings
from footnotes.types import Role

MAX_TOKENS = 8_191
CHARACTERS_A_TOKEN = 6
"""More characters than this for each token are never sent: the model would cut them, or refuse."""

_DIMENSIONS = {
    "text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "gemini-embedding-001": 3072,
}  # fmt: skip
_PREFIXES = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
    ("e5-", "query: ", "passage: "),
)
"""Models that must be told whether a text is a question or a passage: part of the name, and the two prefixes."""


PROBE_ATTEMPTS = 3


class OpenAIEmbedder:
    """One embedding model of a server. Tries once: retries, batches and checks are wrapped around it."""

    is_remote = True

    def __init__(
        self, provider: str, model: str, endpoint: Endpoint, *, dimensions: int = 0, query_seconds: float = 10.0
    ) -> None:
        if not model:
            raise ConfigError(
                f"the embedding model of {provider} is not named", remedy=f"Write it as {provider}:model."
            )
        self._provider, self._model = provider, model
        self._remote = Remote(endpoint)
        self._asked_dimensions = dimensions
        self._query_seconds = query_seconds
        self._probing = Lock()

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> OpenAIEmbedder:
        provider, _, model = name.partition(":")
        endpoint = endpoint_for(provider, settings, attempts=1)
        dimensions, seconds = settings.embedder_dimensions, settings.embed_query_seconds
        return cls(provider, model, endpoint, dimensions=dimensions, query_seconds=seconds)

    @property
    def name(self) -> str:
        return f"{self._provider}:{self._model}"

    @property
    def fingerprint(self) -> str:
        """Provider, model and dimensions. The same model behind another address gives the same vectors."""
        return f"{self.name}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        with self._probing:
            return self._dimensions

    @cached_property
    def _dimensions(self) -> int:
        """What was asked for or is known of the model; else one text is embedded to see."""
        known = self._asked_dimensions or _DIMENSIONS.get(self._model.partition(":")[0], 0)
        return known or int(with_retries(self, ["dimensions"], "passage", attempts=PROBE_ATTEMPTS).shape[1])

    def expect_dimensions(self, dimensions: int) -> None:
        """A library has vectors of this model already: it need not be asked how many dimensions they have."""
        vars(self).setdefault("_dimensions", dimensions)

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """One vector a text, in the order given, whatever order they come back in."""
        body: dict[str, Any] = {"model": self._model, "input": [self._format(text, role) for text in texts]}
        if self._asked_dimensions:
            body["dimensions"] = self._asked_dimensions
        seconds = self._query_seconds if role == "query" else self._remote.endpoint.timeout
        answer = self._remote.post("embeddings", body, deadline=Deadline(seconds))
        return vectors_in(self._remote.endpoint.provider, answer, len(texts))

    def close(self) -> None:
        self._remote.close()

    def _format(self, text: str, role: Role) -> str:
        cut = text[: MAX_TOKENS * CHARACTERS_A_TOKEN] or " "
        for part, for_query, for_passage in _PREFIXES:
            if part in self._model:
                return (for_query if role == "query" else for_passage) + cut
        return cut


def vectors_in(provider: str, answer: Any, count: int) -> Matrix:
    """The vectors of an answer by their index. Too few, too many or the same one twice are refused."""
    listed = answer.get("data") if isinstance(answer, dict) else None
    items = [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    by_index = {item.get("index", place): item.get("embedding") for place, item in enumerate(items)}
    if len(items) != count or set(by_index) != set(range(count)):
        raise ProviderBadResponse(f"{provider} gave {len(items)} vectors for {count} texts")
    return as_matrix(provider, [by_index[index] for index in range(count)])


def as_matrix(provider: str, rows: Sequence[Any]) -> Matrix:
    """Rows of numbers as a matrix; what is no such thing is refused. Values are checked by the caller."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.asarray(rows, dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise ProviderBadResponse(f"{provider} gave vectors that are no rows of numbers") from error
    if matrix.ndim != 2:
        raise ProviderBadResponse(f"{provider} gave vectors of different lengths")
    return matrix
