"""Kept originals, never stored under their own names.

A row is created before its file and removed after it, so every file has a row. A crash can only leave a row without a
document, which is removed with its file before the next writer begins.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from footnotes.errors import NotFound
from footnotes.store.database import Database
from footnotes.store.files import Files
from footnotes.store.naming import tenant_folder
from footnotes.store.records import Problem

FOLDER = "files"


class Originals:
    """The kept files of a library. The caller holds the library for writing to change anything."""

    def __init__(self, files: Files, database: Database, holder: Callable[[str], int]) -> None:
        self._files = files
        self._database = database
        self._holder = holder

    def keep(self, user_id: str, pk: int, path: Path, file_hash: str) -> bool:
        """Copy a document's file, and release the copy of the previous version.

        Returns whether it did: a file that changed since the document was made is not its original.
        """
        name = f"{tenant_folder(user_id)}/{datetime.now(UTC):%Y-%m-%d}/{uuid.uuid4()}"
        key = self._make(user_id, name)
        try:
            digest, size = self._files.put(path, name)
            if digest == file_hash:
                self._attach(user_id, key, pk, digest, size)
            return digest == file_hash
        finally:
            self.sweep(user_id)

    def has(self, user_id: str, document_id: str) -> bool:
        return self._name_of(user_id, document_id) is not None

    def find(self, user_id: str, document_id: str) -> Path:
        """Return the path of a document's original."""
        name = self._name_of(user_id, document_id)
        path = None if name is None else self._files.find(name)
        if path is None:
            raise NotFound(
                f"no original of document {document_id!r} is kept",
                remedy="Set keep_originals and add the file again; from then on it is kept.",
            )
        return path

    def sweep(self, user_id: str) -> None:
        """Remove every file without a document, unless a live writer is adding it, then its row."""
        with self._database.read(user_id) as cursor:
            loose = cursor.all("loose_originals", holder=self._holder(user_id))
        for row in loose:
            self._files.remove(row["path"])
        if loose:
            with self._database.write(user_id) as cursor:
                cursor.run("drop_originals", keys=[row["pk"] for row in loose])

    def _make(self, user_id: str, name: str) -> int:
        """Create a row for a file to be copied."""
        with self._database.write(user_id) as cursor:
            return int(cursor.value("make_original", path=name, holder=self._holder(user_id)))

    def _attach(self, user_id: str, original: int, pk: int, digest: str, size: int) -> None:
        """Attach the file to its document, and release the document's previous file."""
        with self._database.write(user_id) as cursor:
            cursor.run("release_original", document=pk)
            cursor.run("attach_original", original=original, document=pk, file_hash=digest, bytes=size)

    def _name_of(self, user_id: str, document_id: str) -> str | None:
        """Return the document's file, if the document was made from it."""
        with self._database.read(user_id) as cursor:
            found: str | None = cursor.value("original_of", id=document_id)
        return found

    def check(self, user_id: str, *, repair: bool = False) -> Iterator[Problem | int]:
        """Check every kept file against its hash, and every file against a row; yields 1 for each valid one."""
        # List files before rows: a file added meanwhile has a row already.
        there = list(self._files.names(tenant_folder(user_id)))
        known = set()
        with self._database.read(user_id) as cursor:
            rows = cursor.all("all_originals")
        for row in rows:
            known.add(row["path"])
            if row["id"] is not None:
                yield self._check(row["path"], row["file_hash"], row["id"])
        for name in there:
            if name not in known:
                if repair:
                    self._files.remove(name)
                else:
                    yield Problem(f"{self._files.shown(name)} belongs to no document", mendable=True)

    def _check(self, name: str, file_hash: str, document_id: str) -> Problem | int:
        try:
            holds = self._files.digest(name) == file_hash
        except OSError as error:
            return Problem(f"document {document_id}: its original cannot be read ({error.strerror})", mendable=False)
        return 1 if holds else Problem(f"document {document_id}: its original does not match its hash", mendable=False)
