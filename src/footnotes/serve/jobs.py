"""Jobs: work that was accepted and is done behind the request. Kept in the database until it is dismissed."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from footnotes.errors import NotFound, ServerBusy, StorageQuota, is_retryable
from footnotes.serve.database import ServerDatabase, now
from footnotes.store.naming import INSIDE, source_mark
from footnotes.tracing import REQUEST_ID
from footnotes.types import ErrorInfo, NearDuplicate
from footnotes.wire import to_json

JobKind = Literal["upload", "url", "reindex"]
JobStage = Literal["parsing", "embedding", "indexing"]
JobState = Literal["queued", "running", "ready", "failed"]
KINDS = ("upload", "url", "reindex")
_KEPT_FINISHED = 1_000


@dataclass(frozen=True, slots=True)
class JobDocument:
    """What became of one document of a job; of a reindex how many `documents` it was about."""

    document_id: str | None
    status: str
    chunks: int
    path: str | None = None
    documents: int | None = None
    error: ErrorInfo | None = None
    warnings: tuple[str, ...] = ()
    near_duplicate_of: NearDuplicate | None = None


_HIDDEN = {"json": None}


@dataclass(frozen=True, slots=True)
class ServerJob:
    """One upload, address or reindex. `stage`, `done` and `total` say how far it is while it runs."""

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
    change: int = field(default=0, compare=False, metadata=_HIDDEN)
    most_attempts: int = field(default=5, compare=False, metadata=_HIDDEN)

    @property
    def collection(self) -> str | None:
        return self.request.get("collection")

    @property
    def document_id(self) -> str | None:
        return next((row.document_id for row in self.result if row.document_id), None)

    @property
    def retryable(self) -> bool:
        return bool(self.error and is_retryable(self.error.code))


@dataclass(frozen=True, slots=True)
class Room:
    """How many bytes a tenant may still keep, uploads that wait included, as of a moment."""

    left: int
    since: str


_ACCEPT = """
INSERT INTO jobs (id, tenant, kind, name, request, spool, bytes, state, created_at, updated_at)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, 'queued', ?8, ?8
WHERE (SELECT count(*) FROM jobs WHERE tenant = ?2 AND state IN ('queued', 'running')) < ?9
AND (?11 < 0 OR ?7 + (SELECT coalesce(sum(bytes), 0) FROM jobs WHERE tenant = ?2
                      AND (spool IS NOT NULL OR updated_at >= ?10)) <= ?11)
RETURNING *
"""
"""A job, unless too many wait or too many bytes do. What was done since a moment counts with what waits: it is not yet
among the documents that were counted at that moment."""


class Jobs:
    """The jobs of all tenants. Progress lives in memory, what counts in the database."""

    _accept = _ACCEPT

    def __init__(self, database: ServerDatabase, most_waiting: int) -> None:
        self._database = database
        self._most_waiting = most_waiting
        self._live: dict[str, ServerJob] = {}
        self._changes = 0
        self._guard = threading.Lock()

    def add(
        self,
        tenant: str,
        kind: JobKind,
        name: str,
        request: Mapping[str, Any],
        spool: str | None,
        *,
        size: int = 0,
        room: Room | None = None,
    ) -> ServerJob:
        """Accept a job, if there is room for it: that is looked up and taken in one statement."""
        moment, job_id = now(), "job_" + secrets.token_hex(8)
        written = json.dumps({**request, "request_id": REQUEST_ID.get()})  # calls made for it carry the same id
        what = (job_id, tenant, kind, name, written, spool, size, moment)
        limits = (self._most_waiting, room.since if room else moment, room.left if room else -1)
        rows = self._database.rows(self._accept, (*what, *limits))
        if not rows and self.waiting(tenant) >= self._most_waiting:
            raise ServerBusy(f"{self._most_waiting:,} documents wait already")
        if not rows:
            raise StorageQuota("the tenant may not keep so many bytes")
        return self._note(_job(rows[0]))

    def waiting_bytes(self, tenant: str) -> int:
        """The bytes of a tenant's uploads that jobs still hold."""
        sql = "SELECT coalesce(sum(bytes), 0) AS n FROM jobs WHERE tenant = ? AND spool IS NOT NULL"
        return int(self._database.rows(sql, (tenant,))[0]["n"])

    def waiting(self, tenant: str | None = None) -> int:
        """How many jobs are not done, of a tenant or of all."""
        sql = "SELECT count(*) AS n FROM jobs WHERE tenant = ifnull(?, tenant) AND state IN ('queued', 'running')"
        return int(self._database.rows(sql, (tenant,))[0]["n"])

    def waiting_tenants(self, kinds: Collection[str] = KINDS) -> dict[str, int]:
        """Tenants with jobs of some kinds nobody is at, and the number of the oldest of each."""
        sql = (
            "SELECT tenant, min(number) AS oldest FROM jobs "
            "WHERE state = 'queued' AND kind IN (?, ?, ?) GROUP BY tenant"
        )
        rows = self._database.rows(sql, _three(kinds))
        return {row["tenant"]: row["oldest"] for row in rows}

    def next_batch(
        self, tenant: str, most: int, last: Collection[str] = (), kinds: Collection[str] = KINDS
    ) -> list[ServerJob]:
        """The oldest job of a tenant that waits, with others of its kind that can be done together with it.

        Jobs in `last` come after the others. A job that is not done holds back later ones of the same source.
        """
        sql = "SELECT * FROM jobs WHERE tenant = ? AND state = 'queued' AND kind IN (?, ?, ?) ORDER BY number LIMIT ?"
        queued = [_job(row) for row in self._database.rows(sql, (tenant, *_three(kinds), most + len(last)))]
        new = {_place(job) for job in queued if job.id not in last}
        first_of = self._first_of_places(tenant, queued)
        free = [job for job in queued if job.kind == "reindex" or first_of[_place(job)] == job.number]
        jobs = sorted(free, key=lambda job: job.id in last and _place(job) not in new)[:most]
        if not jobs or jobs[0].kind != "upload" or jobs[0].attempts:
            return jobs[:1]  # one that was tried before is tried alone: it may have been the death of the others
        alike = ("upload", 0, jobs[0].request["collection"])
        return [job for job in jobs if (job.kind, job.attempts, job.request["collection"]) == alike]

    def _first_of_places(self, tenant: str, queued: Iterable[ServerJob]) -> dict[tuple[Any, Any], int]:
        """The number of the oldest unfinished job at each place: of those given, of other kinds, and of what runs."""
        kinds = {job.kind for job in queued}
        sql = (
            "SELECT * FROM jobs WHERE tenant = ? AND kind <> 'reindex' AND "
            "(state = 'running' OR state = 'queued' AND kind NOT IN (?, ?, ?))"
        )
        others = [_job(row) for row in self._database.rows(sql, (tenant, *_three(kinds)))] if kinds else []
        found: dict[tuple[Any, Any], int] = {}
        for job in (*queued, *others):
            found[_place(job)] = min(job.number, found.get(_place(job), job.number))
        return found

    def anybody_waits(self, besides: str, known: Collection[str], kinds: Collection[str] = KINDS) -> tuple[bool, bool]:
        """Whether jobs of some kinds wait of other tenants than one, and of this one such as are not known already."""
        sql = "SELECT id, tenant FROM jobs WHERE state = 'queued' AND kind IN (?, ?, ?)"
        rows = self._database.rows(sql, _three(kinds))
        others = any(row["tenant"] != besides for row in rows)
        return others, any(row["tenant"] == besides and row["id"] not in known for row in rows)

    def is_superseded(self, job: ServerJob) -> bool:
        """Whether a later version of what a job is about was accepted, and has not failed."""
        sql = "SELECT * FROM jobs WHERE tenant = ? AND number > ? AND state <> 'failed'"
        rows = self._database.rows(sql, (job.tenant, job.number))
        return job.kind != "reindex" and any(_place(other) == _place(job) for other in map(_job, rows))

    def change(self, job: ServerJob, **fields: Any) -> ServerJob:
        """Write a new state down."""
        changed = replace(job, **{"updated_at": now(), "stage": None, **fields})
        error = None if changed.error is None else json.dumps(to_json(changed.error))
        self._database.rows(
            "UPDATE jobs SET state = ?, result = ?, error = ?, attempts = ?, spool = ?, updated_at = ? WHERE id = ?",
            (
                changed.state,
                json.dumps(to_json(changed.result)),
                error,
                changed.attempts,
                changed.spool,
                changed.updated_at,
                job.id,
            ),
        )
        return self._note(changed)

    def progress(self, job_id: str, stage: JobStage, done: int, total: int) -> None:
        """How far a running job is; in memory alone."""
        with self._guard:
            job = self._live.get(job_id)
        if job is not None and job.state == "running" and (job.stage, job.done, job.total) != (stage, done, total):
            self._note(replace(job, stage=stage, done=done, total=total))

    def find(self, tenant: str, job_id: str) -> ServerJob:
        rows = self._database.rows("SELECT * FROM jobs WHERE tenant = ? AND id = ?", (tenant, job_id))
        if not rows:
            raise NotFound(f"there is no job {job_id!r}", remedy="List the jobs to see the ids there are.")
        return self._current(_job(rows[0]))

    def is_settled(self, job_id: str) -> bool:
        """Whether a job is known to be done, or gone; from memory alone."""
        with self._guard:
            job = self._live.get(job_id)
        return job is None or job.state in ("ready", "failed")

    def of(self, tenant: str, *, state: str | None = None, limit: int = 100, offset: int = 0) -> list[ServerJob]:
        """Newest first."""
        rows = self._database.rows(
            "SELECT * FROM jobs WHERE tenant = ? AND state = ifnull(?, state) ORDER BY number DESC LIMIT ? OFFSET ?",
            (tenant, state, limit, offset),
        )
        return [self._current(_job(row)) for row in rows]

    def changed(self, tenant: str, since: int) -> tuple[list[ServerJob], int]:
        """Jobs of a tenant that changed after a point, and the point to ask from next."""
        with self._guard:
            found = [job for job in self._live.values() if job.change > since and job.tenant == tenant]
            return sorted(found, key=lambda job: job.change), self._changes

    def remove(self, jobs: Iterable[ServerJob]) -> None:
        gone = list(jobs)
        for job in gone:
            self._database.rows("DELETE FROM jobs WHERE id = ?", (job.id,))
            with self._guard:
                self._live.pop(job.id, None)
        if gone:
            self._database.checkpoint()

    def about(self, tenant: str, document_ids: Iterable[str]) -> list[ServerJob]:
        """Finished jobs that made some documents."""
        wanted = set(document_ids)
        rows = self._database.rows("SELECT * FROM jobs WHERE tenant = ? AND state IN ('ready', 'failed')", (tenant,))
        return [job for job in map(_job, rows) if wanted & {row.document_id for row in job.result}]

    def failed_in(self, tenant: str, collection: str) -> list[ServerJob]:
        """Uploads and pages for a collection that failed, with a document or without one."""
        rows = self._database.rows("SELECT * FROM jobs WHERE tenant = ? AND state = 'failed'", (tenant,))
        return [job for job in map(_job, rows) if job.kind != "reindex" and job.collection == collection]

    def unfinished_at(self, tenant: str, places: Collection[tuple[str, str]]) -> list[ServerJob]:
        """Uploads and pages that are not done, of these collections and sources."""
        rows = self._database.rows("SELECT * FROM jobs WHERE tenant = ? AND state IN ('queued', 'running')", (tenant,))
        return [job for job in map(_job, rows) if job.kind != "reindex" and _place(job) in places]

    def leave_out(self, tenant: str, places: Collection[tuple[str, str]]) -> None:
        """Of archives that are not done, leave out members that were deleted."""
        rows = self._database.rows("SELECT * FROM jobs WHERE tenant = ? AND state <> 'ready'", (tenant,))
        for job in (job for job in map(_job, rows) if job.kind == "upload"):
            inside = f"{job.request['source']}{INSIDE}"
            gone = [place for place in places if place[0] == job.request["collection"] and place[1].startswith(inside)]
            if gone:
                marks = [*job.request.get("deleted", ()), *(source_mark(*place) for place in gone)]
                request = json.dumps({**job.request, "deleted": marks})
                self._database.rows("UPDATE jobs SET request = ? WHERE id = ?", (request, job.id))

    def requeue(self, job_ids: Iterable[str]) -> None:
        """Jobs nobody is at although they seem to run wait again."""
        for job_id in job_ids:
            sql = "UPDATE jobs SET state = 'queued', updated_at = ? WHERE id = ? AND state = 'running'"
            self._database.rows(sql, (now(), job_id))

    def recover(self) -> None:
        """After a restart: what ran waits again, and old finished jobs are forgotten."""
        self._database.rows("UPDATE jobs SET state = 'queued', updated_at = ? WHERE state = 'running'", (now(),))
        self._database.rows(
            "DELETE FROM jobs WHERE state = 'ready' AND number <= (SELECT ifnull(max(number), 0) FROM jobs) - ?",
            (_KEPT_FINISHED,),
        )

    def spools(self, tenant: str | None = None) -> set[str]:
        """Files that jobs still need, of a tenant or of all."""
        sql = "SELECT spool FROM jobs WHERE spool IS NOT NULL AND tenant = ifnull(?, tenant)"
        return {row["spool"] for row in self._database.rows(sql, (tenant,))}

    def _current(self, job: ServerJob) -> ServerJob:
        with self._guard:
            live = self._live.get(job.id)
        return replace(job, stage=live.stage, done=live.done, total=live.total) if live else job

    def _note(self, job: ServerJob) -> ServerJob:
        with self._guard:
            self._changes += 1
            noted = replace(job, change=self._changes)
            self._live.pop(job.id, None)
            self._live[job.id] = noted
            if len(self._live) > _KEPT_FINISHED * 2:
                self._forget_finished()
        return noted

    def _forget_finished(self) -> None:
        ended = [job.id for job in self._live.values() if job.state in ("ready", "failed")]
        for job_id in ended[:_KEPT_FINISHED]:
            del self._live[job_id]


def _three(kinds: Collection[str]) -> tuple[str, ...]:
    """The kinds as the three values a statement has room for."""
    return tuple([*kinds, "", "", ""][: len(KINDS)])


def _place(job: ServerJob) -> tuple[Any, Any]:
    """What a job is about: a later one of the same place replaces what an earlier one made."""
    return job.request.get("collection"), job.request.get("source") or job.request.get("url")


def _job(row: Mapping[str, Any]) -> ServerJob:
    names = ("id", "number", "tenant", "kind", "name", "spool", "state", "created_at", "updated_at", "attempts")
    return ServerJob(
        **{name: row[name] for name in names},
        request=json.loads(row["request"]),
        result=tuple(map(job_document, json.loads(row["result"]))),
        error=ErrorInfo(**json.loads(row["error"])) if row["error"] else None,
    )


def job_document(row: Mapping[str, Any]) -> JobDocument:
    """What became of a document, from its JSON."""
    error, near = row.get("error"), row.get("near_duplicate_of")
    nested = {
        "error": ErrorInfo(**error) if error else None,
        "near_duplicate_of": NearDuplicate(**near) if near else None,
        "warnings": tuple(row.get("warnings", ())),
    }
    return JobDocument(**{**row, **nested})


def outcome(rows: Sequence[JobDocument]) -> tuple[bool, ErrorInfo | None]:
    """Whether a job failed, and the first error: one of many files that fail does not make a failed job."""
    errors = [row.error for row in rows if row.error]
    failed = bool(errors) and all(row.error or row.status == "skipped" for row in rows)
    return failed, errors[0] if errors else None
