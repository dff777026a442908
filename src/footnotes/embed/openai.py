"""Embeddings of any server with OpenAI's interface: OpenAI, Azure, vLLM, llama.cpp, Ollama, Gemini …"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import Lock

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
"""The most characters sent per token of the limit: the model would cut or reject more."""

_DIMENSIONS = {
    "text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536,
    "nomic-embed-text": 768, "mxbai-embed-large": 1024, "all-minilm": 384, "gemini-embedding-001": 3072,
}  # fmt: skip
_PREFIXES = (
    ("nomic-embed-text", "search_query: ", "search_document: "),
    ("mxbai-embed-large", "Represent this sentence for searching relevant passages: ", ""),
    ("e5-", "query: ", "passage: "),
)
"""Models that need a prefix for questions or passages: part of the name, and the two prefixes."""


PROBE_ATTEMPTS = 3


class OpenAIEmbedder:
    """One embedding model of a server. Makes one attempt: retries, batches and checks are wrapped around it."""

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
        """Provider, model and dimensions. The same model at another address gives the same vectors."""
        return f"{self.name}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        with self._probing:
            return self._dimensions

    @cached_property
    def _dimensions(self) -> int:
        """The dimensions from the settings or known for the model; otherwise found by embedding one text."""
        dimensions = self._asked_dimensions or _DIMENSIONS.get(self._model.partition(":")[0], 0)
        return dimensions or int(with_retries(self, ["dimensions"], "passage", attempts=PROBE_ATTEMPTS).shape[1])

    def expect_dimensions(self, dimensions: int) -> None:
        """Take the dimensions of the library's existing vectors, so that the model need not be asked."""
        vars(self).setdefault("_dimensions", dimensions)

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one vector per text in the given order, whatever order the server uses."""
        body: dict[str, object] = {"model": self._model, "input": [self._format(text, role) for text in texts]}
        if self._asked_dimensions:
            body["dimensions"] = self._asked_dimensions
        seconds = self._query_seconds if role == "query" else self._remote.endpoint.timeout
        answer = self._remote.post("embeddings", body, deadline=Deadline(seconds))
        return vectors_in(self._remote.endpoint.provider, answer, len(texts))

    def close(self) -> None:
        self._remote.close()

    def _format(self, text: str, role: Role) -> str:
        prefix = text[: MAX_TOKENS * CHARACTERS_A_TOKEN] or " "
        for part, for_query, for_passage in _PREFIXES:
            if part in self._model:
                return (for_query if role == "query" else for_passage) + prefix
        return prefix


def vectors_in(provider: str, answer: object, count: int) -> Matrix:
    """Return the vectors of a response, sorted by index. Raises on missing, extra or repeated vectors."""
    data = answer.get("data") if isinstance(answer, dict) else None
    items = [item for item in data if isinstance(item, dict)] if isinstance(data, list) else []
    by_index = {item.get("index", place): item.get("embedding") for place, item in enumerate(items)}
    if len(items) != count or set(by_index) != set(range(count)):
        raise ProviderBadResponse(f"{provider} gave {len(items)} vectors for {count} texts")
    return as_matrix(provider, [by_index[index] for index in range(count)])


def as_matrix(provider: str, rows: Sequence[object]) -> Matrix:
    """Convert rows of numbers to a matrix. Raises on anything else. The caller checks the values."""
    try:
        with np.errstate(over="ignore"):
            matrix = np.asarray(rows, dtype=np.float64).astype(np.float32)
    except (ValueError, TypeError, OverflowError) as error:
        raise ProviderBadResponse(f"{provider} gave vectors that are no rows of numbers") from error
    if matrix.ndim != 2:
        raise ProviderBadResponse(f"{provider} gave vectors of different lengths")
    return matrix
