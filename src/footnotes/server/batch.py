"""Runs jobs that were claimed together, and stores the outcome of each. The same on every store."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from footnotes.errors import FootnotesError, StoreLocked, StoreUnavailable, WorkerDied, is_retryable
from footnotes.server.jobs import JobDocument, Jobs, ServerJob, job_document_from_json, outcome
from footnotes.server.spool import Spool
from footnotes.server.tasks import Report, Task, TaskEvent
from footnotes.types import ErrorInfo

_LOG = logging.getLogger("footnotes.jobs")
_LOST = StoreUnavailable("the worker lost its connection to the database in the middle of this job").info()
_LOCKED = StoreLocked("another writer was in the way").info()
MOST_DEATHS = 3


class Holder(Protocol):
    """The worker that holds a batch of jobs."""

    tries_again: bool
    """Whether a retryable failure is retried automatically."""
    retry_seconds: float
    """How long a job waits for its second attempt."""

    @property
    def number(self) -> int:
        """The number carried by its jobs."""
        ...

    @property
    def is_lost(self) -> bool:
        """Whether other workers may have claimed its jobs."""
        ...

    def run(self, task: Task, report: Report) -> None:
        """Run a task, in this process or another. Raises `WorkerDied` if that process died."""
        ...

    def on_event(self, event: TaskEvent, left: Mapping[str, ServerJob]) -> None:
        """Handle an event of a task; `left` are the unfinished jobs. May raise `TaskInterrupted` at progress."""
        ...

    def on_end(self, job: ServerJob, rows: Sequence[JobDocument], state: str) -> None:
        """Handle the end of a job, before its outcome is stored."""
        ...


class Batch:
    """Runs jobs of one tenant and one kind."""

    def __init__(self, claimed: Sequence[ServerJob], jobs: Jobs, spool: Spool, holder: Holder) -> None:
        self._jobs, self._spool, self._holder = jobs, spool, holder
        self._number = holder.number
        self._claimed = claimed
        self._causes: dict[str, ErrorInfo] = {}
        self.left = {job.id: job for job in claimed}
        """Jobs without a stored outcome."""
        self.has_made_way = False

    def run(self) -> str:
        """Run the jobs; return how they ended: a `tasks.Ending`, or `died`."""
        ended: list[TaskEvent] = []
        first = self._claimed[0]
        names = [job.spool for job in self._claimed if job.spool]
        data = [{"id": job.id, "request": dict(job.request), "spool": job.spool} for job in self._claimed]
        _LOG.info("jobs begin", extra={"jobs": list(self.left), "kind": first.kind, "tenant": first.tenant})
        try:
            if (failure := self._fetch(names)) is not None:
                return self._end({"how": "failed", "error": failure})
            self._holder.run(Task(first.kind, first.tenant, data), lambda event: self._on_event(event, ended))
        except WorkerDied as death:
            self._requeue_after_death(death)
            return "died"
        finally:
            for name in names:
                self._spool.remove_copy(name)
        return self._end(ended[-1])

    def _fetch(self, names: Sequence[str]) -> ErrorInfo | None:
        """Fetch the bytes to this machine; return the error if that fails."""
        try:
            for name in names:
                self._spool.fetch(name)
        except FootnotesError as failure:
            return failure.info()
        return None

    def _on_event(self, event: TaskEvent, ended: list[TaskEvent]) -> None:
        self._holder.on_event(event, self.left)
        if event["type"] == "progress":
            for job_id in event["jobs"]:
                self._jobs.progress(job_id, event["stage"], event["done"], event["total"])
        elif event["type"] == "settled" and (job := self.left.get(event["job"])) is not None:
            self._finish(job, [job_document_from_json(row) for row in event["documents"]])
        elif event["type"] == "ended":
            error = event["error"]
            ended.append({"how": event["how"], "error": ErrorInfo(**error) if error else None})

    def forget(self, job_ids: Sequence[str]) -> bool:
        """Drop jobs whose documents were deleted. Returns whether none is left."""
        found = [job_id for job_id in job_ids if self.left.pop(job_id, None) is not None]
        return bool(found) and not self.left

    # ── outcomes

    def _finish(self, job: ServerJob, rows: Sequence[JobDocument]) -> None:
        """Store the outcome of a job. The bytes of a failed job stay, for another attempt."""
        failed, error = outcome(rows)
        if failed and error is not None and is_retryable(error.code) and self._may_retry(job):
            self._causes[job.id] = error
            return
        self._holder.on_end(job, rows, "failed" if failed else "ready")
        if failed:
            self._write(job, state="failed", result=tuple(rows), error=error)
        else:
            self._write(job, state="ready", result=tuple(rows), error=error, spool=None)
            if job.spool:  # only now: a worker that dies here leaves bytes behind, but never a job without its bytes
                self._spool.drop(job.spool)
        del self.left[job.id]

    def _may_retry(self, job: ServerJob) -> bool:
        return self._holder.tries_again and job.attempts < job.most_attempts

    def _end(self, ending: TaskEvent) -> str:
        """Requeue or fail the jobs without an outcome."""
        how: str = ending["how"]
        is_lost = self._holder.is_lost or self._holder.number != self._number
        is_alone = len(self.left) == 1
        for job in list(self.left.values()):
            if how in ("broken_off", "locked") and not is_lost:
                self._requeue(job, how)
                continue
            error = _LOST if how == "broken_off" else ending["error"] or self._causes.get(job.id) or _LOCKED
            if not is_alone and how == "failed":  # one of them is at fault: run each separately
                self._write(job, state="queued", error=error)
            elif self._may_retry(job) and is_retryable(error.code):
                self._write(job, state="queued", error=error, delay=self._delay(job))
            else:
                self._fail(job, error)
        return how

    def _requeue(self, job: ServerJob, how: str) -> None:
        """Put an interrupted job back into the queue: this was no attempt. A cancelled one is removed."""
        if how == "broken_off" and self._jobs.is_cancelled(job):
            self._jobs.remove([job])
            if job.spool:
                self._spool.drop(job.spool)
            self._holder.on_end(job, (), "cancelled")
            return
        if how == "locked" and self._holder.tries_again:
            if self._may_retry(job):
                self._write(job, state="queued", error=_LOCKED, delay=self._delay(job))
            else:
                self._fail(job, _LOCKED)
            return
        self._write(job, state="queued", attempts=job.attempts - 1, made_way=job.made_way + self.has_made_way)

    def _requeue_after_death(self, death: WorkerDied) -> None:
        """Requeue the jobs of a worker that died, to run one at a time; fail those that saw too many deaths."""
        _LOG.error("the worker died", extra={"code": death.code, "reason": death.message})
        for job in list(self.left.values()):
            if job.attempts >= MOST_DEATHS:
                self._fail(job, death.info())
            else:
                self._write(job, state="queued")

    def _delay(self, job: ServerJob) -> float:
        return float(self._holder.retry_seconds * 2 ** min(job.attempts - 1, 10))

    def _fail(self, job: ServerJob, error: ErrorInfo) -> None:
        self._holder.on_end(job, (), "failed")
        self._write(job, state="failed", error=error)

    def _write(self, job: ServerJob, **fields: Any) -> None:
        changed = self._jobs.change(job, held_by=self._number, **fields)
        state = fields["state"] if changed is not None else "lost to another worker"
        _LOG.info("a job ends", extra={"job": job.id, "state": state, "attempt": job.attempts})


def fail_worn_out(claimed: Sequence[ServerJob], jobs: Jobs, holder: int) -> list[ServerJob]:
    """Fail claimed jobs that ran out of attempts because workers died; return the others."""
    died = WorkerDied("the worker died several times at this job").info()
    left = [job for job in claimed if job.attempts <= job.most_attempts]
    for job in claimed:
        if job not in left:
            jobs.change(job, held_by=holder, state="failed", error=died)
    return left
