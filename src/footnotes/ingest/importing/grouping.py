"""Records → documents: the texts joined by a blank line, each record exactly one chunk of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from footnotes.ingest.importing.fields import MOST_PAGES, filename_of, headings_of, title_of
from footnotes.ingest.importing.spool import SpooledRecord
from footnotes.ingest.work import chunk_id, input_hash
from footnotes.store.records import ChunkDraft
from footnotes.types import Block, Part

CHUNKER = "records-1"
"""Part of every chunk's id: it changes if the same records would become other chunks."""
BETWEEN = "\n\n"
PART_CHARACTERS = 64_000
"""A part ends with the record that reaches this size. A later reindex never builds a chunk across parts."""


@dataclass(frozen=True, slots=True)
class Outline:
    """A document before it is written."""

    file_hash: str
    filename: str
    title: str
    shared: Mapping[str, Any]
    records: int
    characters: int
    size: int
    pages: int | None


@dataclass(frozen=True, slots=True)
class GroupedPart:
    """A part with its chunks and their records."""

    part: Part
    chunks: tuple[tuple[ChunkDraft, SpooledRecord], ...]


def outline_records(records: Iterable[SpooledRecord], group: str | None) -> Outline:
    """Outline a document from its records. The hash covers their texts, metadata and order, but no ids."""
    hasher = hashlib.sha256(f"footnotes {CHUNKER}\n{json.dumps(group)}".encode())
    shared: dict[str, str] | None = None
    count = characters = size = pages = 0
    first_id = ""
    for record in records:
        hasher.update(f"\n{json.dumps(record.text)}\n{record.packed}".encode())
        shared = _keep_shared(shared, record.metadata)
        first_id = first_id or record.id
        characters += len(record.text) + (len(BETWEEN) if count else 0)
        size += len(record.text.encode()) + (len(BETWEEN) if count else 0)
        pages = max(pages, record.page or 0)
        count += 1
    agreed = {name: json.loads(packed) for name, packed in (shared or {}).items()}
    filename = filename_of(agreed, group, first_id)
    pages = max(pages, _total_pages(agreed)) if pages else 0
    title = title_of(agreed, filename)
    return Outline(hasher.hexdigest(), filename, title, agreed, count, characters, size, pages or None)


def _keep_shared(shared: dict[str, str] | None, metadata: Mapping[str, object]) -> dict[str, str]:
    """Keep the metadata that all records so far share, as JSON: 1, 1.0 and true differ."""
    packed = {name: json.dumps(value, sort_keys=True) for name, value in metadata.items()}
    return packed if shared is None else {name: value for name, value in shared.items() if packed.get(name) == value}


def _total_pages(metadata: Mapping[str, object]) -> int:
    total = metadata.get("total_pages")
    return total if isinstance(total, int) and 0 < total < MOST_PAGES else 0


def group_records(records: Iterable[SpooledRecord], outline: Outline) -> Iterator[GroupedPart]:
    """Yield the document's parts one at a time: it may be larger than memory."""
    gathered: list[SpooledRecord] = []
    start = index = characters = 0
    for number, record in enumerate(records, start=1):
        gathered.append(record)
        characters += len(record.text)
        if characters >= PART_CHARACTERS or number == outline.records:
            made = _part(gathered, start, index, outline, is_last=number == outline.records)
            start, index, gathered, characters = made.part.end, number, [], 0
            yield made


def _part(records: list[SpooledRecord], start: int, index: int, outline: Outline, *, is_last: bool) -> GroupedPart:
    at, texts, blocks, chunks = start, list[str](), list[Block](), list[tuple[ChunkDraft, SpooledRecord]]()
    for place, record in enumerate(records):
        end = at + len(record.text)
        headings = headings_of(record.metadata)
        blocks.append(Block("paragraph", at, end, page=record.page, headings=headings))
        chunks.append((_chunk(record, index + place, at, headings, outline), record))
        texts.append(record.text)
        at = end + len(BETWEEN)
    text = BETWEEN.join(texts) + ("" if is_last else BETWEEN)
    return GroupedPart(Part(start, text, tuple(blocks)), tuple(chunks))


def _chunk(record: SpooledRecord, index: int, start: int, headings: tuple[str, ...], outline: Outline) -> ChunkDraft:
    """Build the chunk of a record. Only its text is embedded, as in the other tool."""
    end = start + len(record.text)
    return ChunkDraft(
        index=index,
        id=chunk_id(outline.file_hash, CHUNKER, index, start, end),
        start=start,
        end=end,
        pages=(record.page, record.page) if record.page else None,
        headings=headings,
        tokens=record.tokens,
        prefix="",
        metadata={name: value for name, value in record.metadata.items() if name not in outline.shared},
        input_hash=input_hash(record.text),
    )
