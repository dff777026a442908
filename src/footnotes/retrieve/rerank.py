"""Reorders hits with a reranker. If it fails or is late, the order stays and the result says so."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from concurrent.futures import TimeoutError as TooLate
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import Protocol

from footnotes.errors import FootnotesError
from footnotes.remote.deadline import Deadline
from footnotes.retrieve.diversify import most_chunks, usual_chunks
from footnotes.types import Hit, Leg


class Reranker(Protocol):
    """Scores hits for a question; higher is better. One file per provider; the deadline is enforced around it."""

    @property
    def name(self) -> str:
        """`provider:model`, as in the settings."""
        ...

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits, and how the reranking went."""

    hits: tuple[Hit, ...]
    leg: Leg


def rerank(reranker: Reranker, question: str, hits: Sequence[Hit], *, seconds: float, pool: Executor) -> Reranked:
    """Sort hits by the reranker's score. Keep the order if scores are late, missing or invalid."""
    start = time.perf_counter()
    if len(hits) < 2:
        return Reranked(tuple(hits), Leg("skipped", "there was nothing to reorder"))
    running = pool.submit(copy_context().run, reranker.score, question, hits, deadline=Deadline(seconds))
    try:
        scores = list(running.result(timeout=seconds))
    except TooLate:
        running.cancel()
        return _keep_order(hits, f"{reranker.name} took longer than {seconds:g} s", start)
    except FootnotesError as error:
        return _keep_order(hits, f"{error.message} ({error.code})", start)
    if len(scores) != len(hits) or not all(math.isfinite(score) for score in scores):
        return _keep_order(hits, f"{reranker.name} gave scores that cannot be used", start)
    ordered = sorted(zip(hits, scores, strict=True), key=lambda pair: -pair[1])
    return Reranked(tuple(_score(hit, score) for hit, score in ordered), Leg("ok", None, _milliseconds(start)))


def few_per_document(hits: Sequence[Hit], per_document: int, limit: int) -> tuple[Hit, ...]:
    """Return the first hits, limited per document to the given number or, if that is 0, by its length."""
    per_document = per_document or usual_chunks([hit.total for hit in hits[:limit]])
    counts: dict[str, int] = {}
    selected: list[Hit] = []
    for hit in hits:
        counts[hit.document_id] = counts.get(hit.document_id, 0) + 1
        if counts[hit.document_id] <= most_chunks(per_document, hit.total):
            selected.append(hit)
    return tuple(selected[:limit])


def _score(hit: Hit, score: float) -> Hit:
    return replace(hit, score=float(score), scores=replace(hit.scores, rerank=float(score)))


def _keep_order(hits: Sequence[Hit], reason: str, start: float) -> Reranked:
    return Reranked(tuple(hits), Leg("failed", reason, _milliseconds(start)))


def _milliseconds(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)
