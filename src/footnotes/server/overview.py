"""The server's stored data for commands that run without one: its jobs and the connected model."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

from footnotes.answer.answerer import configured_model
from footnotes.answer.models import ChatModel
from footnotes.library import Library
from footnotes.server.database import FILE, ServerDatabase, open_database
from footnotes.server.jobs import Jobs, ServerJob
from footnotes.server.workers import Workers
from footnotes.settings import Settings

if TYPE_CHECKING:
    from footnotes.server.connections import Connections

QUEUE_STATES = ("queued", "running", "failed")
POSTGRES = ("postgresql://", "postgres://")
"""A store of another package has no servers of ours."""


class Queue(TypedDict):
    """Jobs by state, and the number of live workers."""

    queued: int
    running: int
    failed: int
    others: dict[str, int]
    workers: int | None


def queue_state(folder: Path, settings: Settings) -> Queue | None:
    """Count the tenant's jobs by state, those of all `others`, and live workers; None if no server ever ran.

    `workers` is None for a folder: its server has its own worker process.
    """
    with _database(folder, settings) as database:
        if database is None:
            return None
        counts = Jobs(database, 0).counts_by_tenant()
        workers = Workers(database).ready() if database.is_shared else None
    own = counts.pop(settings.user, {})
    return Queue(
        queued=own.get("queued", 0),
        running=own.get("running", 0),
        failed=own.get("failed", 0),
        others={state: sum(each.get(state, 0) for each in counts.values()) for state in QUEUE_STATES},
        workers=workers,
    )


def others_as_text(queue: Queue | None) -> str:
    """Return the unfinished and failed jobs of other tenants: `2 queued, 1 failed`; empty for none."""
    return ", ".join(f"{number} {state}" for state, number in (queue["others"] if queue else {}).items() if number)


def accepted_jobs(folder: Path, settings: Settings) -> list[ServerJob]:
    """Return the jobs that a server accepted for the tenant of the settings, oldest first."""
    with _database(folder, settings) as database:
        return [] if database is None else Jobs(database, 0).all(settings.user, limit=10_000)[::-1]


def default_model(folder: Path, settings: Settings) -> tuple[str, Callable[[], ChatModel]] | None:
    """Return the name of the connected or configured model, and a function that opens it; None without one."""
    with _database(folder, settings) as database:
        if database is not None:
            return _connections(database, folder, settings).default_model(settings.user)
    return configured_model(settings)


def use_connected_model(library: Library) -> dict[str, object]:
    """Register the model connected for the library's tenant; return it as the option `model` of `ask`."""
    folder, settings = library.folder, library.settings
    with _database(folder, settings) as database:
        if database is None:
            return {}
        return _connections(database, folder, settings).use(library, settings.user, None)


def _connections(database: ServerDatabase, folder: Path, settings: Settings) -> Connections:
    from footnotes.server.connections import Connections  # libraries without a server need none of its packages

    return Connections(database, folder, settings)


@contextmanager
def _database(folder: Path, settings: Settings) -> Iterator[ServerDatabase | None]:
    """Open the database of a library's servers, if there is one. SQLite opens none in a read-only folder."""
    in_folder = not settings.store and (folder / FILE).is_file() and os.access(folder, os.W_OK)
    if not (in_folder or settings.store.startswith(POSTGRES)):
        yield None
        return
    with closing(open_database(folder, settings)) as database:
        yield database
