"""Counters and histograms in the format of Prometheus; each server has its own registry."""

from __future__ import annotations

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from footnotes.answer.asking.memory import FROM_MEMORY
from footnotes.types import Answer, SearchResult

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


_WORKER_COUNTERS = {
    "documents": "documents", "chunks": "chunks", "jobs": "jobs", "embedding_calls": "embedding_calls",
    "embedded_texts": "embedded", "embedding_tokens": "embedding_tokens",
}  # fmt: skip
"""The metrics that workers count, by their names in the database."""


class Metrics:
    """The metrics of a server."""

    def __init__(self) -> None:
        registry = self.registry = CollectorRegistry()
        self.requests = Counter(
            "footnotes_requests", "Requests by route and status", ["method", "route", "status"], registry=registry
        )
        self.seconds = Histogram(
            "footnotes_request_seconds", "Time to the end of an answer", ["route"], registry=registry, buckets=_SECONDS
        )
        self.errors = Counter("footnotes_errors", "Errors by code", ["code"], registry=registry)
        self.searches = Counter("footnotes_searches", "Searches by leg", ["leg", "status"], registry=registry)
        self.search_seconds = Histogram(
            "footnotes_search_seconds", "Time of a search", registry=registry, buckets=_SECONDS
        )
        self.answers = Counter("footnotes_answers", "Answers by outcome", ["outcome"], registry=registry)
        self.answer_seconds = Histogram(
            "footnotes_answer_seconds", "Time of an answer", registry=registry, buckets=_SECONDS
        )
        self.tokens = Counter("footnotes_model_tokens", "Tokens of chat models", ["kind"], registry=registry)
        self.model_calls = Counter("footnotes_model_calls", "Calls to chat models", registry=registry)
        self.documents = Counter("footnotes_documents", "Documents ingested, by status", ["status"], registry=registry)
        self.chunks = Counter("footnotes_chunks", "Chunks of the ingested documents", registry=registry)
        self.embedding_calls = Counter(
            "footnotes_embedding_calls", "Calls to the embedder", ["role"], registry=registry
        )
        self.embedded = Counter("footnotes_embedded_texts", "Texts embedded", ["role"], registry=registry)
        self.embedding_tokens = Counter(
            "footnotes_embedding_tokens", "Tokens of the texts embedded", ["role"], registry=registry
        )
        self.cache_hits = Counter("footnotes_cache_hits", "Answers given from memory", registry=registry)
        self.jobs = Counter(
            "footnotes_jobs", "Jobs that ended, by kind and state", ["kind", "state"], registry=registry
        )
        self.workers = Gauge("footnotes_workers", "Workers that live and could do a job", registry=registry)
        self.queue = Gauge("footnotes_queue_depth", "Jobs that are not done", registry=registry)
        self.open_streams = Gauge("footnotes_open_streams", "Streams that are open", registry=registry)
        self.tenants = Gauge("footnotes_open_libraries", "Libraries that are open", registry=registry)

    def count_search(self, found: SearchResult) -> None:
        for name, leg in found.legs.items():
            self.searches.labels(name, leg.status).inc()
        self.search_seconds.observe(found.took_ms / 1000)

    def count_answer(self, answer: Answer) -> None:
        if any(step.text == FROM_MEMORY for step in answer.steps):
            self.cache_hits.inc()
        else:
            searches = sum(step.type == "action" and step.tool == "search" for step in answer.steps)
            for name, leg in answer.legs.items():
                self.searches.labels(name, leg.status).inc(max(searches, 1))
        broken = "incomplete" if answer.incomplete else "answered"
        self.answers.labels("abstained" if answer.abstained else broken).inc()
        self.answer_seconds.observe(answer.took_ms / 1000)
        self.tokens.labels("prompt").inc(answer.usage.prompt_tokens)
        self.tokens.labels("completion").inc(answer.usage.completion_tokens)
        self.model_calls.inc(answer.usage.model_calls)

    def count_embedding(self, count: int, role: str, tokens: int) -> None:
        self.embedding_calls.labels(role).inc()
        self.embedded.labels(role).inc(count)
        self.embedding_tokens.labels(role).inc(tokens)

    def count_document(self, status: str, chunks: int) -> None:
        self.documents.labels(status).inc()
        self.chunks.inc(chunks)

    def set_worker_counts(self, counts: Mapping[tuple[str, str], float]) -> None:
        """Set the metrics that workers count in the database."""
        for (name, label), value in counts.items():
            metric: Counter = getattr(self, _WORKER_COUNTERS[name])
            labels = label.split() if name == "jobs" else [label] if label else []
            (metric.labels(*labels) if labels else metric)._value.set(value)

    def text(self) -> bytes:
        return generate_latest(self.registry)
