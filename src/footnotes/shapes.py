"""The shapes of every output: what `--json` prints and the server sends. A contract, tested."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from footnotes.types import (
    Added,
    Answer,
    Chunk,
    Citation,
    Document,
    ErrorInfo,
    Event,
    Followed,
    Hit,
    Job,
    JsonValue,
    Leg,
    LegScore,
    NearDuplicate,
    SearchResult,
    Synced,
)


def error_shape(error: ErrorInfo | None) -> dict[str, str] | None:
    return None if error is None else asdict(error)


def added_shape(added: Iterable[Added], took_ms: float) -> dict[str, Any]:
    return {"documents": [_added(one) for one in added], "took_ms": round(took_ms, 1)}


def _added(one: Added) -> dict[str, Any]:
    return {
        "path": one.path,
        "document_id": one.document_id,
        "status": one.status,
        "chunks": one.chunks,
        "error": error_shape(one.error),
        "warnings": list(one.warnings),
        "near_duplicate_of": near_shape(one.near_duplicate_of),
    }


def job_shape(job: Job, stalled_seconds: int | None) -> dict[str, Any]:
    return {
        "job": job.number,
        "run": job.run,
        "kind": job.kind,
        "source": job.source,
        "stage": job.stage,
        "done": job.done,
        "total": job.total,
        "attempts": job.attempts,
        "error": error_shape(job.error),
        "retryable": job.retryable,
        "document_id": job.document_id,
        "holder": job.holder or None,
        "stalled_seconds": stalled_seconds,
        "created_at": job.created_at,
        "updated_at": job.updated_at,
    }


def near_shape(near: NearDuplicate | None) -> dict[str, Any] | None:
    return None if near is None else asdict(near)


def synced_shape(done: Synced) -> dict[str, Any]:
    return {
        "folder": done.folder,
        "documents": [followed_shape(file) for file in done.files],
        "counts": dict(done.counts),
        "dry_run": done.dry_run,
        "took_ms": round(done.took_ms, 1),
    }


def followed_shape(file: Followed) -> dict[str, Any]:
    return {
        "path": file.path,
        "document_id": file.document_id,
        "status": file.status,
        "chunks": file.chunks,
        "renamed_from": file.before,
        "error": error_shape(file.error),
        "warnings": list(file.warnings),
    }


def search_shape(result: SearchResult) -> dict[str, Any]:
    return {
        "query": result.query,
        "hits": [hit_shape(hit) for hit in result.hits],
        "legs": legs_shape(result.legs),
        "degraded": result.degraded,
        "expanded": list(result.expanded),
        "took_ms": result.took_ms,
    }


def hit_shape(hit: Hit) -> dict[str, Any]:
    return {
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
        "filename": hit.filename,
        "title": hit.title,
        "collection": hit.collection,
        "text": hit.text,
        "start": hit.start,
        "end": hit.end,
        "pages": list(hit.pages) if hit.pages else None,
        "heading": hit.headings[-1] if hit.headings else None,
        "headings": list(hit.headings),
        "lines": list(hit.lines) if hit.lines else None,
        "index": hit.index,
        "total": hit.total,
        "language": hit.metadata.get("language"),
        "metadata": dict(hit.metadata),
        "score": hit.score,
        "scores": {
            "lexical": _leg_score(hit.scores.lexical),
            "dense": _leg_score(hit.scores.dense),
            "fused": hit.scores.fused,
            "rerank": hit.scores.rerank,
            "boost": hit.scores.boost,
            "reason": hit.scores.reason,
        },
    }


def _leg_score(score: LegScore | None) -> dict[str, Any] | None:
    return None if score is None else {"rank": score.rank, "score": score.score}


def legs_shape(legs: Mapping[str, Leg]) -> dict[str, Any]:
    return {name: {"status": leg.status, "reason": leg.reason, "ms": leg.ms} for name, leg in legs.items()}


def answer_shape(answer: Answer) -> dict[str, Any]:
    return {
        "question": answer.question,
        "answer": answer.answer,
        "kind": answer.kind,
        "abstained": answer.abstained,
        "citations": [citation_shape(citation) for citation in answer.citations],
        "unsupported": [list(span) for span in answer.unsupported],
        "uncertain": [list(span) for span in answer.uncertain],
        "hits": [hit_shape(hit) for hit in answer.hits],
        "model": answer.model,
        "usage": asdict(answer.usage),
        "steps": [asdict(step) for step in answer.steps],
        "legs": legs_shape(answer.legs),
        "degraded": answer.degraded,
        "incomplete": answer.incomplete,
        "ungrounded": answer.ungrounded,
        "prompt": answer.prompt,
        "request_id": answer.request_id,
        "log": list(answer.log),
        "took_ms": round(answer.took_ms, 3),
    }


def event_shape(event: Event) -> dict[str, Any]:
    """`type` and the one thing the event carries, under its own name."""
    parts: dict[str, Any] = {
        "step": lambda: asdict(event.step) if event.step else None,
        "hits": lambda: [hit_shape(hit) for hit in event.hits],
        "token": lambda: event.text,
        "citation": lambda: citation_shape(event.citation) if event.citation else None,
        "usage": lambda: asdict(event.usage) if event.usage else None,
        "done": lambda: answer_shape(event.answer) if event.answer else None,
        "error": lambda: error_shape(event.error),
    }
    name = {"token": "text", "done": "answer"}.get(event.type, event.type)
    shape = {"type": event.type, name: parts[event.type]()}
    if event.type == "error" and event.answer:
        shape["answer"] = answer_shape(event.answer)
    return shape


def citation_shape(citation: Citation) -> dict[str, Any]:
    lines = list(citation.lines) if citation.lines else None
    return {**asdict(citation), "answer_span": list(citation.answer_span), "lines": lines}


def document_shape(document: Document, near: NearDuplicate | None = None) -> dict[str, Any]:
    shape = {"document_id": document.id, **asdict(document)}
    shape["warnings"] = list(document.warnings)
    shape["near_duplicate_of"] = near_shape(near)
    return shape


def chunk_shape(chunk: Chunk, language: JsonValue = None) -> dict[str, Any]:
    """A chunk; `language` is that of its document, where it has none of its own."""
    shape = asdict(chunk)
    shape["pages"] = list(chunk.pages) if chunk.pages else None
    shape["headings"] = list(chunk.headings)
    shape["lines"] = list(chunk.lines) if chunk.lines else None
    shape["language"] = chunk.metadata.get("language", language)
    return shape
