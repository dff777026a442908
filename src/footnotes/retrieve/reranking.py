"""Builds rerankers and applies them to search results, in a thread pool of its own."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from footnotes import tracing
from footnotes.errors import EmbedderUnavailable
from footnotes.retrieve.rerank import Reranked, Reranker, few_per_document, rerank
from footnotes.retrieve.rerankers.make import Parts, make_reranker
from footnotes.settings import Settings
from footnotes.types import Leg, SearchResult


class Reranking:
    """Builds each reranker once. A reranker that hangs blocks a thread of this pool, but no search."""

    def __init__(self, settings: Settings, parts: Parts) -> None:
        self._settings, self._parts = settings, parts
        self._rerankers: dict[str, Reranker] = {}
        self._guard = threading.Lock()
        self._pool = ThreadPoolExecutor(max_workers=4, thread_name_prefix="footnotes-rerank")

    def apply(self, name: str, found: SearchResult, *, per_document: int, limit: int) -> SearchResult:
        """Return the hits in the reranker's order, or unchanged if it failed or was late."""
        seconds = self._settings.rerank_seconds
        with tracing.span("rerank", reranker=name, hits=len(found.hits)):
            try:
                reranker = self._reranker(name)
            except EmbedderUnavailable as error:  # its weights are missing: the search still answers, and says so
                outcome = Reranked(found.hits, Leg("failed", f"{error.message}. {error.remedy}"))
            else:
                outcome = rerank(reranker, found.query, found.hits, seconds=seconds, pool=self._pool)
        return replace(
            found,
            hits=few_per_document(outcome.hits, per_document, limit),
            legs={**found.legs, "rerank": outcome.leg},
            degraded=found.degraded or outcome.leg.status == "failed",
            took_ms=found.took_ms + outcome.leg.ms,
        )

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        for reranker in self._rerankers.values():
            if callable(close := getattr(reranker, "close", None)):
                close()

    def _reranker(self, name: str) -> Reranker:
        with self._guard:
            if name not in self._rerankers:
                self._rerankers[name] = make_reranker(name, self._parts)
            return self._rerankers[name]
