"""Accepts work, queues it as jobs, and waits for jobs on behalf of callers."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from footnotes.errors import (
    BodyTooLarge,
    EncryptedDocument,
    OptionError,
    RequestInvalid,
    StorageQuota,
    StoreReadOnly,
)
from footnotes.fetch.url import is_url
from footnotes.library import Library
from footnotes.parse.limits import Limits
from footnotes.parse.pdf_pages import unlocked
from footnotes.server.database import now
from footnotes.server.jobs import Jobs, Room, ServerJob
from footnotes.server.metrics import Metrics
from footnotes.server.spool import Spool
from footnotes.server.tenants import Tenants
from footnotes.server.worker import WorkerProcess
from footnotes.settings import Settings
from footnotes.types import Metadata

WAIT_POLL_SECONDS, LOOK_IN_DATABASE_SECONDS = 0.05, 5.0
"""How often a waiting caller looks for its job in memory, and in the database."""
NO_WORKER_SECONDS, LOOK_SECONDS = 10.0, 2.0
"""How long a waiting caller waits for workers to appear, and how often it checks."""
_BLOCK = 1 << 20


class Work(Protocol):
    """Does the accepted jobs: lanes of this server (`lane.py`), or workers on any machine (`shared_work.py`)."""

    @property
    def worker(self) -> WorkerProcess | None:
        """The process that ingests documents, if this server has one."""
        ...

    def start(self) -> None: ...

    def stop(self, seconds: float) -> None: ...

    def paused(self) -> AbstractContextManager[None]:
        """Keep the workers from writing while the context is open."""
        ...

    @property
    def is_stopping(self) -> bool: ...

    def wake(self) -> None:
        """Notify the workers that a job was queued."""
        ...

    def forget(self, job_ids: Iterable[str]) -> None:
        """Stop work on jobs whose documents were deleted."""
        ...

    def resumes(self, tenant: str) -> bool:
        """Return whether unfinished work of an earlier writer waits to be resumed."""
        ...

    def checks(self) -> dict[str, bool]:
        """Return the conditions for accepting and running jobs, by name."""
        ...

    def update(self, metrics: Metrics) -> None:
        """Update metrics that workers count."""
        ...

    def check_has_worker(self, job: ServerJob) -> None:
        """Raise if no worker can do a job."""
        ...


class Intake:
    """Accepts work. `accept_*` return a queued job at once; `wait_for` waits for its end."""

    def __init__(self, tenants: Tenants, jobs: Jobs, work: Work, spool: Spool, settings: Settings) -> None:
        self._tenants, self._work, self._bytes, self._settings = tenants, work, spool, settings
        self.jobs = jobs
        self.start, self.paused, self.resumes = work.start, work.paused, work.resumes
        self.checks, self.update = work.checks, work.update

    def stop(self, seconds: float = 20.0) -> None:
        """Interrupt the workers soon. Committed work is stored; the next start resumes the rest."""
        self._work.stop(seconds)

    @property
    def worker(self) -> WorkerProcess | None:
        return self._work.worker

    def check_may_change(self) -> None:
        """Raise if this server is read-only."""
        if self._settings.read_only:
            raise StoreReadOnly.refer(self._settings.primary)

    # ── accept

    def accept_file(
        self,
        tenant: str,
        file: BinaryIO,
        *,
        filename: str,
        collection: str | None,
        metadata: Mapping[str, object] | None,
        source: str | None = None,
        **making: object,
    ) -> ServerJob:
        """Store the bytes of an upload and queue a job. `making` are further options of `Library.build_source`."""
        self.check_may_change()
        path = self._bytes.folder / uuid.uuid4().hex
        options: dict[str, Any] = {"filename": filename, "collection": collection, "metadata": metadata, **making}
        with self._tenants.using(tenant) as library:
            new_source = library.build_source(path, **options, source=source or f"upload:{filename}")
            room = self._room(tenant, library)
        try:
            waiting = self.jobs.waiting_bytes(tenant) if room else 0
            left = None if room is None else room.left - waiting
            size = _copy(file, path, self._tenants.settings.max_file_bytes, left)
            request = {
                "filename": new_source.filename,
                "source": new_source.source,
                "collection": new_source.collection,
                "metadata": dict(new_source.metadata),
                **making,
            }
            self._bytes.send(path.name)
            job = self.jobs.add(tenant, "upload", new_source.filename, request, path.name, size=size, room=room)
        except BaseException:
            self._bytes.drop(path.name)
            raise
        self._work.wake()
        return job

    def _room(self, tenant: str, library: Library) -> Room | None:
        """Return how many more bytes a tenant may store, counting queued uploads."""
        most = self._tenants.settings.serve_tenant_bytes
        if not most:
            return None
        since = now()
        left = most - int(library.counts()["bytes"])
        if left - self.jobs.waiting_bytes(tenant) <= 0:
            raise StorageQuota(f"the tenant has used all of its {most:,} bytes")
        return Room(left, since)

    def accept_url(self, tenant: str, address: str, *, collection: str | None, metadata: Metadata | None) -> ServerJob:
        """Queue a page or a sitemap to be fetched."""
        self.check_may_change()
        if not is_url(address):
            raise OptionError("the address must begin with http:// or https://")
        with self._tenants.using(tenant) as library:
            new_source = library.build_source(
                self._bytes.folder, filename="page", collection=collection, metadata=metadata
            )
            self._room(tenant, library)
        request = {"url": address, "collection": new_source.collection, "metadata": dict(new_source.metadata)}
        job = self.jobs.add(tenant, "url", address[:500], request, None)
        self._work.wake()
        return job

    def accept_source(self, tenant: str, source_id: str, address: str, collection: str) -> ServerJob:
        """Queue a sync of a followed source. The request only names it: its secrets stay in the sources' table."""
        request = {"url": address, "collection": collection, "followed": source_id}
        job = self.jobs.add(tenant, "url", address[:500], request, None)
        self._work.wake()
        return job

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        """Queue a reindex, with an embedder that the server offers."""
        self.check_may_change()
        check_embedder(options.get("embedder"), self._tenants.settings)
        job = self.jobs.add(tenant, "reindex", options.get("collection") or "everything", dict(options), None)
        self._work.wake()
        return job

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        """Retry a failed job, unless it would restore an older version."""
        self.check_may_change()
        job = self.jobs.find(tenant, job_id)
        if job.state != "failed":
            return job
        if self.jobs.is_superseded(job):
            remedy = "Dismiss the job, or upload the older version again."
            raise RequestInvalid("a later version of this document was accepted", remedy=remedy)
        self.jobs.allow_attempts(job)
        queued = self.jobs.change(job, state="queued", error=None, result=())
        self._work.wake()
        return queued or job

    def unlock(self, tenant: str, job_id: str, password: str) -> ServerJob:
        """Ingest a PDF with its password: a decrypted copy is stored, the password is not."""
        self.check_may_change()
        job = self.jobs.find(tenant, job_id)
        if job.state != "failed" or job.spool is None or job.error is None or job.error.code != EncryptedDocument.code:
            raise RequestInvalid("this job does not need a password", remedy="Upload the document again.")
        settings = self._tenants.settings
        limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
        self._bytes.fetch(job.spool)
        locked = self._bytes.folder / job.spool
        try:
            with unlocked(locked, password, job.name, limits) as file:
                accepted_file = self.accept_file(tenant, file, **job.request)
        finally:
            self._bytes.remove_copy(job.spool)
        self.dismiss(tenant, job_id)
        return accepted_file

    def dismiss(self, tenant: str, job_id: str) -> ServerJob:
        """Remove a job and its bytes. A worker that runs it interrupts it soon."""
        self.check_may_change()
        job = self.jobs.find(tenant, job_id)
        if job.state != "running":
            self.jobs.remove([job])
            self._drop(job)
        else:
            self.jobs.cancel(job)
        return job

    def delete(
        self, tenant: str, library: Library, document_ids: Sequence[str] = (), *, collection: str | None = None
    ) -> list[str]:
        """Delete documents, and the jobs about them: an unfinished job must not restore a document."""
        with self.paused():
            found = library.documents(collection=collection) if collection else map(library.document, document_ids)
            targets = {(document.collection, document.source) for document in found}
            failed = self.jobs.failed_in(tenant, collection) if collection else []
            deleted = library.delete(*document_ids, collection=collection) if targets or not failed else []
            self.jobs.exclude_members(tenant, targets)
            self.forget(tenant, deleted, targets)
            self.jobs.remove(failed)
            for job in failed:  # its bytes were stored for a retry
                self._drop(job)
        return deleted

    def forget(self, tenant: str, document_ids: Iterable[str], targets: Collection[tuple[str, str]] = ()) -> None:
        """Remove every job about deleted documents, finished or not, with its bytes."""
        about = [*self.jobs.find_by_documents(tenant, document_ids), *self.jobs.unfinished_at(tenant, targets)]
        self.jobs.remove(about)
        self._work.forget(job.id for job in about)
        for job in about:
            self._drop(job)

    async def wait_for(
        self, job: ServerJob, seconds: float, is_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> ServerJob:
        """Wait until a job is done, the time is over or the caller is gone; return the job. Needs no thread."""
        deadline, look = time.monotonic() + seconds, 0.0
        check = time.monotonic() + NO_WORKER_SECONDS
        while True:
            moment = time.monotonic()
            if moment >= look or self.jobs.is_settled(job.id):
                job = await asyncio.to_thread(self.jobs.find, job.tenant, job.id)
                look = moment + LOOK_IN_DATABASE_SECONDS
            if job.state in ("ready", "failed") or moment >= deadline or self._work.is_stopping:
                return job
            if moment >= check:
                await asyncio.to_thread(self._work.check_has_worker, job)
                check = moment + LOOK_SECONDS
            if is_gone is not None and await is_gone():
                return job
            await asyncio.sleep(WAIT_POLL_SECONDS)

    def _drop(self, job: ServerJob) -> None:
        if job.spool:
            self._bytes.drop(job.spool)


def check_embedder(name: str | None, settings: Settings) -> None:
    """Raise unless the embedder is the server's own or one that it offers."""
    if name is not None and name not in (settings.embedder, *settings.serve_embedders):
        remedy = "Use the embedder of the server, or add this one to the setting serve_embedders."
        raise OptionError("the server does not offer this embedder", remedy=remedy)


def _copy(file: BinaryIO, path: Path, most: int, room: int | None) -> int:
    """Copy a file into the spool, durably; return its size. Raises if it is too large."""
    size = 0
    with path.open("xb") as target:
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                remedy = "Split the file, or raise max_file_bytes in the settings."
                raise BodyTooLarge(f"a file has more than {most:,} bytes", remedy=remedy)
            if room is not None and size > room:
                raise StorageQuota(f"the file is larger than the {room:,} bytes that the tenant has left")
            target.write(block)
        target.flush()
        os.fsync(target.fileno())  # accepted uploads survive a power cut
    return size
