"""What a server left to be done, for commands that look at a library beside a server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from footnotes.config import Settings
from footnotes.serve.database import FILE, open_database

POSTGRES = ("postgresql://", "postgres://")
"""A store of another package has no servers of ours."""
_COUNTS = "SELECT state, count(*) AS jobs FROM jobs GROUP BY state"
_WORKERS = "SELECT count(*) AS workers FROM workers WHERE ready AND heartbeat_at > now() - interval '15 seconds'"


def queue_state(folder: Path, settings: Settings) -> dict[str, Any] | None:
    """How many jobs are in which state, and the workers alive; nothing where no server ever ran.

    A folder's server does the work in a process of its own: `workers` is known for PostgreSQL alone.
    """
    shared = settings.store.startswith(POSTGRES)
    if not shared and (settings.store or not (folder / FILE).is_file()):
        return None
    database = open_database(folder, settings)
    try:
        counts = {row["state"]: int(row["jobs"]) for row in database.rows(_COUNTS)}
        workers = int(database.rows(_WORKERS)[0]["workers"]) if shared else None
    finally:
        database.close()
    return {**{state: counts.get(state, 0) for state in ("queued", "running", "failed")}, "workers": workers}
