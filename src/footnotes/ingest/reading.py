"""Reads files in batches: each once, and looks them up in the store together."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat

from footnotes.errors import DocumentError, DocumentTooLarge, EmptyDocument, SourceUnreadable
from footnotes.ingest.prepare import Prepared
from footnotes.ingest.work import NewSource
from footnotes.parse.decode import READ_BYTES, read_start
from footnotes.store import Store
from footnotes.store.records import DocumentRow, Draft

FILES_TOGETHER, BYTES_TOGETHER = 256, 4_000_000
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file whose bytes were read: their hash, their size, and the bytes themselves if they are few."""

    origin: NewSource
    file_hash: str = ""
    size: int = 0
    content: bytes | None = None
    error: DocumentError | None = None
    """The reason why it cannot be ingested."""
    prepared: Prepared | None = None


def read_together(
    sources: Iterable[NewSource], max_bytes: int, prepared: Iterable[Prepared | None] = ()
) -> Iterator[list[ReadFile]]:
    """Yield files in order, as many at a time as are read in a moment. Those that are `prepared` were read already."""
    group: list[ReadFile] = []
    size = 0
    for origin, found in zip(sources, chain(prepared, repeat(None)), strict=False):
        if found is not None and found.size <= max_bytes:
            group.append(ReadFile(origin, found.file_hash, found.size, prepared=found))
        else:
            group.append(_read(origin, max_bytes))
        size += group[-1].size
        if len(group) >= FILES_TOGETHER or size >= BYTES_TOGETHER:
            yield group
            group, size = [], 0
    if group:
        yield group


def _read(origin: NewSource, max_bytes: int) -> ReadFile:
    name = origin.filename
    digest, size = hashlib.sha256(), 0
    content: bytes | None = None
    try:
        with origin.path.open("rb", buffering=0) if origin.content is None else io.BytesIO(origin.content) as file:
            content = block = file.read(READ_BYTES + 1) if origin.content is not None else read_start(file)
            while block:
                digest.update(block)
                size += len(block)
                if size > max_bytes:
                    return ReadFile(origin, error=DocumentTooLarge(f"{name} is larger than {max_bytes:,} bytes"))
                block = file.read(_BLOCK) if size > READ_BYTES else b""
    except OSError as error:
        return ReadFile(origin, error=SourceUnreadable(f"{name} cannot be read ({error.strerror})"))
    if size == 0:
        return ReadFile(origin, error=EmptyDocument(f"{name} has no bytes"))
    return ReadFile(origin, digest.hexdigest(), size, content if size <= READ_BYTES else None)


class DocumentLookup:
    """The stored documents of some files, by content and by source, until one of them changes."""

    def __init__(self, store: Store, user_id: str) -> None:
        self._store = store
        self._user_id = user_id
        self._by_hash: dict[tuple[str, str], DocumentRow | None] = {}
        self._by_source: dict[tuple[str, str], DocumentRow | None] = {}

    def look_for(self, files: Sequence[ReadFile]) -> None:
        """Look up all of these at once, instead of earlier ones."""
        self.forget()
        if len(files) < 2:
            return
        for collection in dict.fromkeys(file.origin.collection for file in files):
            hashes = {file.file_hash for file in files if file.origin.collection == collection and file.error is None}
            sources = {file.origin.source for file in files if file.origin.collection == collection}
            by_hash = self._store.documents.find_by(self._user_id, collection, "hash", hashes)
            by_source = self._store.documents.find_by(self._user_id, collection, "source", sources)
            self._by_hash.update({(collection, each): by_hash.get(each) for each in hashes})
            self._by_source.update({(collection, each): by_source.get(each) for each in sources})

    def by_hash(self, collection: str, file_hash: str) -> DocumentRow | None:
        if (collection, file_hash) in self._by_hash:
            return self._by_hash[collection, file_hash]
        return self._store.documents.find_by(self._user_id, collection, "hash", [file_hash]).get(file_hash)

    def by_source(self, collection: str, source: str) -> DocumentRow | None:
        if (collection, source) in self._by_source:
            return self._by_source[collection, source]
        return self._store.documents.find_by(self._user_id, collection, "source", [source]).get(source)

    def has_sources(self, origins: Sequence[NewSource]) -> list[bool]:
        """Return for each of these whether its source has a document."""
        known: set[tuple[str, str]] = set()
        for collection in dict.fromkeys(origin.collection for origin in origins):
            names = sorted({origin.source for origin in origins if origin.collection == collection})
            found = self._store.documents.find_by(self._user_id, collection, "source", names)
            known.update((collection, source) for source in found)
        return [(origin.collection, origin.source) in known for origin in origins]

    def forget(self) -> None:
        """Look up each file separately from now on: documents may have changed."""
        self._by_hash, self._by_source = {}, {}

    def forget_written(self, drafts: Iterable[Draft]) -> None:
        """Note written drafts: new documents only change their own entries."""
        for draft in drafts:
            if draft.replaces is not None:
                self.forget()
                return
            self._by_hash.pop((draft.collection, draft.file_hash), None)
            self._by_source.pop((draft.collection, draft.source), None)
