"""The workers of a database, known by their heartbeats, and what they have done."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass
from typing import Any

from footnotes import __version__
from footnotes.serve.shared.database import SharedDatabase

HEARTBEAT_SECONDS, STALLED_SECONDS = 5.0, 15.0
_FORGOTTEN_HOURS = 1

_BEAT = """
INSERT INTO workers (id, version, ready, reason, running) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
    heartbeat_at = now(), ready = excluded.ready, reason = excluded.reason, running = excluded.running
"""
_LISTED = """
SELECT id, version, started_at, heartbeat_at, ready, reason, running,
       heartbeat_at > now() - make_interval(secs => ?) AS alive
FROM workers ORDER BY started_at, id
"""
_COUNT = """
INSERT INTO counters AS c (name, label, value) SELECT * FROM unnest(?::text[], ?::text[], ?::double precision[])
ON CONFLICT (name, label) DO UPDATE SET value = c.value + excluded.value
"""


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker as its last heartbeat described it. `ready` is false for one that lives and cannot work."""

    id: str
    version: str
    started_at: str
    heartbeat_at: str
    ready: bool
    reason: str
    running: int


class Workers:
    """Who works on a database now."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database

    def beat(self, worker: str, *, reason: str = "", running: int = 0) -> None:
        self._database.rows(_BEAT, (worker, __version__, not reason, reason, running))

    def forget(self, worker: str) -> None:
        """A worker has ended in order; those that died long ago go with it."""
        sql = "DELETE FROM workers WHERE id = ? OR heartbeat_at < now() - make_interval(hours => ?)"
        self._database.rows(sql, (worker, _FORGOTTEN_HOURS))

    def live(self) -> list[WorkerInfo]:
        """Those whose heart has beaten lately."""
        rows = self._database.rows(_LISTED, (STALLED_SECONDS,))
        return [_info(row) for row in rows if row["alive"]]

    def ready(self) -> int:
        """How many could do a job now."""
        return sum(worker.ready for worker in self.live())


def _info(row: dict[str, Any]) -> WorkerInfo:
    times = {name: row[name].isoformat(timespec="seconds") for name in ("started_at", "heartbeat_at")}
    return WorkerInfo(
        row["id"], row["version"], **times, ready=row["ready"], reason=row["reason"], running=row["running"]
    )


class Counts:
    """What workers count, kept in the database: any server can tell it."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._new: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str, value: float) -> None:
        with self._guard:
            self._new[name, label] += value  # type: ignore[assignment]

    def save(self) -> None:
        """Write down what was counted since the last time; what cannot be written is kept."""
        with self._guard:
            new, self._new = self._new, Counter()
        if not new:
            return
        try:
            columns = [
                list(column)
                for column in zip(*((*key, float(value)) for key, value in sorted(new.items())), strict=True)
            ]
            self._database.rows(_COUNT, columns)
        except BaseException:
            with self._guard:
                self._new.update(new)
            raise

    def all(self) -> dict[tuple[str, str], float]:
        rows = self._database.rows("SELECT name, label, value FROM counters")
        return {(row["name"], row["label"]): row["value"] for row in rows}
