"""One document on its way through the stages, and its data at each."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, Literal

from footnotes.chunk import Chunker
from footnotes.errors import DocumentTooLarge, EmptyDocument, SourceUnreadable
from footnotes.store.naming import source_mark
from footnotes.types import Metadata

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class NewSource:
    """A file to ingest. `source` is its permanent name; `path` is the current location of its bytes.

    `mime` overrides detection if the caller knows the type; with `renew` it is cut again even if the same bytes are
    stored. `deleted` are sources that were deleted since the work began. `chunker` overrides its collection's chunker.
    With `rename`, the same bytes get the new filename and metadata. `content` are its bytes if there is no file.
    """

    path: Path
    source: str
    filename: str
    collection: str
    metadata: Metadata = field(default_factory=dict)
    mime: str = ""
    renew: bool = False
    deleted: frozenset[str] = frozenset()
    chunker: Chunker | None = None
    rename: bool = False
    content: bytes | None = field(default=None, repr=False)

    @property
    def is_deleted(self) -> bool:
        return bool(self.deleted) and source_mark(self.collection, self.source) in self.deleted


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the work: a stage, its progress, and the current file."""

    stage: Literal["importing", "reading", "parsing", "embedding", "indexing", "graph"]
    done: int
    total: int
    path: str = ""


OnProgress = Callable[[Progress], None]


def both(first: OnProgress, second: OnProgress | None) -> OnProgress:
    """Report progress to two callbacks, or only to the first."""

    def report(progress: Progress) -> None:
        first(progress)
        if second is not None:
            second(progress)

    return report


def quiet(_: object) -> None:
    """Ignore progress."""


def chunk_id(file_hash: str, chunker: str, index: int, start: int, end: int) -> str:
    """Compute an id from content, options and version only: the same input gives the same id."""
    name = f"{file_hash}/{chunker}/{index}/{start}/{end}"
    return "c" + hashlib.blake2b(name.encode(), digest_size=10).hexdigest()


def hash_file(path: Path, max_bytes: int) -> tuple[str, int]:
    """Compute SHA-256 and size of a file; raise if it is empty or too large."""
    try:
        with path.open("rb") as file:
            return _hash(file, path.name, max_bytes)
    except OSError as error:
        raise SourceUnreadable(f"{path.name} cannot be read ({error.strerror})") from error


def _hash(file: BinaryIO, name: str, max_bytes: int) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    while block := file.read(_BLOCK):
        digest.update(block)
        size += len(block)
        if size > max_bytes:
            raise DocumentTooLarge(f"{name} is larger than {max_bytes:,} bytes")
    if size == 0:
        raise EmptyDocument(f"{name} has no bytes")
    return digest.hexdigest(), size
