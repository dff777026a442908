"""Deletes documents from the library, with every byte of them."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TypedDict

from footnotes.chunk.contextual import text_hash
from footnotes.errors import NotFound
from footnotes.ingest.context import IngestContext
from footnotes.ingest.names import as_text
from footnotes.retrieve.where import in_collection
from footnotes.types import Condition, Document, Filter

FORMER_CONTEXTS = "contexts"
"""The folder in which an earlier version cached model output; unused now."""


class DeleteOptions(TypedDict, total=False):
    """Which documents to delete, besides those given by id, and how thoroughly."""

    source: str | Path | None
    collection: str | None
    checksum: str | None
    compact: bool
    scrub: bool


class Removal:
    """Deletes for one tenant of a library."""

    def __init__(self, context: IngestContext) -> None:
        self._context = context
        self._store, self._user = context.store, context.user

    def delete(self, document_ids: tuple[str, ...], options: DeleteOptions) -> list[str]:
        """Delete documents; return their ids. A collection given alone is deleted with its documents."""
        source, collection, checksum = options.get("source"), options.get("collection"), options.get("checksum")
        with self._context.writing("deleting documents"):
            ids = [*document_ids, *self._find(source, collection, checksum)]
            self._context.memories.forget(text_hash(text) for text in self._context.texts(ids))
            shutil.rmtree(self._context.folder / FORMER_CONTEXTS, ignore_errors=True)
            is_whole = collection is not None and source is None and checksum is None and not document_ids
            self._store.documents.delete(self._user, ids, collection=collection if is_whole else None)
            if options.get("compact"):
                self._compact(scrub=options.get("scrub", False))
        return list(dict.fromkeys(ids))

    def compact(self, *, scrub: bool) -> None:
        """Remove every byte of deleted documents from the folder."""
        with self._context.writing("compacting"):
            self._compact(scrub=scrub)

    def _compact(self, *, scrub: bool) -> None:
        memories = self._context.memories
        if remembered := set(memories.scopes()) - {""}:
            texts = self._context.texts(document.id for document in self._documents(None))
            memories.forget(remembered - {text_hash(text) for text in texts})
        shutil.rmtree(self._context.folder / FORMER_CONTEXTS, ignore_errors=True)
        self._store.compact(self._user, scrub=scrub)

    def _find(self, source: str | Path | None, collection: str | None, checksum: str | None) -> list[str]:
        if checksum is not None:
            found = self._documents(in_collection(Condition("checksum", "eq", checksum), collection))
            missing = f"no document has the checksum {checksum[:80]!r}"
        elif source is not None:
            found = self._from_source(source, collection)
            missing = f"no document came from {as_text(source)}"
        elif collection is not None:
            found = self._documents(in_collection(None, collection))
            missing = f"there is no collection {collection!r} with documents in it"
        else:
            return []
        if not found:
            raise NotFound(missing)
        return [document.id for document in found]

    def _documents(self, where: Filter | None) -> list[Document]:
        return self._store.documents.all(self._user, where=where)

    def _from_source(self, source: str | Path, collection: str | None) -> list[Document]:
        names = [as_text(source), as_text(Path(source).expanduser().resolve())]
        rows = self._store.collections.all(self._user)
        collections = [collection] if collection else [str(row["name"]) for row in rows]
        documents = self._store.documents
        found = [documents.find_by(self._user, group, "source", names) for group in collections]
        return [row.document for rows in found for row in rows.values()]
