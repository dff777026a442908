"""Uploaded bytes on their way from a server to a worker.

With a library in a folder they wait in that folder. With PostgreSQL they pass through the database, the bucket of the
originals, or the folder of the setting `originals`, which all machines must share; that is checked at start.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, cast

from footnotes.errors import ConfigError, StoreUnavailable
from footnotes.server.database import ServerDatabase
from footnotes.settings import Settings
from footnotes.store.bucket import BucketFiles

if TYPE_CHECKING:
    from footnotes.server.postgres import PostgresDatabase

SPOOL = "spool"
_MARK = ".footnotes-shared"
_BLOCK = 1 << 20
FORGOTTEN_SECONDS = 3_600.0


class _Carrier(Protocol):
    """Carries bytes from one machine to another. Names are ours, never a client's."""

    def put(self, path: Path, name: str) -> None: ...
    def fetch(self, name: str, path: Path) -> bool: ...
    def drop(self, name: str) -> None: ...


class Spool:
    """Where uploads wait for a worker. `folder` holds the files that this machine works on."""

    def __init__(self, folder: Path, settings: Settings, database: ServerDatabase) -> None:
        folder_name = settings.originals if database.is_shared else ""
        shared = folder_name and "://" not in folder_name
        self.folder = (Path(folder_name).expanduser() if shared else folder) / SPOOL
        self._database = database
        self._carrier: _Carrier | None = None
        self._is_shared_folder = bool(shared)
        if "://" in folder_name:
            self._carrier = _Bucket(BucketFiles(folder_name, self.folder / "fetched"))
        elif database.is_shared and not shared:
            self._carrier = _Rows(cast("PostgresDatabase", database))

    def open(self) -> None:
        """Create the folder; raise if a shared folder is not the one that other machines use."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._is_shared_folder:
                self._check_same_folder()
        except OSError as error:
            raise StoreUnavailable(f"cannot use the folder {self.folder} ({error.strerror})") from error

    def _check_same_folder(self) -> None:
        """Write a mark into folder and database on the first machine; raise on others whose folder lacks it."""
        proposed = secrets.token_hex(16)
        self._database.change("propose_mark", name=SPOOL, value=proposed)
        known = self._database.all("mark", name=SPOOL)[0]["value"]
        path = self.folder.parent / _MARK
        if known == proposed:
            path.write_text(known, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8").strip() != known:
            raise ConfigError(
                f"{self.folder.parent} is not the folder that the other servers and workers of this database use",
                remedy=f"Set `originals` to the same shared folder or bucket everywhere, or leave it empty. "
                f"If the folder was moved, move the file {_MARK} in it too.",
            )

    def send(self, name: str) -> None:
        """Send a file of this machine's folder to where workers can reach it."""
        if self._carrier is not None:
            self._carrier.put(self.folder / name, name)
            (self.folder / name).unlink()

    def fetch(self, name: str) -> None:
        """Fetch a file into this machine's folder."""
        if self._carrier is None:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._carrier.fetch(name, self.folder / name) and not (self.folder / name).is_file():
            raise StoreUnavailable(  # an older server stores them in its own folder
                "this machine cannot read the uploaded bytes",
                remedy="Upload the document again. Update all servers and workers to the same version.",
            )

    def remove_copy(self, name: str) -> None:
        """Remove this machine's copy; the bytes stay for another attempt."""
        if self._carrier is not None:
            (self.folder / name).unlink(missing_ok=True)

    def drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        if self._carrier is not None:
            self._carrier.drop(name)

    def sweep(self, known: Collection[str]) -> None:
        """Remove files that no job needs. With other writers, keep young files: their job may not be stored yet."""
        before = time.time() - (FORGOTTEN_SECONDS if self._database.is_shared else 0)
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            with suppress(FileNotFoundError):
                if path.is_file() and path.name not in known and path.stat().st_mtime <= before:
                    path.unlink()
        if self._database.is_shared:
            self._database.change("sweep_uploads", seconds=FORGOTTEN_SECONDS)


class _Rows:
    """Bytes in the database, in blocks."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def put(self, path: Path, name: str) -> None:
        with path.open("rb") as file, self._database.transaction() as cursor:
            number = 0
            while (block := file.read(_BLOCK)) or not number:
                cursor.run("add_block", name=name, number=number, content=block)
                number += 1

    def fetch(self, name: str, path: Path) -> bool:
        partial, number = path.with_name(path.name + ".part"), 0
        with partial.open("wb") as file, self._database.transaction() as cursor:
            while (block := cursor.value("block", name=name, number=number)) is not None:
                file.write(block)
                number += 1
        if not number:
            partial.unlink()
            return False
        partial.replace(path)
        return True

    def drop(self, name: str) -> None:
        self._database.change("drop_upload", name=name)


class _Bucket:
    """Bytes in the bucket of the originals."""

    def __init__(self, files: BucketFiles) -> None:
        self._files = files

    def put(self, path: Path, name: str) -> None:
        self._files.put(path, f"{SPOOL}/{name}")

    def fetch(self, name: str, path: Path) -> bool:
        found = self._files.find(f"{SPOOL}/{name}")
        if found is None:
            return False
        found.replace(path)
        return True

    def drop(self, name: str) -> None:
        self._files.remove(f"{SPOOL}/{name}")
