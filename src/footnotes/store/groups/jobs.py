"""Jobs: the journal of long work."""

from __future__ import annotations

from collections.abc import Sequence

from footnotes.store import jobs
from footnotes.store.groups.core import Core
from footnotes.store.records import JobUpdate, NewJob
from footnotes.store.retry import retrying
from footnotes.types import Job


class Jobs:
    """The jobs of every tenant."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def all(self, user_id: str) -> list[Job]:
        """What was begun and has not been forgotten, oldest first."""
        with self._core.database.read(user_id) as cursor:
            return jobs.listed(cursor)

    @retrying
    def make(self, user_id: str, run: int | None, new: Sequence[NewJob], holder: str) -> list[int]:
        with self._core.database.write(user_id) as cursor:
            return jobs.make(cursor, run, new, self._core.job_holder(user_id, holder))

    @retrying
    def take(self, user_id: str, numbers: Sequence[int], holder: str) -> None:
        with self._core.database.write(user_id) as cursor:
            jobs.take(cursor, numbers, self._core.job_holder(user_id, holder))

    @retrying
    def update(self, user_id: str, updates: Sequence[JobUpdate]) -> None:
        with self._core.database.write(user_id) as cursor:
            jobs.update(cursor, updates)

    @retrying
    def let_go(self, user_id: str) -> None:
        """The caller is not at its jobs any more, and neither is whoever died."""
        with self._core.database.write(user_id) as cursor:
            jobs.let_go(cursor, self._core.holder(user_id))
