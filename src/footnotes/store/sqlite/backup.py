"""Backs up a library in a folder while others read and write it.

SQLite's backup interface copies the databases, each in one read transaction. Originals are copied after them: if a file
in the copied database is missing, it was deleted meanwhile, and the database is copied again. Indexes are caches and
are left out; opening the restored library rebuilds them.
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
"""The server's jobs first: work done after this copy is repeated, and finds its documents in the other copy."""
SETTINGS, RESTORED_SETTINGS = "footnotes.toml", "footnotes.toml.restored"
WORK = ".backup-"
BESIDE = (SETTINGS, "library.json", "server.keyed", "spool")
"""Other parts of a library: its settings, marks of what must exist, and waiting uploads."""
ROUNDS = 5


def backup_folder(folder: Path, target: Path, *, keep: int | None = None, library: str | None = None) -> BackupSnapshot:
    """Add a snapshot of the library in a folder to a backup file, and read it back.

    `library` is its name in the backup, if the folder is a copy.
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
    """Write a snapshot into an empty or new folder. The folder gets its name when it is complete."""
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
    if (draft / SETTINGS).is_file():  # settings can send keys to other addresses, so they are not restored unseen
        (draft / SETTINGS).rename(draft / RESTORED_SETTINGS)


def _sweep(folder: Path) -> None:
    """Remove what killed backups left behind."""
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
    """Yield a folder to fill; at the end it replaces `folder`, or is removed on failure."""
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
    # Originals first: a missing one is noticed before the databases are stored.
    return [*originals, *(SourceFile(name, work / name) for name in databases), *_beside(folder)]


def _copy_database(source: Path, target: Path) -> None:
    """Copy all pages in one read transaction: writers continue, and the copy is consistent."""
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
    """Return the originals of the copied database's documents."""
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
