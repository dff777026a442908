"""Hits in the order a reranker gives them, if it gives it in time; else as they were, and said so."""

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
    """Scores hits for a question; higher is better. One file per way; the deadline is kept around it."""

    @property
    def name(self) -> str:
        """`provider:model`, as in the settings."""
        ...

    def score(self, question: str, hits: Sequence[Hit], *, deadline: Deadline) -> Sequence[float]: ...


@dataclass(frozen=True, slots=True)
class Reranked:
    """The hits, and what became of the reranking."""

    hits: tuple[Hit, ...]
    leg: Leg


def rerank(reranker: Reranker, question: str, hits: Sequence[Hit], *, seconds: float, pool: Executor) -> Reranked:
    """The hits by the reranker's score. Late, failing or senseless scores leave the order as it was."""
    began = time.perf_counter()
    if len(hits) < 2:
        return Reranked(tuple(hits), Leg("skipped", "there was nothing to reorder"))
    running = pool.submit(copy_context().run, reranker.score, question, hits, deadline=Deadline(seconds))
    try:
        scores = list(running.result(timeout=seconds))
    except TooLate:
        running.cancel()
        return _keep_order(hits, f"{reranker.name} took longer than {seconds:g} s", began)
    except FootnotesError as error:
        return _keep_order(hits, f"{error.message} ({error.code})", began)
    if len(scores) != len(hits) or not all(math.isfinite(score) for score in scores):
        return _keep_order(hits, f"{reranker.name} gave scores that cannot be used", began)
    ordered = sorted(zip(hits, scores, strict=True), key=lambda pair: -pair[1])
    return Reranked(tuple(_score(hit, score) for hit, score in ordered), Leg("ok", None, _milliseconds(began)))


def few_per_document(hits: Sequence[Hit], per_document: int, limit: int) -> tuple[Hit, ...]:
    """The first hits, at most so many of any document, or as many as its length allows."""
    per_document = per_document or usual_chunks([hit.total for hit in hits[:limit]])
    given: dict[str, int] = {}
    kept: list[Hit] = []
    for hit in hits:
        given[hit.document_id] = given.get(hit.document_id, 0) + 1
        if given[hit.document_id] <= most_chunks(per_document, hit.total):
            kept.append(hit)
    return tuple(kept[:limit])


def _score(hit: Hit, score: float) -> Hit:
    return replace(hit, score=float(score), scores=replace(hit.scores, rerank=float(score)))


def _keep_order(hits: Sequence[Hit], reason: str, began: float) -> Reranked:
    return Reranked(tuple(hits), Leg("failed", reason, _milliseconds(began)))


def _milliseconds(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
