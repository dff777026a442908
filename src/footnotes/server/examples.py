"""Examples for /openapi.json, built from the schemas: one small library, a handbook with a notice period."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_SENTENCE = "After that the notice period is three months."
_DOCUMENT, _CHUNK, _JOB = "d5b0f3a91c2e47d8", "c81e728d9d4c2f63", "job_5f2b1c9e0a7d4e83"
_MOMENT = "2026-11-16T09:30:00.000+00:00"
_SAMPLES: dict[str, Any] = {
    "answer": _SENTENCE, "answer_span": [0, 45], "boxes": [[0.12, 0.31, 0.64, 0.33]], "bytes": 412,
    "by_status": {"ready": 1}, "characters": 412, "checks": {"intake": True, "database": True}, "chunk_id": _CHUNK,
    "chunks": 4, "collection": "default", "configured_embedder": "local:minilm-l6", "content": _SENTENCE,
    "created": 1794821400, "created_at": _MOMENT, "deleted": [_DOCUMENT], "dimensions": 384, "disk_bytes": 262144,
    "doc_id": _DOCUMENT, "document_id": _DOCUMENT, "documents": 1, "embedder": "local:minilm-l6",
    "embedding": [0.031, -0.058, 0.012], "embedding_dim": 384, "embedding_model": "local:minilm-l6", "end": 157,
    "end_offset": 157, "error": None, "expires_at": None, "file_hash": "9f86d081884c7d659a2feaa0c55ad015",
    "finish_reason": "stop",
    "filename": "handbook.md", "final_answer": _SENTENCE, "fused": 0.91, "generation": 1, "heading": "Notice",
    "headings": ["Handbook", "Notice"], "height": 1414, "id": _DOCUMENT,
    "ingestion_version": "1/markdown-1/passages-1/local", "key": "fn_0f3a91c2e47d_(shown here and never again)",
    "kind": "answer", "language": "en", "limit": 10000,
    "legs": {"lexical": {"status": "ok", "reason": None, "ms": 0.9}},
    "lines": [3, 3], "marker": 1, "metadata": {"year": 2026}, "mime": "text/markdown", "model": "extractive", "ms": 0.9,
    "near_duplicate_of": None, "next_offset": None, "page": None, "pages": None, "prefix": "Handbook > Notice",
    "query": "How long is the notice period?", "question": "How long is the notice period?", "quote": _SENTENCE,
    "rank": 1, "reason": "", "remaining": 9999, "request_id": "5f2b1c9e0a7d", "reset": _MOMENT, "resetDate": _MOMENT,
    "revoked_at": None, "rrf_score": 0.0328, "scopes": ["read", "write"], "score": 0.91, "similarity": 0.63,
    "source": "upload:handbook.md", "stage": None, "start": 112, "start_offset": 112, "state": "ready",
    "status": "ready", "store": "sqlite", "support": 1.0, "tenant": "local", "text": _SENTENCE, "text_score": 7.2,
    "title": "Handbook", "tokens": 18, "took_ms": 8.4, "total": 4, "type": "thought", "unsupported": [],
    "uncertain": [],
    "updated_at": _MOMENT, "used": 1, "user": "local", "vector_score": 0.63, "version": "0.1.0", "width": 1000,
}  # fmt: skip
"""By the name of a field, used if it fits the type of the field."""
_EMPTY: dict[str, Any] = {"string": "", "integer": 0, "number": 0.0, "boolean": False, "null": None, "object": {}}
_PYTHON: dict[str, Any] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
    "array": list,
}

JOB_EVENT = 'event: job\ndata: {"id":"' + _JOB + '","state":"running","stage":"embedding","done":64,"total":400}\n\n'
ANSWER_EVENTS = (
    'event: token\ndata: {"type":"token","text":"After that the notice period is three months."}\n\n'
    'event: done\ndata: {"type":"done","answer":{"answer":"After that the notice period is three months."}}\n\n'
)
CHAT_EVENTS = (
    'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"After"}}]}\n\ndata: [DONE]\n\n'
)
METRICS = '# TYPE footnotes_searches_total counter\nfootnotes_searches_total{leg="dense",status="ok"} 12.0\n'


def example(schema: Schema, known: Mapping[str, Schema], name: str = "") -> object:
    """Build a value that fits a schema: its required fields, and those with their own example."""
    if "$ref" in schema:
        return example(known[schema["$ref"].rpartition("/")[2]], known, name)
    if schema.get("examples"):
        return schema["examples"][0]
    if name in _SAMPLES and _fits(_SAMPLES[name], schema):
        return _SAMPLES[name]
    if "anyOf" in schema:
        return example(schema["anyOf"][0], known, name)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "properties" in schema:
        properties = {key: one for key, one in schema["properties"].items() if _is_shown(key, schema)}
        return {key: example(one, known, key) for key, one in properties.items()}
    if schema.get("type") == "array":
        return [example(one, known) for one in schema.get("prefixItems", [schema.get("items", {})])]
    return _EMPTY.get(schema.get("type", "null"))


def _is_shown(key: str, schema: Schema) -> bool:
    return key in schema.get("required", ()) or bool(schema["properties"][key].get("examples"))


def _fits(value: object, schema: Schema) -> bool:
    if "anyOf" in schema:
        return any(_fits(value, one) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kind = schema.get("type")
    if isinstance(value, dict):
        return kind == "object" and "properties" not in schema
    if isinstance(value, bool) and kind != "boolean":
        return False
    return (kind is None and "$ref" not in schema) or (kind in _PYTHON and isinstance(value, _PYTHON[kind]))
