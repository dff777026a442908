"""What a database keeps of a document, a generation, a chunk or a job → the types of Footnotes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from footnotes.store.records import DocumentRow, Generation, Known, Signature
from footnotes.types import Chunk, Document, ErrorInfo, Job


def document_row(row: Sequence[Any]) -> DocumentRow:
    """Columns in the order of the queries named `document…`; JSON is unpacked and times are text."""
    pk, *fields, current = row
    (id_, collection, filename, source, file_hash, mime, title, status, size, characters, pages, chunks) = fields[:12]
    metadata, warnings, model, dimensions, ingestion, version, created, updated, error = fields[12:]
    document = Document(
        id=id_,
        collection=collection,
        filename=filename,
        source=source,
        file_hash=file_hash,
        mime=mime,
        title=title,
        status=status,
        bytes=size,
        characters=characters,
        pages=pages,
        chunks=chunks,
        metadata=metadata,
        warnings=tuple(warnings),
        embedding_model=model,
        embedding_dim=dimensions,
        ingestion_version=ingestion,
        version=version,
        created_at=created,
        updated_at=updated,
        error=error_from(error),
    )
    return DocumentRow(pk, current, document)


def generation_row(row: Sequence[Any]) -> Generation:
    pk, user_id, state, plan, model, fingerprint, embedder, dimensions = row
    return Generation(pk, user_id, state, plan, model, fingerprint, embedder, dimensions)


def chunk_from(row: Sequence[Any], text: str, headings: tuple[str, ...], metadata: dict[str, Any]) -> Chunk:
    """Columns in the order of the queries `chunks_of_document` and `neighbours`."""
    id_, document_id, index, total, start, end, first, last, _, tokens, prefix, _, _, line, end_line = row
    return Chunk(
        id=id_,
        document_id=document_id,
        index=index,
        total=total,
        start=start,
        end=end,
        text=text,
        pages=None if first is None else (first, last),
        headings=headings,
        tokens=tokens,
        prefix=prefix,
        metadata=metadata,
        lines=None if line is None else (line, end_line),
    )


def job_from(row: Sequence[Any]) -> Job:
    """Columns in the order of the query `jobs`."""
    number, run, kind, source, request, stage, done, total, attempts, error, retryable, document, holder = row[:13]
    return Job(
        number=number,
        run=run,
        kind=kind,
        source=source,
        request=request,
        stage=stage,
        done=done,
        total=total,
        attempts=attempts,
        error=error_from(error),
        retryable=bool(retryable),
        document_id=document,
        holder=holder,
        created_at=row[13],
        updated_at=row[14],
    )


def known_from(row: Sequence[Any]) -> Known:
    """Columns in the order of the query `known_below`."""
    size, mtime, ctime, read, error, made_by = row[8:]
    signature = None if size is None else Signature(size, mtime, ctime, read)
    source, document_id, file_hash, mime, status, chunks, version, bytes_ = row[:8]
    known = (source, document_id, file_hash, mime, status, chunks, version, bytes_)
    return Known(*known, signature, error_from(error), made_by)


def error_from(packed: dict[str, str] | None) -> ErrorInfo | None:
    return ErrorInfo(**packed) if packed else None


def packed_error(error: ErrorInfo | None) -> dict[str, str] | None:
    return asdict(error) if error else None
