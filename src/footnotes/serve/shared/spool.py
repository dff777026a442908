"""Bytes on their way from a server to a worker: in a folder both can reach, or in the bucket of the originals."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path

from footnotes.config import Settings
from footnotes.errors import SourceUnreadable
from footnotes.store.bucket import BucketFiles

_PLACE = "spool"
FORGOTTEN_SECONDS = 3_600.0


def spool_folder(folder: Path, settings: Settings) -> Path:
    """Where bytes wait for a worker: beside the originals where these have a folder that all machines reach."""
    shared = settings.originals and "://" not in settings.originals
    return (Path(settings.originals).expanduser() if shared else folder) / _PLACE


class Spool:
    """Names are made by us, never by a client."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        bucket = "://" in settings.originals
        self._bucket = BucketFiles(settings.originals, folder / "fetched") if bucket else None

    def hand_over(self, name: str) -> None:
        """Let workers reach what was written to the folder here."""
        if self._bucket is not None:
            self._bucket.put(self.folder / name, f"{_PLACE}/{name}")
            (self.folder / name).unlink()

    def fetch(self, name: str) -> None:
        """Have the bytes in the folder under their name."""
        if self._bucket is None:
            return
        found = self._bucket.find(f"{_PLACE}/{name}")
        if found is None:
            raise SourceUnreadable("what was uploaded is not in the bucket any more")
        found.replace(self.folder / name)

    def let_go(self, name: str) -> None:
        """The copy of this machine goes; the bytes stay for another try."""
        if self._bucket is not None:
            (self.folder / name).unlink(missing_ok=True)

    def sweep(self, known: Collection[str]) -> None:
        """Remove files of this folder that nobody knows. One that is young may be about to become known."""
        before = time.time() - FORGOTTEN_SECONDS
        for path in self.folder.glob("*") if self.folder.is_dir() else ():
            with suppress(FileNotFoundError):
                if path.is_file() and path.name not in known and path.stat().st_mtime < before:
                    path.unlink()

    def drop(self, name: str) -> None:
        (self.folder / name).unlink(missing_ok=True)
        if self._bucket is not None:
            self._bucket.remove(f"{_PLACE}/{name}")
