"""Originals that are kept, never under their own name.

A row is made before its file and outlives it, so that no file is ever without a row: whatever a crash leaves has a
row without a document, and is removed with it before the next writer begins.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

from footnotes.errors import NotFound
from footnotes.store.files import Files
from footnotes.store.naming import tenant_folder
from footnotes.store.records import Problem, Verification

FOLDER = "files"


class OriginalRows(Protocol):
    """What a store's database knows of originals."""

    def make(self, user_id: str, name: str) -> int:
        """A row for a file on its way in."""
        ...

    def attach(self, user_id: str, original: int, pk: int, digest: str, size: int) -> None:
        """The file is a document's now; the one it had before is on its way out."""
        ...

    def name_of(self, user_id: str, document_id: str) -> str | None:
        """The file of a document, if it is still the one the document was made from."""
        ...

    def loose(self, user_id: str | None) -> Sequence[tuple[int, str]]:
        """Files that belong to no document, and that nobody else is bringing in; of all tenants without one."""
        ...

    def drop(self, user_id: str | None, originals: Sequence[int]) -> None: ...

    def all(self, user_id: str) -> Iterable[tuple[str, str, str | None]]:
        """Name, hash, and document id of every file of a tenant."""
        ...


class Originals:
    """The kept files of a library. The caller holds it for writing where anything is changed."""

    def __init__(self, files: Files, rows: OriginalRows) -> None:
        self._files = files
        self._rows = rows

    def keep(self, user_id: str, pk: int, path: Path, file_hash: str) -> bool:
        """Copy a document's file, and let go of the copy of the version before.

        Says whether it did: a file that is not any more what the document was made from is no original of it.
        """
        name = f"{tenant_folder(user_id)}/{datetime.now(UTC):%Y-%m-%d}/{uuid.uuid4()}"
        made = self._rows.make(user_id, name)
        try:
            digest, size = self._files.put(path, name)
            if digest == file_hash:
                self._rows.attach(user_id, made, pk, digest, size)
            return digest == file_hash
        finally:
            self.sweep(user_id)

    def has(self, user_id: str, document_id: str) -> bool:
        return self._rows.name_of(user_id, document_id) is not None

    def find(self, user_id: str, document_id: str) -> Path:
        """Where the original of a document lies."""
        name = self._rows.name_of(user_id, document_id)
        path = None if name is None else self._files.find(name)
        if path is None:
            raise NotFound(
                f"no original of document {document_id!r} is kept",
                remedy="Set keep_originals and add the file again; from then on it is kept.",
            )
        return path

    def sweep(self, user_id: str | None = None) -> None:
        """Remove every file that belongs to no document, then its row."""
        loose = self._rows.loose(user_id)
        for _, name in loose:
            self._files.remove(name)
        if loose:
            self._rows.drop(user_id, [original for original, _ in loose])

    def check(self, user_id: str, *, repair: bool = False) -> Iterator[Problem | int]:
        """Every kept file against its hash, every file against a row; yields 1 for each that holds."""
        # Files are listed before rows are read: one that comes in meanwhile has a row already.
        there = list(self._files.names(tenant_folder(user_id)))
        known = set()
        for name, file_hash, document_id in self._rows.all(user_id):
            known.add(name)
            if document_id is not None:
                yield self._checked(name, file_hash, document_id)
        for name in there:
            if name not in known:
                if repair:
                    self._files.remove(name)
                else:
                    yield Problem(f"{self._files.shown(name)} belongs to no document", mendable=True)

    def _checked(self, name: str, file_hash: str, document_id: str) -> Problem | int:
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
