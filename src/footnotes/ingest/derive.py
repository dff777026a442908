"""Turns parts into new chunks, in the same way for a new file and for stored text that is indexed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from footnotes.chunk import Chunker
from footnotes.chunk.assemble import assemble
from footnotes.ingest.wiki.chunks import Describe, build_describer
from footnotes.ingest.work import chunk_id
from footnotes.parse.types_by_name import is_source_code
from footnotes.store.naming import embedding_input, input_hash
from footnotes.store.records import ChunkDraft
from footnotes.text.lines import LineCounter
from footnotes.types import Document, Metadata, Part

ChunkerOf = Callable[[str, str], Chunker]
"""Returns the chunker for a collection and a content type."""


def chunker_fingerprint(chunker: Chunker) -> str:
    """Return name, version and effective options: this changes when boundaries may."""
    options = json.dumps(dict(chunker.options), sort_keys=True)
    return f"{chunker.name}-{chunker.version}-{hashlib.blake2b(options.encode(), digest_size=6).hexdigest()}"


def recut_version(before: str, chunker: Chunker, model: str) -> str:
    """Return the ingestion version of a document that is cut again. Its parser's part stays: that parser made the text.

    A version names the pipeline, the parser and its version, the chunker, and the fingerprint of the model.
    """
    pipeline, parser, parser_version, *_ = before.split("/")
    return "/".join((pipeline, parser, parser_version, chunker_fingerprint(chunker), model))


def without_parser(version: str) -> list[str]:
    """Return the parts of an ingestion version that do not name the parser."""
    pipeline, _, _, *rest = version.split("/")
    return [pipeline, *rest]


def notes_of(chunker: Chunker) -> list[str]:
    """Return the notes of a chunker that calls a model, on the last document."""
    return list(take()) if (take := getattr(chunker, "take_notes", None)) else []


def name_for_prefix(title: str, mime: str, metadata: Metadata) -> str:
    """Return the name of a document for chunk prefixes: its title, or the path of source code in a repository."""
    path = metadata.get("path")
    return path if is_source_code(mime) and isinstance(path, str) and path else title


def derive_again(document: Document, chunker: Chunker) -> Deriver:
    """Return what cuts the stored text of a document again."""
    described = build_describer(document.mime, document.metadata, document.title)
    name = name_for_prefix(document.title, document.mime, document.metadata)
    return Deriver(chunker, document.file_hash, name, described)


class Deriver:
    """Cuts one document's parts, in order, into chunks with ids and hashes."""

    def __init__(
        self, chunker: Chunker, file_hash: str, title: str, describe: Describe | None = None, *, fingerprint: str = ""
    ) -> None:
        """`fingerprint` is the chunker's, if the caller knows it."""
        self._chunker = chunker
        self._fingerprint = fingerprint or chunker_fingerprint(chunker)
        self._file_hash = file_hash
        self.title = title
        self._describe = describe
        self.count = 0
        self._line = 1

    def chunks(self, part: Part) -> Iterator[tuple[ChunkDraft, str]]:
        """Yield each new chunk with its text.

        The hash identifies prefix and text, not how they were cut: the same text has the same vector.
        """
        lines = LineCounter(part.text, first_line=self._line)
        self._line += part.text.count("\n")
        # Counting tokens takes a fifth of the time of a small file, and few readers ask for them: they count then.
        count = self._describe is not None
        for draft in assemble(self._chunker.split(part), part, title=self.title, count=count):
            text = part.text[draft.start - part.start : draft.end - part.start]
            metadata = self._describe(self.count, draft.headings, draft.tokens, text) if self._describe else {}
            identity = chunk_id(self._file_hash, self._fingerprint, self.count, draft.start, draft.end)
            yield (
                ChunkDraft(
                    index=self.count,
                    id=identity,
                    start=draft.start,
                    end=draft.end,
                    pages=draft.pages,
                    headings=draft.headings,
                    tokens=draft.tokens,
                    prefix=draft.prefix,
                    metadata={**draft.metadata, **metadata},
                    input_hash=input_hash(embedding_input(draft.prefix, text)),
                    parts=draft.parts,
                    lines=lines.span(draft.start - part.start, draft.end - part.start),
                ),
                text,
            )
            self.count += 1
