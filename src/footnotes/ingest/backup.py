"""Backup and restore of a whole library, with all tenants, from and to any store.

A folder is backed up directly. PostgreSQL is copied into a folder first, each tenant as one consistent snapshot: a
backup of either can be restored into either.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from footnotes.errors import CopyTargetInUse
from footnotes.ingest.copying import copy_library, copy_state, is_empty, note_lost
from footnotes.ingest.work import quiet
from footnotes.settings import Settings
from footnotes.store.backup import BackupSnapshot
from footnotes.store.make import open_store
from footnotes.store.sqlite.backup import backup_folder, restore_folder

Beside = Callable[[Path], object]
"""Copies data outside of the store (keys, jobs) to or from a folder."""


def backup_library(
    settings: Settings,
    folder: Path,
    file: Path,
    *,
    keep: int | None = None,
    beside: Beside | None = None,
    say: Callable[[str], None] | None = None,
) -> BackupSnapshot:
    """Add a snapshot to a backup file, while others read and write; `say` what it lacks."""
    if not settings.store:
        return backup_folder(folder, file, keep=keep)
    file.parent.mkdir(parents=True, exist_ok=True)
    with _between(settings, file.parent) as (draft, drafted):
        if beside is not None:
            beside(draft)  # jobs before documents: jobs that finish in between run again, and find their documents
        with closing(open_store(settings, folder)) as source, closing(open_store(drafted, draft)) as target:
            lost = 0
            for tenant in source.users():
                with _pin(source, tenant):
                    if not is_empty(source, tenant):
                        lost += copy_state(source, target, tenant, on_progress=quiet).lost
        if say is not None and (note := note_lost(lost)):
            say(note)
        return backup_folder(draft, file, keep=keep, library=source.address)


def restore_library(
    settings: Settings, folder: Path, file: Path, *, snapshot: int | None = None, beside: Beside | None = None
) -> BackupSnapshot:
    """Restore a snapshot of a backup file into an empty library."""
    if not settings.store:
        return restore_folder(file, folder, snapshot=snapshot)
    with _between(settings, file.parent) as (draft, drafted):
        found = restore_folder(file, draft, snapshot=snapshot)
        with closing(open_store(drafted, draft)) as source, closing(open_store(settings, folder)) as target:
            if any(target.documents.all(tenant, limit=1) for tenant in target.users()):
                raise CopyTargetInUse("the database already has documents", remedy="Restore into an empty database.")
            for tenant in source.users():
                if not is_empty(source, tenant):
                    copy_library(source, target, tenant, on_progress=quiet)
        if beside is not None:
            beside(draft)
    return found


@contextmanager
def _between(settings: Settings, parent: Path) -> Iterator[tuple[Path, Settings]]:
    """Create a temporary folder for a library; yield it with the settings of a library in a folder."""
    with tempfile.TemporaryDirectory(dir=parent, prefix=".library-") as work:
        draft = Path(work) / "library"
        yield draft, replace(settings, store="", index="", originals="", library=str(draft))


@contextmanager
def _pin(store: Any, tenant: str) -> Iterator[None]:
    with store.database.pinned(tenant):
        yield
