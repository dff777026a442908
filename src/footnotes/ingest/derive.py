"""Parts → new chunks: the same for a new file and for stored text that is indexed again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator

from footnotes.chunk import Chunker
from footnotes.chunk.assemble import assemble
from footnotes.ingest.wiki.chunks import Describe
from footnotes.ingest.work import chunk_id, embedding_input, input_hash
from footnotes.parse.types_by_name import is_source_code
from footnotes.store.records import ChunkDraft
from footnotes.text.lines import LineCounter
from footnotes.types import Metadata, Part

ChunkerOf = Callable[[str, str], Chunker]
"""A collection and a content type → the chunker that cuts such documents."""


def chunker_fingerprint(chunker: Chunker) -> str:
    """Name, version and effective options: changes when boundaries may."""
    options = json.dumps(dict(chunker.options), sort_keys=True)
    return f"{chunker.name}-{chunker.version}-{hashlib.blake2b(options.encode(), digest_size=6).hexdigest()}"


def notes_of(chunker: Chunker) -> list[str]:
    """Return the notes of a chunker that calls a model, on the last document."""
    return list(take()) if (take := getattr(chunker, "take_notes", None)) else []


def named_in_prefix(title: str, mime: str, metadata: Metadata) -> str:
    """Return the name of a document for chunk prefixes: its title, or the path of source code in a repository."""
    path = metadata.get("path")
    return path if is_source_code(mime) and isinstance(path, str) and path else title


class Deriver:
    """Cuts one document's parts, in order, into chunks that know who they are."""

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

        The hash identifies prefix and text, not the way they were cut: the same text has the same vector.
        """
        lines = LineCounter(part.text, first_line=self._line)
        self._line += part.text.count("\n")
        for made in assemble(self._chunker.split(part), part, title=self.title):
            text = part.text[made.start - part.start : made.end - part.start]
            said = self._describe(self.count, made.headings, made.tokens, text) if self._describe else {}
            identity = chunk_id(self._file_hash, self._fingerprint, self.count, made.start, made.end)
            yield (
                ChunkDraft(
                    index=self.count,
                    id=identity,
                    start=made.start,
                    end=made.end,
                    pages=made.pages,
                    headings=made.headings,
                    tokens=made.tokens,
                    prefix=made.prefix,
                    metadata={**made.metadata, **said},
                    input_hash=input_hash(embedding_input(made.prefix, text)),
                    parts=made.parts,
                    lines=lines.span(made.start - part.start, made.end - part.start),
                ),
                text,
            )
            self.count += 1
