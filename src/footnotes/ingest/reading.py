"""Reads files in batches: each once, and looks them up in the store together."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from footnotes.errors import DocumentError, DocumentTooLarge, EmptyDocument, SourceUnreadable
from footnotes.ingest.work import NewSource
from footnotes.parse.decode import READ_BYTES
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


def read_together(sources: Iterable[NewSource], max_bytes: int) -> Iterator[list[ReadFile]]:
    """Yield files in order, as many at a time as are read in a moment."""
    group: list[ReadFile] = []
    size = 0
    for origin in sources:
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
        with origin.path.open("rb") if origin.content is None else io.BytesIO(origin.content) as file:
            content = block = file.read(READ_BYTES + 1)
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
            found = self._store.documents.find_together(self._user_id, collection, sorted(hashes), sorted(sources))
            self._by_hash.update({(collection, each): found[0].get(each) for each in hashes})
            self._by_source.update({(collection, each): found[1].get(each) for each in sources})

    def by_hash(self, collection: str, file_hash: str) -> DocumentRow | None:
        if (collection, file_hash) in self._by_hash:
            return self._by_hash[collection, file_hash]
        return self._store.documents.find_by_hash(self._user_id, collection, file_hash)

    def by_source(self, collection: str, source: str) -> DocumentRow | None:
        if (collection, source) in self._by_source:
            return self._by_source[collection, source]
        return self._store.documents.find_by_source(self._user_id, collection, source)

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
