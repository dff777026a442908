"""A folder's library as files to back up, taken while others read and write it.

The databases are copied by SQLite's backup interface, each in one read transaction. Originals are copied after them: a
file that the copied database names and that is gone was deleted meanwhile, and the database is copied again. Indexes
are caches and are left out; they are rebuilt when the restored library is opened.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from footnotes.errors import BackupDamaged, CopyTargetInUse, NotALibrary, StoreCorrupt, StoreLocked, StoreUnavailable
from footnotes.store.backup import BackupFile, BackupSnapshot, SourceFile, SourceVanished
from footnotes.store.originals import FOLDER
from footnotes.store.sqlite.connection import checksum_vfs, translated
from footnotes.store.sqlite.cursor import SqliteCursor

LIBRARY = "footnotes.db"
DATABASES = ("server.db", LIBRARY)
"""The server's jobs first: what is done after that is done again, and finds its documents there."""
SETTINGS, RESTORED_SETTINGS = "footnotes.toml", "footnotes.toml.restored"
WORK = ".backup-"
BESIDE = (SETTINGS, "library.json", "server.keyed", "spool")
"""What else belongs to a library: its settings, marks of what there must be, and uploads that wait."""
ROUNDS = 5


def backup_folder(folder: Path, target: Path, *, keep: int | None = None, library: str | None = None) -> BackupSnapshot:
    """Add a snapshot of the library in a folder to a backup file, and read it back.

    `library` is what it is called there, where the folder is a copy.
    """
    if not (folder / LIBRARY).is_file():
        raise NotALibrary(f"there is no library in {folder}")
    with _translated(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        _sweep(target.parent)
    with BackupFile(target, create=True) as file:
        for _ in range(ROUNDS):
            with (
                tempfile.TemporaryDirectory(dir=target.parent, prefix=f"{WORK}{os.getpid()}-") as work,
                suppress(SourceVanished),
            ):
                return file.add(_gather(folder, Path(work)), library=library or str(folder.resolve()), keep=keep)
    raise StoreLocked("documents were deleted faster than they could be copied", remedy="Try again.")


def restore_folder(source: Path, folder: Path, *, snapshot: int | None = None) -> BackupSnapshot:
    """Write a snapshot into a folder that is empty or not there yet. It gets its name when it is complete."""
    folder = folder.resolve()
    with BackupFile(source) as file, _translated(folder):
        found = file.snapshot(snapshot)
        if not file.has(found.id, LIBRARY):
            raise BackupDamaged(f"snapshot {found.id} of {source} holds no library")
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            remedy = "Restore into an empty folder, or move this one away."
            raise CopyTargetInUse(f"{folder} is not an empty folder", remedy=remedy)
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _replace_at_end(folder) as draft:
            _extract(file, found, draft)
    return found


def _extract(file: BackupFile, found: BackupSnapshot, draft: Path) -> None:
    try:
        file.extract(found.id, draft)
    except (FileExistsError, NotADirectoryError) as error:
        raise BackupDamaged(f"snapshot {found.id} names a file twice") from error
    for name in DATABASES:
        if (draft / name).is_file():
            _check_pages(draft / name)
    if (draft / SETTINGS).is_file():  # addresses that keys are sent to are not taken over unseen
        (draft / SETTINGS).rename(draft / RESTORED_SETTINGS)


def _sweep(folder: Path) -> None:
    """Remove what backups left that were killed."""
    for left in folder.glob(f"{WORK}*"):
        owner = left.name.removeprefix(WORK).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be written or read ({error.strerror or error})") from error


@contextmanager
def _replace_at_end(folder: Path) -> Iterator[Path]:
    """A folder to fill that takes the place of `folder` at the end, or is removed."""
    draft = Path(tempfile.mkdtemp(dir=folder.parent, prefix=f".{folder.name}-"))
    try:
        yield draft
        if folder.exists():
            folder.rmdir()
        draft.rename(folder)
        parent = os.open(folder.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def _gather(folder: Path, work: Path) -> list[SourceFile]:
    databases = [name for name in DATABASES if (folder / name).is_file()]
    for name in databases:
        _copy_database(folder / name, work / name)
    originals = [SourceFile(f"{FOLDER}/{name}", folder / FOLDER / name, fixed=True) for name in _originals(work)]
    # Originals come first: one that is gone is found out before the databases are stored.
    return [*originals, *(SourceFile(name, work / name) for name in databases), *_beside(folder)]


def _copy_database(source: Path, target: Path) -> None:
    """Copy all pages in one read transaction: writers go on, and the copy is one state."""
    target.unlink(missing_ok=True)
    target.touch(mode=0o600)
    with translated():
        reading = apsw.Connection(str(source), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksum_vfs())
        writing = apsw.Connection(str(target), vfs=checksum_vfs())
        try:
            with writing.backup("main", reading, "main") as copying:
                copying.step(-1)
            writing.execute("PRAGMA journal_mode = DELETE")
        finally:
            reading.close()
            writing.close()
    _check_pages(target)


def _check_pages(database: Path) -> None:
    with translated():
        connection = apsw.Connection(str(database), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksum_vfs())
        try:
            found = connection.execute("PRAGMA integrity_check(1)").fetchone()
        finally:
            connection.close()
    if found is None or found[0] != "ok":
        raise StoreCorrupt(f"{database.name} is damaged ({found and found[0]})")


def _originals(work: Path) -> list[str]:
    """The files that documents of the copied database were made from."""
    with translated():
        connection = apsw.Connection(str(work / LIBRARY), flags=apsw.SQLITE_OPEN_READONLY, vfs=checksum_vfs())
        try:
            return [row["path"] for row in SqliteCursor(connection).all("attached_originals")]
        finally:
            connection.close()


def _beside(folder: Path) -> Iterator[SourceFile]:
    for name in BESIDE:
        top = folder / name
        for path in [top] if top.is_file() else sorted(top.rglob("*")):
            if path.is_file():
                yield SourceFile(path.relative_to(folder).as_posix(), path, passing=True)
