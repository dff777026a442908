"""Jobs: accepted work that runs after the request, stored until it is dismissed.

A job is queued, running, ready or failed. The worker that claims a job is its holder. A folder has one server, hence
one holder; PostgreSQL has any number of workers. Progress is in memory at once, and stored regularly.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from footnotes.errors import FootnotesError, NotFound, ServerBusy, StorageQuota, is_retryable
from footnotes.server.database import ServerDatabase, now, one
from footnotes.store.database import Row
from footnotes.store.naming import INSIDE, source_mark
from footnotes.tracing import REQUEST_ID
from footnotes.types import ErrorInfo, NearDuplicate
from footnotes.wire import to_json

JobKind = Literal["upload", "url", "reindex"]
JobStage = Literal["parsing", "embedding", "indexing"]
JobState = Literal["queued", "running", "ready", "failed"]
KINDS: tuple[JobKind, ...] = ("upload", "url", "reindex")
MOST_ATTEMPTS = 5
SAVE_PROGRESS_SECONDS = 0.5
"""Progress is stored this often at most."""
_MOST_LIVE = 2_000
_HIDDEN = {"json": None}


@dataclass(frozen=True, slots=True)
class JobDocument:
    """The outcome for one document of a job; for a reindex, the number of its `documents`."""

    document_id: str | None
    status: str
    chunks: int
    path: str | None = None
    documents: int | None = None
    error: ErrorInfo | None = None
    warnings: tuple[str, ...] = ()
    near_duplicate_of: NearDuplicate | None = None


@dataclass(frozen=True, slots=True)
class ServerJob:
    """One upload, address or reindex. `stage`, `done` and `total` are its progress while it runs."""

    id: str
    number: int = field(metadata=_HIDDEN)
    tenant: str = field(metadata=_HIDDEN)
    kind: JobKind
    name: str
    request: Mapping[str, Any] = field(metadata=_HIDDEN)
    spool: str | None = field(metadata=_HIDDEN)
    state: JobState
    created_at: str
    updated_at: str
    attempts: int = 0
    result: tuple[JobDocument, ...] = field(default=(), metadata={"json": "documents"})
    error: ErrorInfo | None = None
    stage: JobStage | None = None
    done: int = 0
    total: int = 0
    source: str | None = field(default=None, metadata=_HIDDEN)
    made_way: int = field(default=0, compare=False, metadata=_HIDDEN)
    change: int = field(default=0, compare=False, metadata=_HIDDEN)
    most_attempts: int = field(default=MOST_ATTEMPTS, compare=False, metadata=_HIDDEN)

    @property
    def collection(self) -> str | None:
        return self.request.get("collection")

    @property
    def target(self) -> tuple[str | None, str | None]:
        """Collection and source: a later job of the same target replaces the result of an earlier one."""
        return self.collection, self.source

    @property
    def document_id(self) -> str | None:
        return next((row.document_id for row in self.result if row.document_id), None)

    @property
    def retryable(self) -> bool:
        return bool(self.error and is_retryable(self.error.code))


@dataclass(frozen=True, slots=True)
class Room:
    """How many bytes a tenant may still store, as of a moment."""

    left: int
    since: str


class Jobs:
    """The jobs of all tenants."""

    def __init__(self, database: ServerDatabase, most_waiting: int) -> None:
        self._database = database
        self._most_waiting = most_waiting
        self._live: dict[str, ServerJob] = {}
        self._written: dict[str, float] = {}
        self._changes = 0
        self._guard = threading.Lock()

    def add(
        self,
        tenant: str,
        kind: JobKind,
        name: str,
        request: Mapping[str, object],
        spool: str | None,
        *,
        size: int = 0,
        room: Room | None = None,
    ) -> ServerJob:
        """Accept a job if there is room for it. One statement checks the room and takes it."""
        moment = now()
        rows = self._database.change(
            "accept_job",
            id="job_" + secrets.token_hex(8),
            tenant=tenant,
            kind=kind,
            name=name,
            request=json.dumps({**request, "request_id": REQUEST_ID.get()}),  # calls made for it carry the same id
            spool=spool,
            bytes=size,
            collection=None if kind == "reindex" else request.get("collection"),
            source=None if kind == "reindex" else request.get("source") or request.get("url"),
            moment=moment,
            most_waiting=self._most_waiting,
            since=room.since if room else moment,
            room=room.left if room else -1,
        )
        if not rows and self.waiting(tenant) >= self._most_waiting:
            raise ServerBusy(f"{self._most_waiting:,} documents are already pending")
        if not rows:
            raise StorageQuota("the tenant has reached its storage limit")
        return self._note(_job(rows[0]), tell=True)

    # ── looking

    def waiting_bytes(self, tenant: str) -> int:
        """Return the bytes that a tenant's jobs hold in the spool."""
        return int(self._database.all("waiting_bytes", tenant=tenant)[0]["n"])

    def waiting(self, tenant: str | None = None) -> int:
        """Count unfinished jobs, of a tenant or of all."""
        return int(self._database.all("waiting", tenant=tenant)[0]["n"])

    def counts(self) -> dict[str, int]:
        """Count the jobs in each state."""
        return {row["state"]: int(row["jobs"]) for row in self._database.all("count_states")}

    def counts_by_tenant(self) -> dict[str, dict[str, int]]:
        """Count the jobs of every tenant in each state."""
        found: dict[str, dict[str, int]] = {}
        for row in self._database.all("count_states_by_tenant"):
            found.setdefault(row["tenant"], {})[row["state"]] = int(row["jobs"])
        return found

    def find(self, tenant: str, job_id: str) -> ServerJob:
        row = one(self._database.all("find_job", tenant=tenant, id=job_id))
        if row is None:
            raise NotFound(f"there is no job {job_id!r}", remedy="List the jobs to see their ids.")
        return self._current(_job(row))

    def all(self, tenant: str, *, state: str | None = None, limit: int = 100, offset: int = 0) -> list[ServerJob]:
        """Return the jobs of a tenant, newest first."""
        rows = self._database.all("jobs_of", tenant=tenant, state=state, limit=limit, offset=offset)
        return [self._current(_job(row)) for row in rows]

    def find_by_documents(self, tenant: str, document_ids: Iterable[str]) -> list[ServerJob]:
        """Return finished jobs that created any of these documents."""
        wanted = set(document_ids)
        ended = map(_job, self._database.all("ended_jobs", tenant=tenant))
        return [job for job in ended if wanted & {row.document_id for row in job.result}]

    def failed_in(self, tenant: str, collection: str) -> list[ServerJob]:
        """Return failed uploads and pages of a collection."""
        return [_job(row) for row in self._database.all("failed_jobs", tenant=tenant, collection=collection)]

    def unfinished_at(self, tenant: str, targets: Collection[tuple[str, str]]) -> list[ServerJob]:
        """Return unfinished uploads and pages of these collections and sources."""
        return [job for job in map(_job, self._database.all("unfinished_jobs", tenant=tenant)) if job.target in targets]

    def is_superseded(self, job: ServerJob) -> bool:
        """Return whether a later job of the same target was accepted and has not failed."""
        target = {"collection": job.collection, "source": job.source}
        return bool(self._database.all("later_job", tenant=job.tenant, number=job.number, **target))

    def spools(self) -> set[str]:
        """Return spool files that jobs still need."""
        return {row["spool"] for row in self._database.all("spools")}

    def waiting_beside(self, tenant: str, kinds: Collection[JobKind]) -> tuple[bool, bool]:
        """Return whether jobs of these kinds wait: of other tenants, and of this tenant that never made way."""
        row = self._database.all("waiting_beside", tenant=tenant, kinds=list(kinds))[0]
        return bool(row["others"]), bool(row["own"])

    # ── working

    def claim(
        self, most: int, *, kinds: Collection[JobKind] = KINDS, holder: int = 0, at: Collection[str] = ()
    ) -> list[ServerJob]:
        """Claim the next job for a holder, with further uploads of its tenant that can be done together with it.

        An unfinished job holds back later ones of the same source. `at` are the jobs that the holder runs: it may
        claim other jobs that carry its number again.
        """
        moment = now()
        rows = self._database.change("claim_job", holder=holder, kinds=list(kinds), at=sorted(at), moment=moment)
        if not rows:
            return []
        first = self._note(_job(rows[0]), tell=True)
        if first.kind != "upload" or first.attempts > 1 or most < 2:
            return [first]  # a second attempt runs separately: the job may have killed the worker
        alike = {"tenant": first.tenant, "collection": first.collection}
        try:
            rows = self._database.change("claim_alike", holder=holder, **alike, most=most - 1, moment=moment)
        except FootnotesError:
            rows = []  # the first job is claimed already, and must run
        others = sorted(map(_job, rows), key=lambda job: job.number)
        return [first, *(self._note(job, tell=True) for job in others)]

    def change(
        self, job: ServerJob, *, held_by: int | None = None, delay: float = 0.0, **fields: Any
    ) -> ServerJob | None:
        """Store new fields of a job. With `held_by`, only if that holder still has it; None if not."""
        changed = replace(job, **{"updated_at": now(), "stage": None, **fields})
        error = None if changed.error is None else json.dumps(to_json(changed.error))
        rows = self._database.change(
            "set_job",
            id=job.id,
            holder=held_by,
            state=changed.state,
            result=json.dumps(to_json(changed.result)),
            error=error,
            attempts=changed.attempts,
            spool=changed.spool,
            made_way=changed.made_way,
            delay=delay,
            moment=changed.updated_at,
        )
        if held_by is not None and not rows:
            return None
        self._written.pop(job.id, None)
        return self._note(changed, tell=True)

    def progress(self, job_id: str, stage: JobStage, done: int, total: int) -> None:
        """Set the progress of a running job."""
        with self._guard:
            job = self._live.get(job_id)
        if job is None or job.state != "running" or (job.stage, job.done, job.total) == (stage, done, total):
            return
        self._note(replace(job, stage=stage, done=done, total=total))
        moment = time.monotonic()
        if self._database.is_shared and moment - self._written.get(job_id, 0.0) >= SAVE_PROGRESS_SECONDS:
            self._written[job_id] = moment
            values = {"stage": stage, "done": done, "total": total, "updated_at": now()}
            self._database.change("set_progress", id=job_id, **values)
            self._database.notify(job_id)

    def allow_attempts(self, job: ServerJob) -> None:
        """Allow a job that a person retries as many attempts as a new one."""
        self._database.change("allow_attempts", id=job.id, more=MOST_ATTEMPTS)

    def cancel(self, job: ServerJob) -> None:
        """Ask the worker of a running job to interrupt and remove it. In a folder, a running job is completed."""
        if self._database.is_shared:
            self._database.change("cancel_job", id=job.id)

    def is_cancelled(self, job: ServerJob) -> bool:
        row = one(self._database.all("job", id=job.id))
        return row is None or bool(row["is_cancelled"])

    def remove(self, jobs: Iterable[ServerJob]) -> None:
        gone = list(jobs)
        for job in gone:
            self._database.change("remove_job", id=job.id)
            self._forget(job.id)
            self._database.notify(job.id)
        if gone:
            self._database.checkpoint()

    def exclude_members(self, tenant: str, targets: Collection[tuple[str, str]]) -> None:
        """Leave deleted members out of unfinished archives."""
        for job in map(_job, self._database.all("undone_uploads", tenant=tenant)):
            inside = f"{job.request['source']}{INSIDE}"
            gone = [target for target in targets if target[0] == job.collection and target[1].startswith(inside)]
            if gone:
                marks = [*job.request.get("deleted", ()), *(source_mark(*target) for target in gone)]
                self._database.change("set_request", id=job.id, request=json.dumps({**job.request, "deleted": marks}))

    def recover(self) -> None:
        """After a start: remove old finished jobs; requeue running ones if no other process works."""
        if not self._database.is_shared:
            self._database.change("requeue_running", updated_at=now())
        self._database.change("forget_ready", kept=self._database.jobs_to_keep)

    # ── recent changes, for streams of events

    def changes_since(self, tenant: str, since: int) -> tuple[list[ServerJob], int]:
        """Return a tenant's jobs that changed after a point, and the next point to ask from."""
        with self._guard:
            found = [job for job in self._live.values() if job.change > since and job.tenant == tenant]
            return sorted(found, key=lambda job: job.change), self._changes

    def is_settled(self, job_id: str) -> bool:
        """Return whether a job is done or gone, from memory only."""
        with self._guard:
            job = self._live.get(job_id)
        return job is None or job.state in ("ready", "failed")

    def refresh(self, job_id: str) -> None:
        """Load a job that another process changed, for the event streams of this server."""
        row = one(self._database.all("job", id=job_id))
        if row is None:
            self._forget(job_id)
            return
        job = _job(row)
        with self._guard:
            known = self._live.get(job_id)
        if known != job:
            self._note(job)

    def _current(self, job: ServerJob) -> ServerJob:
        """Add the progress that is in memory to a job that was read."""
        if self._database.is_shared:
            return job
        with self._guard:
            live = self._live.get(job.id)
        return replace(job, stage=live.stage, done=live.done, total=live.total) if live else job

    def _note(self, job: ServerJob, *, tell: bool = False) -> ServerJob:
        with self._guard:
            self._changes += 1
            changed = replace(job, change=self._changes)
            self._live.pop(job.id, None)
            self._live[job.id] = changed
            if len(self._live) > _MOST_LIVE:
                ended = [job.id for job in self._live.values() if job.state in ("ready", "failed")]
                for job_id in ended[: _MOST_LIVE // 2]:
                    del self._live[job_id]
        if tell:
            self._database.notify(job.id, waits=job.state == "queued")
        return changed

    def _forget(self, job_id: str) -> None:
        with self._guard:
            self._live.pop(job_id, None)
            self._written.pop(job_id, None)


def _job(row: Row) -> ServerJob:
    names = ("id", "number", "tenant", "kind", "name", "spool", "state", "created_at", "updated_at", "attempts")
    more = ("done", "total", "source", "made_way", "most_attempts")
    return ServerJob(
        **{name: row[name] for name in (*names, *more)},
        stage=row["stage"] if row["state"] == "running" else None,
        request=json.loads(row["request"]),
        result=tuple(map(job_document_from_json, json.loads(row["result"]))),
        error=ErrorInfo(**json.loads(row["error"])) if row["error"] else None,
    )


def job_document_from_json(row: Mapping[str, Any]) -> JobDocument:
    """Read the outcome of a document from its JSON."""
    error, near = row.get("error"), row.get("near_duplicate_of")
    nested = {
        "error": ErrorInfo(**error) if error else None,
        "near_duplicate_of": NearDuplicate(**near) if near else None,
        "warnings": tuple(row.get("warnings", ())),
    }
    return JobDocument(**{**row, **nested})


def outcome(rows: Sequence[JobDocument]) -> tuple[bool, ErrorInfo | None]:
    """Return whether a job failed, and its first error. It fails only if every file failed."""
    errors = [row.error for row in rows if row.error]
    failed = bool(errors) and all(row.error or row.status == "skipped" for row in rows)
    return failed, errors[0] if errors else None
