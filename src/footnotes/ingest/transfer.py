"""Export and import: documents and chunks as JSON Lines, one object per line.

The first line identifies the file; then each document has a `document` line with its canonical text and blocks,
followed by its `chunk` lines. Import uses the text unchanged, and chunks and embeds it with the library's settings.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, get_args

from footnotes.chunk import Chunker
from footnotes.errors import ImportFormatError, SourceUnreadable, StoreUnavailable
from footnotes.ingest.context import IngestContext
from footnotes.ingest.derive import Deriver, chunker_fingerprint
from footnotes.ingest.names import check_metadata, is_name, parse_collection
from footnotes.ingest.waiting import WaitingDocuments
from footnotes.ingest.work import OnProgress, Progress
from footnotes.store import Store
from footnotes.store.records import Draft, Generation, Publication
from footnotes.text.sketch import Sketcher
from footnotes.types import Block, BlockKind, Document, Filter, Part

FORMAT = "footnotes-export"
VERSION = 1
IMPORTED = "0/imported"
"""The beginning of the version of a document whose text was not parsed here."""


@dataclass(frozen=True, slots=True)
class Imported:
    """The result of an import: new documents, and those that already existed."""

    added: int
    skipped: int


def is_imported(document: Document) -> bool:
    """Return whether a document was imported with its text, so no parser can read it again."""
    return document.ingestion_version.startswith(f"{IMPORTED}/")


def export_lines(store: Store, user_id: str, *, where: Filter | None = None) -> Iterator[str]:
    """Yield the lines of an export, one at a time."""
    for line in _lines(store, user_id, where):
        yield json.dumps(line, ensure_ascii=False)


def export_library(store: Store, user_id: str, file: Path, *, where: Filter | None = None) -> dict[str, int]:
    """Write every document that is ready and passes the filter. The file gets its name when it is complete."""
    temporary = file.with_name(file.name + ".part")
    counts = {"documents": 0, "chunks": 0}
    try:
        with temporary.open("w", encoding="utf-8") as out:
            for line in _lines(store, user_id, where):
                counts["documents"] += line["type"] == "document"
                counts["chunks"] += line["type"] == "chunk"
                out.write(json.dumps(line, ensure_ascii=False) + "\n")
            out.flush()
            os.fsync(out.fileno())
        temporary.replace(file)
    except OSError as error:
        raise StoreUnavailable(f"{file} cannot be written ({error.strerror})") from error
    return counts


def _lines(store: Store, user_id: str, where: Filter | None) -> Iterator[dict[str, object]]:
    yield {"type": FORMAT, "version": VERSION}
    for document in store.documents.all(user_id, where=where):
        if document.status != "ready":
            continue
        parts = list(store.documents.parts(user_id, document.id))
        yield {
            "type": "document",
            **asdict(document),
            "text": "".join(part.text for part in parts),
            "parts": [{"start": p.start, "end": p.end, "blocks": [asdict(block) for block in p.blocks]} for p in parts],
        }
        for chunk in store.documents.chunks(user_id, document.id):
            yield {"type": "chunk", **asdict(chunk)}


def import_library(
    context: IngestContext, file: Path, collection: str | None, on_progress: OnProgress | None
) -> Imported:
    """Import the documents of an export, into `collection` if given.

    The whole file is checked before the first document is added.
    """
    store, user, embedding = context.store, context.user, context.embedding(on_progress)
    into = None if collection is None else parse_collection(collection)
    with context.writing("importing"):
        chunker_of = context.chunker_of()
        total = sum(1 for _ in _documents(file))
        generation = embedding.open_generation()
        added = skipped = 0
        for number, line in enumerate(_documents(file)):
            embedding.on_progress(Progress("reading", number, total, str(line["filename"])))
            line["collection"] = into or line["collection"]
            if store.documents.find_by(user, line["collection"], "hash", [line["file_hash"]]):
                skipped += 1
                continue
            draft = _draft(line, chunker_of(line["collection"], line["mime"]), generation)
            store.documents.save(user, generation, [draft])
            added += 1
        if added:
            store.publish(user, generation)
        for _ in WaitingDocuments(embedding, generation).embed():
            pass
        return Imported(added, skipped)


def _documents(file: Path) -> Iterator[dict[str, Any]]:
    try:
        with file.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, start=1):
                parsed = _parse_line(line, number)
                if number == 1:
                    _check_header(parsed)
                elif parsed["type"] == "document":
                    yield _check_line(parsed, number)
            if lines.tell() == 0:
                raise ImportFormatError("the file is empty")
    except UnicodeDecodeError as error:
        raise ImportFormatError("the file is not UTF-8") from error
    except OSError as error:
        raise SourceUnreadable(f"{file} cannot be read ({error})") from error


def _parse_line(line: str, number: int) -> dict[str, object]:
    try:
        parsed = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ImportFormatError(f"line {number} is not JSON") from error
    if not isinstance(parsed, dict) or not isinstance(parsed.get("type"), str):
        raise ImportFormatError(f"line {number} is not an object with a type")
    return parsed


def _check_header(line: dict[str, object]) -> None:
    if line["type"] != FORMAT:
        raise ImportFormatError("the first line does not identify an export")
    if line.get("version") != VERSION:
        raise ImportFormatError(f"the export has version {line.get('version')!r}; this program reads {VERSION}")


def _check_line(line: dict[str, object], number: int) -> dict[str, object]:
    """Check a document line completely; raise an error that names it. Its content is untrusted."""
    texts = ("id", "collection", "filename", "source", "file_hash", "mime", "title", "text")
    if not all(isinstance(line.get(name), str) for name in texts) or not isinstance(line.get("metadata"), dict):
        raise ImportFormatError(f"line {number} is a document without {', '.join(texts)} or metadata")
    try:
        json.dumps(line, ensure_ascii=False, allow_nan=False).encode("utf-8")
        _check_fields(line)
        _parts(line)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ImportFormatError(f"line {number} does not fit together ({error})") from error
    return line


def _check_fields(line: dict[str, Any]) -> None:
    for name in ("bytes", "pages"):
        if line.get(name) is not None and not _is_count(line[name]):
            raise ValueError(f"{name} is not a count")
    warnings = line.get("warnings") or []
    if not isinstance(warnings, list) or not all(isinstance(warning, str) for warning in warnings):
        raise ValueError("warnings are not a list of texts")
    if not is_name(line["collection"]):
        raise ValueError("the collection has an invalid name")
    check_metadata(line["metadata"])


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _block(raw: dict[str, Any]) -> Block:
    block = Block(**{**raw, "headings": tuple(raw["headings"])})
    numbers = (block.start, block.end, block.level, 1 if block.page is None else block.page)
    if block.kind not in get_args(BlockKind) or not all(_is_count(count) for count in numbers):
        raise ValueError("a block of unknown kind, or with invalid spans")
    if not all(isinstance(heading, str) for heading in block.headings) or not isinstance(block.attributes, dict):
        raise ValueError("a block with headings or attributes of the wrong type")
    return block


def _parts(line: dict[str, Any]) -> list[Part]:
    text, at, parts = line["text"], 0, []
    for item in line["parts"]:
        if item["start"] != at or not at < item["end"] <= len(text):
            raise ValueError(f"a part from {item['start']} to {item['end']}")
        blocks = tuple(_block(block) for block in item["blocks"])
        if any(not item["start"] <= block.start <= block.end <= item["end"] for block in blocks):
            raise ValueError("a block outside its part")
        parts.append(Part(at, text[at : item["end"]], blocks))
        at = item["end"]
    if at != len(text) or not text:
        raise ValueError("the parts do not cover the text")
    return parts


def _draft(line: dict[str, Any], chunker: Chunker, generation: Generation) -> Draft:
    parts = _parts(line)
    derive = Deriver(chunker, line["file_hash"], line["title"])
    chunks = [chunk for part in parts for chunk, _ in derive.chunks(part)]
    sketcher = Sketcher()
    for part in parts:
        sketcher.add(part.text)
    return Draft(
        collection=line["collection"],
        source=line["source"],
        filename=line["filename"],
        file_hash=line["file_hash"],
        size=int(line.get("bytes") or 0),
        # Its text is claimed, not parsed from these bytes: adding the file itself replaces it.
        ingestion_version=f"{IMPORTED}/0/{chunker_fingerprint(chunker)}/{generation.fingerprint}",
        metadata=line["metadata"],
        parts=parts,
        sketch=sketcher.sketch(),
        chunks=chunks,
        publication=Publication(
            mime=line["mime"],
            title=line["title"],
            characters=len(line["text"]),
            pages=line.get("pages"),
            chunks=derive.count,
            metadata=line["metadata"],
            warnings=tuple(line.get("warnings") or ()),
        ),
    )
