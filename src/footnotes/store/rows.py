"""Converts rows of a database to our types. Both dialects use the same column names, and JSON as text."""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import lru_cache
from typing import Any

from footnotes.store.database import Json, Row
from footnotes.store.packing import unpack_headings
from footnotes.store.records import DocumentRow, Draft, Generation, KnownSource, Signature, StoredHit
from footnotes.text.tokens import count_tokens
from footnotes.types import Chunk, Document, ErrorInfo, Job


def document_row(row: Row) -> DocumentRow:
    document = Document(
        id=row["id"],
        collection=row["collection"],
        filename=row["filename"],
        source=row["source"],
        file_hash=row["file_hash"],
        mime=row["mime"],
        title=row["title"],
        status=row["status"],
        bytes=row["bytes"],
        characters=row["characters"],
        pages=row["pages"],
        chunks=row["chunks"],
        metadata=json.loads(row["metadata"]),
        warnings=tuple(json.loads(row["warnings"])),
        embedding_model=row["embedding_model"],
        embedding_dim=row["embedding_dim"],
        ingestion_version=row["ingestion_version"],
        version=row["version"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
        error=error_from(row["error"]),
    )
    return DocumentRow(row["pk"], row["current"], document)


def generation_row(row: Row) -> Generation:
    return Generation(
        pk=row["pk"],
        user_id=row["user_id"],
        state=row["state"],
        plan=json.loads(row["plan"]),
        model=row["model"],
        fingerprint=row["fingerprint"],
        embedder=row["embedder"],
        dimensions=row["dimensions"],
    )


def hit_row(row: Row, text: str) -> StoredHit:
    return StoredHit(
        key=row["key"],
        chunk_id=row["id"],
        document_id=row["document_id"],
        filename=row["filename"],
        title=row["title"],
        collection=row["collection"],
        text=text,
        start=row["start_offset"],
        end=row["end_offset"],
        pages=span_from(row, "page"),
        headings=unpack_headings(row["headings"]),
        index=row["chunk_index"],
        metadata={**origin_of(row), **_unpacked(row["document_metadata"]), **_unpacked(row["metadata"])},
        mime=row["mime"],
        total=row["chunks"],
        lines=span_from(row, "line"),
    )


def origin_of(row: Row) -> dict[str, str]:
    """Return the metadata of every chunk about its file: type, checksum and time of ingest."""
    return {"mime": row["mime"], "checksum": row["file_hash"], "ingested_at": row["ingested_at"]}


@lru_cache(maxsize=1_024)
def _unpacked(packed: str) -> dict[str, object]:
    """Decode metadata, cached because it repeats from hit to hit. Callers copy it."""
    unpacked: dict[str, object] = json.loads(packed)
    return unpacked


def chunk_from(row: Row, text: str) -> Chunk:
    return Chunk(
        id=row["id"],
        document_id=row["document_id"],
        index=row["chunk_index"],
        total=row["chunks"],
        start=row["start_offset"],
        end=row["end_offset"],
        text=text,
        pages=span_from(row, "page"),
        headings=unpack_headings(row["headings"]),
        tokens=row["tokens"] or count_tokens(text),
        prefix=row["prefix"],
        metadata={**origin_of(row), **json.loads(row["metadata"])},
        lines=span_from(row, "line"),
    )


def job_from(row: Row) -> Job:
    return Job(
        number=row["pk"],
        run=row["run"],
        kind=row["kind"],
        source=row["source"],
        request=json.loads(row["request"]),
        stage=row["stage"],
        done=row["done"],
        total=row["total"],
        attempts=row["attempts"],
        error=error_from(row["error"]),
        retryable=bool(row["retryable"]),
        document_id=row["document"],
        holder=row["holder"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def known_from(row: Row) -> KnownSource:
    size = row["size"]
    signature = None if size is None else Signature(size, row["mtime_ns"], row["ctime_ns"], row["read_ns"])
    return KnownSource(
        source=row["source"],
        document_id=row["document_id"],
        file_hash=row["file_hash"],
        mime=row["mime"],
        status=row["status"],
        chunks=row["chunks"],
        ingestion_version=row["ingestion_version"],
        bytes=row["bytes"],
        signature=signature,
        error=error_from(row["error"]),
        made_by=row["made_by"],
        stamp=row["etag"],
        follower=row["modified"],
    )


def span_from(row: Row, what: str) -> tuple[int, int] | None:
    """Return the first and last page or line, if known."""
    first = row[f"{what}_first"]
    return None if first is None else (first, row[f"{what}_last"])


def parts_from(packed: str | None) -> tuple[tuple[int, int], ...]:
    """Return the spans whose vectors make a chunk's."""
    return tuple((first, last) for first, last in json.loads(packed)) if packed else ()


def error_from(packed: str | None) -> ErrorInfo | None:
    found: dict[str, Any] | None = json.loads(packed) if packed else None
    return ErrorInfo(**found) if found else None


def packed_error(error: ErrorInfo | None) -> Json:
    return Json(asdict(error) if error else None)


def published_values(draft: Draft) -> dict[str, Any]:
    """Return what a document takes over from a complete draft: it waits for vectors, or else for the indexes."""
    what = draft.publication
    assert what is not None
    return {
        "source": draft.source,
        "filename": draft.filename,
        "file_hash": draft.file_hash,
        "mime": what.mime,
        "title": what.title,
        "status": "embedding" if draft.waits else "indexing",
        "bytes": draft.size,
        "characters": what.characters,
        "pages": what.pages,
        "chunks": what.chunks,
        "metadata": what.metadata,
        "warnings": what.warnings,
        "ingestion_version": draft.ingestion_version,
    }
