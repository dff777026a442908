"""Embeddings of Cohere, whose API takes the role: question or passage."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.embed import Matrix
from footnotes.embed.openai import CHARACTERS_A_TOKEN, as_matrix
from footnotes.errors import ProviderBadResponse
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.presets import endpoint_for
from footnotes.settings import Settings
from footnotes.types import Role

DEFAULT_MODEL = "embed-v4.0"
MAX_TOKENS = 512
_DIMENSIONS = {"embed-v4.0": 1536, "embed-english-light-v3.0": 384, "embed-multilingual-light-v3.0": 384}
_OTHERS = 1024
_INPUT_TYPES = {"query": "search_query", "passage": "search_document"}


class CohereEmbedder:
    """One embedding model of Cohere. Makes one attempt: retries, batches and checks are wrapped around it."""

    is_remote = True

    def __init__(self, model: str, endpoint: Endpoint, *, query_seconds: float = 10.0) -> None:
        self._model = model or DEFAULT_MODEL
        self._remote = Remote(endpoint)
        self._query_seconds = query_seconds

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> CohereEmbedder:
        endpoint = endpoint_for("cohere", settings, attempts=1, native=True)
        return cls(name.partition(":")[2], endpoint, query_seconds=settings.embed_query_seconds)

    @property
    def name(self) -> str:
        return f"cohere:{self._model}"

    @property
    def fingerprint(self) -> str:
        return f"{self.name}/{self.dimensions}"

    @property
    def dimensions(self) -> int:
        return _DIMENSIONS.get(self._model, _OTHERS)

    @property
    def max_tokens(self) -> int:
        return MAX_TOKENS

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        """Return one vector per text, in the given order."""
        body: dict[str, object] = {
            "model": self._model,
            "texts": [text[: 4 * MAX_TOKENS * CHARACTERS_A_TOKEN] or " " for text in texts],
            "input_type": _INPUT_TYPES[role],
            "embedding_types": ["float"],
        }
        seconds = self._query_seconds if role == "query" else self._remote.endpoint.timeout
        answer = self._remote.post("v2/embed", body, deadline=Deadline(seconds))
        return self._vectors(answer, len(texts))

    def close(self) -> None:
        self._remote.close()

    def _vectors(self, answer: object, count: int) -> Matrix:
        found = answer.get("embeddings") if isinstance(answer, dict) else None
        rows = found.get("float") if isinstance(found, dict) else None
        if not isinstance(rows, list) or len(rows) != count:
            actual = len(rows) if isinstance(rows, list) else 0
            raise ProviderBadResponse(f"Cohere gave {actual} vectors for {count} texts")
        return as_matrix("Cohere", rows)
