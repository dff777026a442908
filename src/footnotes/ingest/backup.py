"""Backup and restore of a whole library, all its tenants, whichever store it is in."""

from __future__ import annotations

from pathlib import Path

from footnotes.config import Settings
from footnotes.errors import ConfigError
from footnotes.store.backup import BackupSnapshot
from footnotes.store.sqlite.backup import backup_folder, restore_folder

_BY_ITS_OWN_MEANS = "Use pg_dump or pg_basebackup: see docs/operating.md."


def backup_library(settings: Settings, folder: Path, file: Path, *, keep: int | None = None) -> BackupSnapshot:
    """Add a snapshot to a backup file, while others read and write."""
    if settings.store:
        raise ConfigError("a library in PostgreSQL is not backed up to a file", remedy=_BY_ITS_OWN_MEANS)
    return backup_folder(folder, file, keep=keep)


def restore_library(settings: Settings, folder: Path, file: Path, *, snapshot: int | None = None) -> BackupSnapshot:
    """Restore a snapshot of a backup file into an empty library."""
    if settings.store:
        raise ConfigError("a library in PostgreSQL is not restored from a file", remedy=_BY_ITS_OWN_MEANS)
    return restore_folder(file, folder, snapshot=snapshot)
