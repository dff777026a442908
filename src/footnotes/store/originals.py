"""Originals that are kept, never under their own name.

A row is made before its file and outlives it, so that no file is ever without a row: whatever a crash leaves has a
row without a document, and is removed with it before the next writer begins.
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
from footnotes.store.records import Problem, Verification

FOLDER = "files"


class Originals:
    """The kept files of a library. The caller holds it for writing where anything is changed."""

    def __init__(self, files: Files, database: Database, holder: Callable[[str], int]) -> None:
        self._files = files
        self._database = database
        self._holder = holder

    def keep(self, user_id: str, pk: int, path: Path, file_hash: str) -> bool:
        """Copy a document's file, and let go of the copy of the version before.

        Says whether it did: a file that is not any more what the document was made from is no original of it.
        """
        name = f"{tenant_folder(user_id)}/{datetime.now(UTC):%Y-%m-%d}/{uuid.uuid4()}"
        made = self._make(user_id, name)
        try:
            digest, size = self._files.put(path, name)
            if digest == file_hash:
                self._attach(user_id, made, pk, digest, size)
            return digest == file_hash
        finally:
            self.sweep(user_id)

    def has(self, user_id: str, document_id: str) -> bool:
        return self._name_of(user_id, document_id) is not None

    def find(self, user_id: str, document_id: str) -> Path:
        """Where the original of a document lies."""
        name = self._name_of(user_id, document_id)
        path = None if name is None else self._files.find(name)
        if path is None:
            raise NotFound(
                f"no original of document {document_id!r} is kept",
                remedy="Set keep_originals and add the file again; from then on it is kept.",
            )
        return path

    def sweep(self, user_id: str) -> None:
        """Remove every file that belongs to no document and that nobody is bringing in, then its row."""
        with self._database.read(user_id) as cursor:
            loose = cursor.all("loose_originals", holder=self._holder(user_id))
        for row in loose:
            self._files.remove(row["path"])
        if loose:
            with self._database.write(user_id) as cursor:
                cursor.run("drop_originals", keys=[row["pk"] for row in loose])

    def _make(self, user_id: str, name: str) -> int:
        """A row for a file on its way in."""
        with self._database.write(user_id) as cursor:
            return int(cursor.value("make_original", path=name, holder=self._holder(user_id)))

    def _attach(self, user_id: str, original: int, pk: int, digest: str, size: int) -> None:
        """The file is a document's now; the one it had before is on its way out."""
        with self._database.write(user_id) as cursor:
            cursor.run("release_original", document=pk)
            cursor.run("attach_original", original=original, document=pk, file_hash=digest, bytes=size)

    def _name_of(self, user_id: str, document_id: str) -> str | None:
        """The file of a document, if it is still the one the document was made from."""
        with self._database.read(user_id) as cursor:
            found: str | None = cursor.value("original_of", id=document_id)
        return found

    def check(self, user_id: str, *, repair: bool = False) -> Iterator[Problem | int]:
        """Every kept file against its hash, every file against a row; yields 1 for each that holds."""
        # Files are listed before rows are read: one that comes in meanwhile has a row already.
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


def add_originals(found: Verification, originals: Originals, user_id: str, *, repair: bool) -> None:
    """Add to a verification what there is to say of kept originals."""
    for item in originals.check(user_id, repair=repair):
        if isinstance(item, Problem):
            found.problems.append(item)
        else:
            found.checked["originals"] = found.checked.get("originals", 0) + item
