"""The jobs of a server, for commands that look at a library without one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from footnotes.server.database import FILE, ServerDatabase, open_database
from footnotes.server.jobs import Jobs, ServerJob
from footnotes.server.workers import Workers
from footnotes.settings import Settings

POSTGRES = ("postgresql://", "postgres://")
"""A store of another package has no servers of ours."""


def queue_state(folder: Path, settings: Settings) -> dict[str, object] | None:
    """Count jobs by state, and live workers; None if no server ever ran.

    `workers` is None for a folder: its server has its own worker process.
    """
    with _database(folder, settings) as database:
        if database is None:
            return None
        counts = Jobs(database, 0).counts()
        workers = Workers(database).ready() if database.is_shared else None
    return {**{state: counts.get(state, 0) for state in ("queued", "running", "failed")}, "workers": workers}


def accepted_jobs(folder: Path, settings: Settings) -> list[ServerJob]:
    """The jobs that a server accepted for the tenant of the settings, oldest first."""
    with _database(folder, settings) as database:
        return [] if database is None else Jobs(database, 0).all(settings.user, limit=10_000)[::-1]


@contextmanager
def _database(folder: Path, settings: Settings) -> Iterator[ServerDatabase | None]:
    """Open the database of a library's servers, if there is one."""
    if not settings.store.startswith(POSTGRES) and (settings.store or not (folder / FILE).is_file()):
        yield None
        return
    with closing(open_database(folder, settings)) as database:
        yield database
