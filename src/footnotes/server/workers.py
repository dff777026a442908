"""The workers of a database, known by their heartbeats, and their counters."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import dataclass

from footnotes import __version__
from footnotes.server.database import ServerDatabase
from footnotes.store.database import Row

HEARTBEAT_SECONDS, STALLED_SECONDS = 5.0, 15.0
_FORGOTTEN_HOURS = 1


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker at its last heartbeat. `ready` is false for a live worker that cannot work."""

    id: str
    version: str
    started_at: str
    heartbeat_at: str
    ready: bool
    reason: str
    running: int


class Workers:
    """The workers of a database."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database

    def beat(self, worker: str, *, reason: str = "", running: int = 0) -> None:
        state = {"ready": not reason, "reason": reason, "running": running}
        self._database.change("beat", id=worker, version=__version__, **state)

    def forget(self, worker: str) -> None:
        """Remove a worker that ended in order, and those that died long ago."""
        self._database.change("forget_worker", id=worker, hours=_FORGOTTEN_HOURS)

    def live(self) -> list[WorkerInfo]:
        """Workers with a recent heartbeat."""
        return [_info(row) for row in self._database.all("workers_alive", seconds=STALLED_SECONDS)]

    def ready(self) -> int:
        """How many workers could do a job now."""
        return sum(worker.ready for worker in self.live())


def _info(row: Row) -> WorkerInfo:
    times = {name: row[name].isoformat(timespec="seconds") for name in ("started_at", "heartbeat_at")}
    return WorkerInfo(
        row["id"], row["version"], **times, ready=row["ready"], reason=row["reason"], running=row["running"]
    )


class Counts:
    """Counters of workers, stored in the database: any server can show them."""

    def __init__(self, database: ServerDatabase) -> None:
        self._database = database
        self._guard = threading.Lock()
        self._new: Counter[tuple[str, str]] = Counter()

    def add(self, name: str, label: str, value: float) -> None:
        with self._guard:
            self._new[name, label] += value  # type: ignore[assignment]

    def save(self) -> None:
        """Store the counts since the last time; keep them for the next time if that fails."""
        with self._guard:
            new, self._new = self._new, Counter()
        if not new:
            return
        try:
            counts = sorted(new.items())
            names, labels = ([key[at] for key, _ in counts] for at in range(2))
            amounts = [float(value) for _, value in counts]
            self._database.change("add_counts", names=names, labels=labels, amounts=amounts)
        except BaseException:
            with self._guard:
                self._new.update(new)
            raise

    def all(self) -> dict[tuple[str, str], float]:
        return {(row["name"], row["label"]): row["value"] for row in self._database.all("counts")}
