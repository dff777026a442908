"""Database rows → the types of Footnotes."""

from __future__ import annotations

import json
from typing import Any

from footnotes.store.records import DocumentRow, Generation
from footnotes.store.sqlite.texts import unpack_headings
from footnotes.types import Chunk, Document, ErrorInfo


def document_row(row: tuple[Any, ...]) -> DocumentRow:
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
        metadata=json.loads(metadata),
        warnings=tuple(json.loads(warnings)),
        embedding_model=model,
        embedding_dim=dimensions,
        ingestion_version=ingestion,
        version=version,
        created_at=created,
        updated_at=updated,
        error=ErrorInfo(**json.loads(error)) if error else None,
    )
    return DocumentRow(pk, current, document)


def generation_row(row: tuple[Any, ...]) -> Generation:
    pk, user_id, state, plan, model, fingerprint, embedder, dimensions = row
    return Generation(
        pk, user_id, state, {} if plan == "{}" else json.loads(plan), model, fingerprint, embedder, dimensions
    )


def chunk_from(row: tuple[Any, ...], text: str) -> Chunk:
    id_, document_id, index, total, start, end, first, last, headings, tokens, prefix, metadata, _, line, end_line = row
    return Chunk(
        id=id_,
        document_id=document_id,
        index=index,
        total=total,
        start=start,
        end=end,
        text=text,
        pages=None if first is None else (first, last),
        headings=unpack_headings(headings),
        tokens=tokens,
        prefix=prefix,
        metadata=json.loads(metadata),
        lines=None if line is None else (line, end_line),
    )
