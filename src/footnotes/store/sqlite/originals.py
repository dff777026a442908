"""Originals that are kept: files under `files/<tenant>/<date>/<uuid>`, never under their own name.

A row is made before its file and outlives it, so that no file is ever without a row: whatever a crash leaves has a
row without a document, and is removed with it before the next writer begins.
"""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO

from footnotes.errors import NotFound, SourceUnreadable, StoreFull, StoreUnavailable
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.verify import Problem, Verification

FOLDER = "files"
_BLOCK = 1 << 20


class Originals:
    """The kept files of a library. The caller holds it for writing where anything is changed."""

    def __init__(self, library: Path, database: Database) -> None:
        self._folder = library / FOLDER
        self._database = database

    def keep(self, user_id: str, pk: int, path: Path, file_hash: str) -> bool:
        """Copy a document's file, and let go of the copy of the version before.

        Says whether it did: a file that is not any more what the document was made from is no original of it.
        """
        name = f"{tenant_folder(user_id)}/{datetime.now(UTC):%Y-%m-%d}/{uuid.uuid4()}"
        with self._database.transaction() as connection:
            made: Any = connection.execute(queries()["make_original"], (user_id, name)).fetchone()
        try:
            digest, size = self._copy(path, name)
            if digest == file_hash:
                with self._database.transaction() as connection:
                    connection.execute(queries()["release_original"], (user_id, pk))
                    connection.execute(queries()["attach_original"], (pk, digest, size, user_id, made[0]))
            return digest == file_hash
        finally:
            self.sweep()

    def has(self, user_id: str, document_id: str) -> bool:
        return self._row(user_id, document_id) is not None

    def find(self, user_id: str, document_id: str) -> Path:
        """Where the original of a document lies."""
        row = self._row(user_id, document_id)
        if row is None or not (self._folder / row[0]).is_file():
            raise NotFound(
                f"no original of document {document_id!r} is kept",
                remedy="Set keep_originals and add the file again; from then on it is kept.",
            )
        return self._folder / str(row[0])

    def _row(self, user_id: str, document_id: str) -> Any:
        with self._database.snapshot() as connection:
            return connection.execute(queries()["original_of"], (user_id, document_id)).fetchone()

    def sweep(self) -> None:
        """Remove every file that belongs to no document, then its row."""
        with self._database.snapshot() as connection:
            loose: list[Any] = connection.execute(queries()["loose_originals"]).fetchall()
        for _, name in loose:
            self._remove(self._folder / name)
        if loose:
            with self._database.transaction() as connection:
                connection.executemany(queries()["drop_original"], [(pk,) for pk, _ in loose])

    def check(self, user_id: str, *, repair: bool = False) -> Iterator[Problem | int]:
        """Every kept file against its hash, every file against a row; yields 1 for each that holds."""
        known = set()
        with self._database.snapshot() as connection:
            rows: list[Any] = connection.execute(queries()["all_originals"], (user_id,)).fetchall()
        for name, file_hash, _, document_id in rows:
            known.add(name)
            if document_id is not None:
                yield self._checked(name, file_hash, document_id)
        for path in sorted((self._folder / tenant_folder(user_id)).rglob("*")):
            if path.is_file() and path.relative_to(self._folder).as_posix() not in known:
                if repair:
                    self._remove(path)
                else:
                    yield Problem(f"{path.relative_to(self._folder.parent)} belongs to no document", mendable=True)

    def _checked(self, name: str, file_hash: str, document_id: str) -> Problem | int:
        try:
            with (self._folder / name).open("rb") as file:
                holds = hashlib.file_digest(file, "sha256").hexdigest() == file_hash
        except OSError as error:
            return Problem(f"document {document_id}: its original cannot be read ({error.strerror})", mendable=False)
        return 1 if holds else Problem(f"document {document_id}: its original does not match its hash", mendable=False)

    def _copy(self, path: Path, name: str) -> tuple[str, int]:
        target = self._folder / name
        try:
            source = path.open("rb")
        except OSError as error:
            raise SourceUnreadable(f"{path.name} cannot be read ({error.strerror})") from error
        try:
            with source:
                target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                return _copied(source, target)
        except OSError as error:
            kind = StoreFull if error.errno in (errno.ENOSPC, errno.EDQUOT) else StoreUnavailable
            raise kind(f"the original of {path.name} cannot be kept ({error.strerror})") from error

    def _remove(self, path: Path) -> None:
        try:
            path.unlink(missing_ok=True)
            for folder in (path.parent, path.parent.parent, self._folder):
                if folder.is_dir() and not any(folder.iterdir()):
                    folder.rmdir()
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be removed ({error.strerror})") from error


def add_originals(found: Verification, originals: Originals, user_id: str, *, repair: bool) -> None:
    """Add to a verification what there is to say of kept originals."""
    for item in originals.check(user_id, repair=repair):
        if isinstance(item, Problem):
            found.problems.append(item)
        else:
            found.checked["originals"] = found.checked.get("originals", 0) + item


def tenant_folder(user_id: str) -> str:
    """The name of a tenant's folder: of any name, one that is safe in a path."""
    return hashlib.sha256(user_id.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _copied(source: BinaryIO, target: Path) -> tuple[str, int]:
    """Write the file for its owner alone, to the disk itself; its hash and size."""
    digest, size = hashlib.sha256(), 0
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as file:
        while block := source.read(_BLOCK):
            digest.update(block)
            size += len(block)
            file.write(block)
        file.flush()
        os.fsync(file.fileno())
    folder = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return digest.hexdigest(), size
