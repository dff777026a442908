"""Any server with a `/rerank` endpoint: Cohere, Jina, llama.cpp and vLLM take documents, TEI takes texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from footnotes.errors import ProviderBadResponse, ProviderRefused
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.types import Hit

MAX_CHARACTERS = 8_000
"""Longer passages are cut; rerankers cut them anyway."""


class ServerReranker:
    """One model behind a `/rerank` endpoint. The first call finds out which of the two formats it uses."""

    def __init__(self, name: str, endpoint: Endpoint, *, model: str = "", path: str = "rerank") -> None:
        self._name, self._model, self._path = name, model, path
        self._remote = Remote(endpoint)
        self._texts = False

    @property
    def name(self) -> str:
        return self._name

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> list[float]:
        passages = [hit.text[:MAX_CHARACTERS] for hit in hits]
        try:
            answer = self._ask(question, passages, deadline)
        except ProviderRefused:
            if self._texts:
                raise
            self._texts = True
            answer = self._ask(question, passages, deadline)
        return scores_in(answer, len(hits), self._remote.endpoint.provider)

    def close(self) -> None:
        self._remote.close()

    def _ask(self, question: str, passages: list[str], deadline: Deadline) -> object:
        body: dict[str, object] = {"query": question}
        body |= {"texts": passages} if self._texts else {"documents": passages, "top_n": len(passages)}
        if self._model:
            body["model"] = self._model
        return self._remote.post(self._path, body, deadline=deadline)


def scores_in(answer: Any, count: int, provider: str) -> list[float]:
    """Return one score per passage in the order sent, whatever order the server uses."""
    results = answer if isinstance(answer, list) else answer.get("results") or answer.get("data")
    scores: dict[int, float] = {}
    for item in results if isinstance(results, list) else ():
        index, score = item.get("index"), item.get("relevance_score", item.get("score"))
        if isinstance(index, int) and isinstance(score, (int, float)):
            scores[index] = float(score)
    if set(scores) != set(range(count)):
        raise ProviderBadResponse(f"{provider} gave {len(scores)} scores for {count} passages")
    return [scores[index] for index in range(count)]
