"""Bytes on their way from a server to a worker: through the database, the bucket of the originals, or their folder.

A folder is used only where the setting `originals` names one that all machines share, and that is checked at start.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from footnotes.config import Settings
from footnotes.errors import ConfigError, StoreUnavailable
from footnotes.serve.shared.database import SharedDatabase
from footnotes.store.bucket import BucketFiles

_PLACE = "spool"
_MARK = ".footnotes-shared"
_BLOCK = 1 << 20
FORGOTTEN_SECONDS = 3_600.0


class _Carrier(Protocol):
    """Brings bytes from one machine to another. Names are made by us, never by a client."""

    def put(self, path: Path, name: str) -> None: ...
    def fetch(self, name: str, path: Path) -> bool: ...
    def drop(self, name: str) -> None: ...


class Spool:
    """Where uploads wait for a worker. `folder` has what this machine is at."""

    def __init__(self, folder: Path, settings: Settings, database: SharedDatabase) -> None:
        shared = settings.originals and "://" not in settings.originals
        self.folder = (Path(settings.originals).expanduser() if shared else folder) / _PLACE
        self._database = database
        self._carrier: _Carrier | None = None
        if "://" in settings.originals:
            self._carrier = _Bucket(BucketFiles(settings.originals, self.folder / "fetched"))
        elif not shared:
            self._carrier = _Rows(database)

    def open(self) -> None:
        """Make the folder; one that machines share must be the one the others have."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            if self._carrier is None:
                self._check_shared()
        except OSError as error:
            raise StoreUnavailable(f"the folder {self.folder} cannot be used ({error.strerror})") from error

    def _check_shared(self) -> None:
        """The first to come leaves a mark in the folder, and notes it in the database; all others must find it."""
        wanted = secrets.token_hex(16)
        self._database.rows("INSERT INTO marks (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", (_PLACE, wanted))
        known = self._database.rows("SELECT value FROM marks WHERE name = ?", (_PLACE,))[0]["value"]
        path = self.folder.parent / _MARK
        if known == wanted:
            path.write_text(known, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8").strip() != known:
            raise ConfigError(
                f"{self.folder.parent} is not the folder that the other servers and workers of this database use",
                remedy=f"Let `originals` name the same shared folder or bucket everywhere, or leave it empty. "
                f"Where the folder was moved, move the file {_MARK} in it too.",
            )

    def hand_over(self, name: str) -> None:
        """Let workers reach what was written to the folder here."""
        if self._carrier is not None:
            self._carrier.put(self.folder / name, name)
            (self.folder / name).unlink()

    def fetch(self, name: str) -> None:
        """Have the bytes in the folder under their name."""
        if self._carrier is None:
            return
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not self._carrier.fetch(name, self.folder / name) and not (self.folder / name).is_file():
            raise StoreUnavailable(  # a worker beside an older server, which keeps them in its folder, may reach them
                "the uploaded bytes cannot be reached from this machine",
                remedy="Upload the document again. Update all servers and workers to the same version.",
            )

    def let_go(self, name: str) -> None:
        """The copy of this machine goes; the bytes stay for another try."""
        if self._carrier is not None:
            (self.folder / name).unlink(missing_ok=True)

    def drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        if self._carrier is not None:
            self._carrier.drop(name)

    def sweep(self, known: Collection[str]) -> None:
        """Remove what no job needs any more. A file that is young may be about to become known."""
        before = time.time() - FORGOTTEN_SECONDS
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            with suppress(FileNotFoundError):
                if path.is_file() and path.name not in known and path.stat().st_mtime < before:
                    path.unlink()
        self._database.rows(_SWEEP, (FORGOTTEN_SECONDS,))


_SWEEP = """
DELETE FROM uploads u WHERE created_at < now() - make_interval(secs => ?)
AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.spool = u.name)
"""


class _Rows:
    """Bytes in the database, in blocks."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def put(self, path: Path, name: str) -> None:
        with path.open("rb") as file, self._database.pool.transaction("") as connection:
            number = 0
            while (block := file.read(_BLOCK)) or not number:
                connection.execute(
                    "INSERT INTO uploads (name, number, content) VALUES ($1, $2, $3)", name, number, block
                )
                number += 1

    def fetch(self, name: str, path: Path) -> bool:
        partial, number = path.with_name(path.name + ".part"), 0
        with partial.open("wb") as file, self._database.pool.raw_snapshot("") as connection:
            while (block := connection.value(_BLOCK_OF, name, number)) is not None:
                file.write(block)
                number += 1
        if not number:
            partial.unlink()
            return False
        partial.replace(path)
        return True

    def drop(self, name: str) -> None:
        self._database.rows("DELETE FROM uploads WHERE name = ?", (name,))


_BLOCK_OF = "SELECT content FROM uploads WHERE name = $1 AND number = $2"


class _Bucket:
    """Bytes in the bucket of the originals."""

    def __init__(self, files: BucketFiles) -> None:
        self._files = files

    def put(self, path: Path, name: str) -> None:
        self._files.put(path, f"{_PLACE}/{name}")

    def fetch(self, name: str, path: Path) -> bool:
        found = self._files.find(f"{_PLACE}/{name}")
        if found is None:
            return False
        found.replace(path)
        return True

    def drop(self, name: str) -> None:
        self._files.remove(f"{_PLACE}/{name}")
