"""Queues sources that are due. Any number of servers may do it: each claims a source for one turn."""

from __future__ import annotations

import logging
import threading

from footnotes.server.following import FollowedSource, FollowedSources
from footnotes.server.intake import Intake
from footnotes.server.jobs import ServerJob

_LOG = logging.getLogger("footnotes.server")
LOOK_SECONDS = 5.0


class Schedule:
    """A thread that queues the sources that are due."""

    def __init__(self, sources: FollowedSources, intake: Intake) -> None:
        self._sources, self._intake = sources, intake
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._work, name="footnotes-schedule", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(20)

    def run(self, source: FollowedSource) -> ServerJob:
        """Queue a source now. One that waits is not queued twice; one that runs may have passed what changed since."""
        for job in self._intake.jobs.all(source.tenant, state="queued", limit=1_000):
            if job.request.get("followed") == source.id:
                return job
        job = self._intake.accept_source(source.tenant, source.id, source.address, source.collection)
        self._sources.note_queued(source)
        return job

    def _work(self) -> None:
        while True:
            try:
                for source in self._sources.claim_due():
                    self.run(source)
            except Exception as error:  # the next turn may succeed
                _LOG.warning("sources cannot be queued", extra={"reason": type(error).__name__})
            if self._stop.wait(LOOK_SECONDS):
                return
