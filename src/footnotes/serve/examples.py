"""Examples for /openapi.json, of one small library: a handbook that says how long the notice period is."""

from __future__ import annotations

from typing import Any

_QUESTION = "How long is the notice period?"
_SENTENCE = "After that the notice period is three months."
_DOCUMENT = "d5b0f3a91c2e47d8"
_JOB = "job_5f2b1c9e0a7d4e83"
_MOMENT = "2026-11-16T09:30:00.000+00:00"
_LEGS = {
    "lexical": {"status": "ok", "reason": None, "ms": 0.9},
    "dense": {"status": "ok", "reason": None, "ms": 6.1},
}
_USAGE = {"prompt_tokens": 0, "completion_tokens": 0, "model_calls": 0}
_TOKENS = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}

_CITATION = {
    "marker": 1,
    "answer_span": [0, 45],
    "document_id": _DOCUMENT,
    "filename": "handbook.md",
    "page": None,
    "start": 112,
    "end": 157,
    "quote": _SENTENCE,
    "support": 1.0,
    "lines": [5, 5],
    "path": "",
    "commit": "",
}
_HIT = {
    "chunk_id": "c81e728d9d4c2f63",
    "document_id": _DOCUMENT,
    "filename": "handbook.md",
    "title": "Handbook",
    "collection": "default",
    "text": f"During probation it is two weeks. {_SENTENCE}",
    "start": 78,
    "end": 157,
    "pages": None,
    "heading": "Notice",
    "headings": ["Handbook", "Notice"],
    "lines": [3, 3],
    "index": 0,
    "total": 4,
    "language": "en",
    "metadata": {"year": 2026, "language": "en"},
    "score": 0.91,
    "scores": {
        "lexical": {"rank": 1, "score": 7.2},
        "dense": {"rank": 1, "score": 0.63},
        "fused": 0.91,
        "rerank": None,
        "boost": 0.0,
        "reason": "",
    },
}
_ANSWER = {
    "question": _QUESTION,
    "answer": _SENTENCE,
    "kind": "answer",
    "abstained": False,
    "citations": [_CITATION],
    "unsupported": [],
    "uncertain": [],
    "hits": [_HIT],
    "model": "extractive",
    "usage": _USAGE,
    "steps": [],
    "legs": _LEGS,
    "degraded": False,
    "incomplete": False,
    "ungrounded": False,
    "prompt": "",
    "request_id": "5f2b1c9e0a7d",
    "log": [f"asked: {_QUESTION}", "1 hits; answering with extractive"],
    "took_ms": 14.2,
}
_ONE_DOCUMENT = {
    "document_id": _DOCUMENT,
    "id": _DOCUMENT,
    "collection": "default",
    "filename": "handbook.md",
    "source": "upload:handbook.md",
    "file_hash": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "mime": "text/markdown",
    "title": "Handbook",
    "status": "ready",
    "bytes": 412,
    "characters": 412,
    "pages": None,
    "chunks": 4,
    "metadata": {"year": 2026, "language": "en"},
    "warnings": [],
    "embedding_model": "local:minilm-l6",
    "embedding_dim": 384,
    "ingestion_version": "1/markdown-1/passages-1/local",
    "version": 1,
    "created_at": _MOMENT,
    "updated_at": _MOMENT,
    "error": None,
    "near_duplicate_of": None,
}
_CHUNK = {
    "id": "c81e728d9d4c2f63",
    "document_id": _DOCUMENT,
    "index": 0,
    "total": 4,
    "start": 78,
    "end": 157,
    "text": _HIT["text"],
    "pages": None,
    "headings": ["Handbook", "Notice"],
    "tokens": 18,
    "prefix": "Handbook > Notice",
    "metadata": {},
    "lines": [3, 3],
    "language": "en",
}
_COLLECTION = {
    "name": "default",
    "chunker": None,
    "chunker_options": None,
    "system_prompt": None,
    "documents": 1,
}
_ONE_JOB = {
    "id": _JOB,
    "kind": "upload",
    "name": "handbook.md",
    "collection": "default",
    "state": "ready",
    "stage": None,
    "done": 4,
    "total": 4,
    "document_id": _DOCUMENT,
    "documents": [{"path": "upload:handbook.md", "document_id": _DOCUMENT, "status": "ready", "chunks": 4}],
    "error": None,
    "retryable": False,
    "attempts": 1,
    "created_at": _MOMENT,
    "updated_at": _MOMENT,
}
_WAITING_JOB = {
    **_ONE_JOB,
    "state": "queued",
    "document_id": None,
    "documents": [],
    "attempts": 0,
    "done": 0,
    "total": 0,
}
_KEY = {
    "id": "0f3a91c2e47d",
    "name": "intranet",
    "tenant": "acme",
    "scopes": ["read", "write"],
    "created_at": _MOMENT,
    "expires_at": None,
    "revoked_at": None,
    "live": True,
}
_MODEL = {"id": "footnotes", "object": "model", "created": 0, "owned_by": "footnotes"}
_MESSAGE = {
    "role": "assistant",
    "content": f"{_SENTENCE} [1]\n\n[1] handbook.md: “{_SENTENCE}”",
    "refusal": None,
    "citations": [_CITATION],
    "kind": "answer",
    "abstained": False,
    "degraded": False,
}
_API_HIT = {
    "doc_id": _DOCUMENT,
    "filename": "handbook.md",
    "chunk_id": "c81e728d9d4c2f63",
    "text": _HIT["text"],
    "similarity": 0.63,
    "start_offset": 78,
    "end_offset": 157,
}
_RAG_INDEXED = {"id": _DOCUMENT, "status": "indexed", "chunks": 1}
_API_DOCUMENT = {**_RAG_INDEXED, "filename": "handbook.md"}

REPLIES: dict[str, Any] = {
    "Document": _ONE_DOCUMENT,
    "Documents": {"documents": [_ONE_DOCUMENT], "next_offset": None},
    "Text": {"document_id": _DOCUMENT, "start": 112, "end": 157, "text": _SENTENCE},
    "Chunks": {"chunks": [_CHUNK], "total": 4, "next_offset": None},
    "Boxes": {"page": 2, "width": 1000, "height": 1414, "boxes": [[0.12, 0.31, 0.64, 0.33]]},
    "Deleted": {"deleted": [_DOCUMENT]},
    "Collection": _COLLECTION,
    "Collections": {"collections": [_COLLECTION]},
    "Job": _ONE_JOB,
    "Jobs": {"jobs": [_ONE_JOB], "next_offset": None},
    "Accepted": {"jobs": [_WAITING_JOB]},
    "Found": {"query": _QUESTION, "hits": [_HIT], "legs": _LEGS, "degraded": False, "took_ms": 8.4},
    "Answer": _ANSWER,
    "Health": {"status": "ok", "version": "0.1.0"},
    "Ready": {"status": "ready", "checks": {"intake": True, "database": True}},
    "Status": {
        "user": "local",
        "ready": 1,
        "chunks": 4,
        "characters": 412,
        "bytes": 412,
        "by_status": {"ready": 1},
        "near_duplicates": 0,
        "waiting": 0,
        "collections": [_COLLECTION],
        "embedder": "local:minilm-l6",
        "configured_embedder": "local:minilm-l6",
        "dimensions": 384,
        "generation": 1,
        "generations": [{"id": 1, "state": "serving", "embedder": "local:minilm-l6"}],
        "store": "sqlite",
        "index": None,
        "disk_bytes": 262144,
        "model": "extractive",
        "reranker": "",
        "queue": 0,
        "version": "0.1.0",
        "scopes": ["admin", "read", "write"],
        "keys_needed": False,
    },
    "UsageReply": {
        "tenant": "local",
        "answers": {"limit": 10000, "remaining": 9999, "resetDate": "2026-12-01T00:00:00+00:00", "used": 1},
        "storage": {"bytes": 412, "limit": None},
        "documents": 1,
        "chunks": 4,
    },
    "Key": _KEY,
    "Keys": {"keys": [_KEY]},
    "NewKey": {**_KEY, "key": "fn_0f3a91c2e47d_(shown here and never again)"},
    "Completion": {
        "id": "chatcmpl-5f2b1c9e0a7d4e83",
        "object": "chat.completion",
        "created": 1794821400,
        "model": "footnotes",
        "choices": [{"index": 0, "message": _MESSAGE, "finish_reason": "stop", "logprobs": None}],
        "usage": _TOKENS,
    },
    "Model": _MODEL,
    "Models": {"object": "list", "data": [_MODEL]},
    "Embeddings": {
        "object": "list",
        "data": [{"object": "embedding", "index": 0, "embedding": [0.031, -0.058, 0.012]}],
        "model": "local:minilm-l6",
        "usage": {"prompt_tokens": 7, "total_tokens": 7},
    },
    "RagIndexed": _RAG_INDEXED,
    "RagFound": {
        "query": _QUESTION,
        "results": [
            {
                "id": _DOCUMENT,
                "chunk_id": "c81e728d9d4c2f63",
                "filename": "handbook.md",
                "content": _HIT["text"],
                "metadata": {"year": 2026},
                "chunk_index": 0,
                "rrf_score": 0.91,
                "vector_score": 0.63,
                "text_score": 7.2,
            }
        ],
    },
    "RagDocuments": {
        "documents": [
            {
                "id": _DOCUMENT,
                "filename": "handbook.md",
                "status": "ready",
                "chunks": 4,
                "metadata": {"year": 2026},
                "created_at": _MOMENT,
            }
        ]
    },
    "RagDeleted": {"id": _DOCUMENT, "status": "deleted"},
    "RagReindexed": {"status": "reindexed", "documents": 1},
    "SubjectReindexed": {"ok": True, "reindexed": 1},
    "ApiUploaded": {**_API_DOCUMENT, "doc_id": _DOCUMENT, "documents": [_API_DOCUMENT]},
    "ApiFound": {"results": [_API_HIT]},
}
"""By the name of the model they are of."""

JOB_EVENT = 'event: job\ndata: {"id":"' + _JOB + '","state":"running","stage":"embedding","done":64,"total":400}\n\n'
ANSWER_EVENTS = (
    'event: token\ndata: {"type":"token","text":"After that the notice period is three months."}\n\n'
    'event: done\ndata: {"type":"done","answer":{"answer":"After that the notice period is three months."}}\n\n'
)
CHAT_EVENTS = (
    'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"After"}}]}\n\ndata: [DONE]\n\n'
)
METRICS = '# TYPE footnotes_searches_total counter\nfootnotes_searches_total{leg="dense",status="ok"} 12.0\n'

_FAILURES = {
    400: ("request_invalid", "There was an error parsing the body"),
    401: ("unauthorized", "the key is not valid"),
    403: ("forbidden", "the key has no write scope"),
    404: ("not_found", f"there is no document '{_DOCUMENT}'"),
    408: ("client_too_slow", "the body took too long to arrive"),
    409: ("reindex_refused", "the gate refused the new generation"),
    413: ("body_too_large", "the body is larger than 33,554,432 bytes"),
    422: ("request_invalid", "body.query: Field required"),
    429: ("rate_limited", "more than 600 requests a minute were made"),
    431: ("headers_too_large", "the headers are larger than 65,536 bytes"),
    500: ("internal_error", "the server failed"),
    501: ("missing_extra", "llama:chat needs the package 'xllamacpp', which is not installed"),
    502: ("provider_unavailable", "the model cannot be reached"),
    503: ("server_busy", "256 streams are open already"),
    504: ("provider_timeout", "the model took longer than 60 seconds"),
    507: ("storage_full", "there is no space left on the server"),
}


def error(status: int) -> dict[str, Any]:
    """An error of a status."""
    from footnotes.errors import all_errors

    code, message = _FAILURES[status]
    remedy = next(kind.default_remedy for kind in all_errors() if kind.code == code)
    return {"error": {"code": code, "message": message, "remedy": remedy, "request_id": "5f2b1c9e0a7d4e83"}}
