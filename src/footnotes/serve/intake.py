"""Has what was accepted taken in, some at a time, behind the requests: by a process of its own, or by a thread here."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from footnotes.config import Settings
from footnotes.engine import Library
from footnotes.errors import BodyTooLarge, NotALibrary, OptionError, RequestInvalid, StorageQuota
from footnotes.fetch.url import is_url
from footnotes.ingest.journal import unfinished_runs
from footnotes.serve.database import now
from footnotes.serve.jobs import JobDocument, JobKind, Jobs, Room, ServerJob, outcome
from footnotes.serve.lane import Lane
from footnotes.serve.metrics import Metrics
from footnotes.serve.tenants import Tenants
from footnotes.store.make import open_store

_LOG = logging.getLogger("footnotes.serve")
SPOOL = "spool"
LOOK_AGAIN_SECONDS = 0.25
WAIT_POLL_SECONDS, LOOK_ANYWAY_SECONDS = 0.05, 5.0
"""How often whoever waits for a job looks at what is known of it here, and in the database."""
_BLOCK = 1 << 20


class Intake:
    """Accepts work and has it done. `accept_*` return at once; what became of it is in the jobs."""

    def __init__(self, tenants: Tenants, jobs: Jobs, metrics: Metrics, settings: Settings) -> None:
        self._tenants = tenants
        self._metrics = metrics
        self.jobs = jobs
        self._spool = tenants.folder / SPOOL
        self._stop = threading.Event()
        self._pausing = 0
        self._pause_guard = threading.Lock()
        lanes: tuple[tuple[JobKind, ...], ...] = (
            ("upload", "reindex"),
            ("url",),
        )  # pages are waited for: nothing else waits with them
        self._lanes = [Lane(self, tenants, metrics, settings, self._spool, kinds) for kinds in lanes]
        self.worker = self._lanes[0].worker
        names = ("intake", "fetching")
        self._threads = [
            *(self._thread(lane.work, name) for lane, name in zip(self._lanes, names, strict=True)),
            self._thread(self._look_again, "look-again"),
        ]

    @staticmethod
    def _thread(target: Callable[[], None], name: str) -> threading.Thread:
        return threading.Thread(target=target, name=f"footnotes-{name}", daemon=True)

    def start(self) -> None:
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.jobs.recover()
        known = self.jobs.spools()
        for path in self._spool.iterdir():
            if path.name not in known:
                path.unlink(missing_ok=True)
        self._lanes[0].to_resume = unfinished_tenants(self._tenants.folder, self._tenants.settings)
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 20.0) -> None:
        """Break off soon; what was committed is kept, and the next start goes on with the rest."""
        self._stop.set()
        self._wake()
        for thread in self._threads:
            if thread.is_alive():
                thread.join(seconds)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Lets somebody else write: the worker breaks off soon, and goes on where it was afterwards."""
        with self._pause_guard:
            self._pausing += 1
        try:
            yield
        finally:
            with self._pause_guard:
                self._pausing -= 1
            self._wake()

    @property
    def is_stopping(self) -> bool:
        return self._stop.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until it stops."""
        self._stop.wait(seconds)

    @property
    def is_paused(self) -> bool:
        return self._pausing > 0

    def _wake(self) -> None:
        for lane in self._lanes:
            lane.wake.set()

    @property
    def alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads[: len(self._lanes)])

    def checks(self) -> dict[str, bool]:
        """What must be so that work is accepted and done."""
        return {"intake": self.alive}

    def update(self, metrics: Metrics) -> None:
        """Bring metrics up to date that are counted elsewhere."""
        metrics.workers.set(int(self.alive))

    def check_may_change(self) -> None:
        """Raise where this server only reads."""

    # ── accept

    def accept_file(
        self,
        tenant: str,
        file: BinaryIO,
        *,
        filename: str,
        collection: str | None,
        metadata: Mapping[str, Any] | None,
        source: str | None = None,
        **making: Any,
    ) -> ServerJob:
        """Keep the bytes of an upload and queue it. `making` are further options of `Library.handed_over`."""
        path = self._spool / uuid.uuid4().hex
        given: dict[str, Any] = {"filename": filename, "collection": collection, "metadata": metadata, **making}
        with self._tenants.using(tenant) as library:
            checked = library.handed_over(path, **given, source=source or f"upload:{filename}")
            room = self._room(tenant, library)
        try:
            waiting = self.jobs.waiting_bytes(tenant) if room else 0
            left = None if room is None else room.left - waiting
            size = _copy(file, path, self._tenants.settings.max_file_bytes, left)
            request = {
                "filename": checked.filename,
                "source": checked.source,
                "collection": checked.collection,
                "metadata": dict(checked.metadata),
                **making,
            }
            self._hand_over(path.name)
            job = self.jobs.add(tenant, "upload", checked.filename, request, path.name, size=size, room=room)
        except BaseException:
            self._drop_bytes(path.name)
            raise
        self._wake()
        return job

    def _room(self, tenant: str, library: Library) -> Room | None:
        """How many bytes more a tenant may keep, uploads that wait to be taken in included."""
        most = self._tenants.settings.serve_tenant_bytes
        if not most:
            return None
        since = now()
        left = most - int(library.counts()["bytes"])
        if left - self.jobs.waiting_bytes(tenant) <= 0:
            raise StorageQuota(f"all {most:,} bytes the tenant may keep are used")
        return Room(left, since)

    def accept_url(
        self, tenant: str, address: str, *, collection: str | None, metadata: Mapping[str, Any] | None
    ) -> ServerJob:
        """Queue a page or a sitemap to be fetched."""
        if not is_url(address):
            raise OptionError("the address must begin with http:// or https://")
        with self._tenants.using(tenant) as library:
            checked = library.handed_over(self._spool, filename="page", collection=collection, metadata=metadata)
            self._room(tenant, library)
        request = {"url": address, "collection": checked.collection, "metadata": dict(checked.metadata)}
        job = self.jobs.add(tenant, "url", address[:500], request, None)
        self._wake()
        return job

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        """Queue a reindex, with an embedder that callers may choose."""
        check_embedder(options.get("embedder"), self._tenants.settings)
        job = self.jobs.add(tenant, "reindex", options.get("collection") or "everything", dict(options), None)
        self._wake()
        return job

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        """Try a failed job again; not one that would bring an older version back."""
        job = self.jobs.find(tenant, job_id)
        if job.state == "failed":
            if self.jobs.is_superseded(job):
                remedy = "Dismiss the job, or hand the older version over again."
                raise RequestInvalid("a later version of this document was accepted", remedy=remedy)
            job = self.jobs.change(job, state="queued", error=None, result=())
            self._wake()
        return job

    def dismiss(self, tenant: str, job_id: str) -> ServerJob:
        """Forget a job that is done or has not begun; its bytes go with it."""
        job = self.jobs.find(tenant, job_id)
        if job.state != "running":
            self.jobs.remove([job])
            self._drop(job)
        return job

    def delete(
        self, tenant: str, library: Library, document_ids: Sequence[str] = (), *, collection: str | None = None
    ) -> list[str]:
        """Delete documents, and what jobs hold of them: a job that was still at one must not bring it back."""
        with self.paused():
            found = library.documents(collection=collection) if collection else map(library.document, document_ids)
            places = {(document.collection, document.source) for document in found}
            failed = self.jobs.failed_in(tenant, collection) if collection else []
            gone = library.delete(*document_ids, collection=collection) if places or not failed else []
            self.jobs.leave_out(tenant, places)
            self.forget(tenant, gone, places)
            self.jobs.remove(failed)
            for job in failed:  # its bytes were kept for another try
                self._drop(job)
        return gone

    def forget(self, tenant: str, document_ids: Iterable[str], places: Collection[tuple[str, str]] = ()) -> None:
        """Nothing of a deleted document stays in the jobs, also in those that are not done with it."""
        about = [*self.jobs.about(tenant, document_ids), *self.jobs.unfinished_at(tenant, places)]
        self.jobs.remove(about)
        for lane in self._lanes:
            lane.forget(job.id for job in about)
        for job in about:
            self._drop(job)

    async def settled(
        self, job: ServerJob, seconds: float, is_gone: Callable[[], Awaitable[bool]] | None = None
    ) -> ServerJob:
        """The job when it is done, or as it is after some time or when whoever waits is gone. No thread waits here."""
        deadline, look = time.monotonic() + seconds, 0.0
        while True:
            moment = time.monotonic()
            if moment >= look or self.jobs.is_settled(job.id):
                job, look = await asyncio.to_thread(self.jobs.find, job.tenant, job.id), moment + LOOK_ANYWAY_SECONDS
            if job.state in ("ready", "failed") or moment >= deadline or self._stop.is_set():
                return job
            if is_gone is not None and await is_gone():
                return job
            await asyncio.sleep(WAIT_POLL_SECONDS)

    # ── work

    def resumes(self, tenant: str) -> bool:
        """Whether something an earlier writer left unfinished is still to be gone on with."""
        return any(tenant in lane.to_resume for lane in self._lanes)

    def settle(self, tenant: str, job: ServerJob, rows: Sequence[JobDocument]) -> None:
        """Write down what became of a job. The bytes of a failed one stay, for another try."""
        with self._tenants.using(tenant) as library:
            library.look_again()  # before anybody is told that it is found
        for row in rows:
            self._metrics.added(row.status, row.chunks)
        failed, broken = outcome(rows)
        if failed:
            self.jobs.change(job, state="failed", result=tuple(rows), error=broken)
        else:
            self.jobs.change(job, state="ready", result=tuple(rows), error=broken, spool=None)
            self._drop(job)  # only now: a job that is not done must never be without its bytes

    def _hand_over(self, name: str) -> None:
        """The bytes are in the spool: whoever takes them in finds them there."""

    def _drop(self, job: ServerJob) -> None:
        if job.spool:
            self._drop_bytes(job.spool)

    def _drop_bytes(self, name: str) -> None:
        (self._spool / name).unlink(missing_ok=True)

    def _look_again(self) -> None:
        """Indexes that another process changed are opened here, so that no search has to wait for it."""
        while not self._stop.wait(LOOK_AGAIN_SECONDS):
            try:
                self._tenants.look_again()
            except Exception as error:  # it must go on: without it no search would ever see anything new
                _LOG.warning("an index cannot be read", extra={"reason": type(error).__name__})


def unfinished_tenants(folder: Path, settings: Settings) -> list[str]:
    """Tenants for whom something was begun and not finished."""
    try:
        store = open_store(settings, folder, create=False)
    except NotALibrary:
        return []
    try:
        return [user for user in store.users() if store.vectors.waiting(user) or unfinished_runs(store.jobs.all(user))]
    finally:
        store.close()


def check_embedder(name: str | None, settings: Settings) -> None:
    """Refuse an embedder that is neither the server's own nor one it offers."""
    if name is not None and name not in (settings.embedder, *settings.serve_embedders):
        remedy = "Use the embedder of the server, or name this one in its setting serve_embedders."
        raise OptionError("the server does not offer this embedder", remedy=remedy)


def _copy(file: BinaryIO, path: Path, most: int, room: int | None) -> int:
    """The bytes to the library's own folder, and how many; a file that is too large leaves nothing."""
    size = 0
    with path.open("xb") as target:
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                remedy = "Split the file, or raise max_file_bytes in the settings."
                raise BodyTooLarge(f"a file has more than {most:,} bytes", remedy=remedy)
            if room is not None and size > room:
                raise StorageQuota(f"the file is larger than the {room:,} bytes the tenant may still keep")
            target.write(block)
        target.flush()
        os.fsync(target.fileno())  # what was accepted outlives a power cut
    return size
