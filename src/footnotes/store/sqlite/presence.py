"""Distinguishes a new library from one whose database is gone, by a marker file and the existing indexes."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path

from footnotes.errors import StoreCorrupt, StoreLocked
from footnotes.store.lock import FileLock
from footnotes.store.sqlite.wal import lost_from

MARKER = "library.json"
_RESTORE = "Restore the folder from a backup. To begin again, remove the folder with all that is in it."
_MOVE = "Restore the folder from a backup, or move {} away to go on with what was written before the damage."


def was_library(folder: Path) -> bool:
    """Return whether there was a library in a folder, even if its database is gone."""
    return (folder / MARKER).exists() or next(folder.glob("index/*/*/*/manifest.json"), None) is not None


def check_present(database: Path) -> None:
    """Raise `StoreCorrupt` if an existing database is missing, empty, or would lose commits of its log."""
    folder, log = database.parent, Path(f"{database}-wal")
    is_logged = log.exists() and log.stat().st_size > 0
    if not database.exists() and was_library(folder):
        raise StoreCorrupt(f"{database.name} is missing, though there was a library in {folder}", remedy=_RESTORE)
    if database.exists() and database.stat().st_size == 0 and not is_logged and was_library(folder):
        raise StoreCorrupt(f"{database.name} is empty, though there was a library in {folder}", remedy=_RESTORE)
    if is_logged:
        _check_log(folder, log)


def _check_log(folder: Path, log: Path) -> None:
    if not os.access(folder, os.W_OK):
        return
    with suppress(StoreLocked), FileLock(folder / "write.lock").held(seconds=0, purpose="checking the log"):
        if (frame := lost_from(log)) is not None:
            raise StoreCorrupt(
                f"{log.name} is damaged at frame {frame}: what was committed after it would be lost",
                remedy=_MOVE.format(log.name),
            )


def mark(folder: Path, library: str) -> None:
    """Leave a marker that there is a library here."""
    path = folder / MARKER
    if not path.exists():
        with suppress(OSError):  # on a full or protected disk, the indexes show it as well
            path.write_text(json.dumps({"library": library}) + "\n", encoding="utf-8")
            path.chmod(0o600)
