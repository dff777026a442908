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
from footnotes.errors import BodyTooLarge, NotALibrary, OptionError, StorageQuota, WorkerDied
from footnotes.fetch.url import is_url
from footnotes.ingest.journal import unfinished_runs
from footnotes.serve.doing import BrokenOff, News, Task, do
from footnotes.serve.jobs import Jobs, ServerJob, outcome
from footnotes.serve.metrics import Metrics
from footnotes.serve.tenants import Tenants
from footnotes.serve.worker import WorkerProcess
from footnotes.store.make import open_store
from footnotes.types import ErrorInfo

_LOG = logging.getLogger("footnotes.serve")
SPOOL = "spool"
BATCH = 32
MOST_DEATHS = 3
TURN_SECONDS, OWN_TURN_SECONDS = 3.0, 10.0
"""How long vectors are made before they wait for jobs of other tenants, and for new ones of the same. Longer than it
takes until vectors are kept: each turn brings the work forward."""
_NOT_A_JOB = 2**63
LOCKED_WAIT_SECONDS = 2.0
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
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._pausing = 0
        self._pause_guard = threading.Lock()
        self._running: dict[str, ServerJob] = {}
        self._to_resume: list[str] = []
        self._served: dict[str, int] = {}
        self._turns = 0
        self._texts_in: set[str] = set()
        self._doing: Task | None = None
        self._embedding_since: float | None = None
        self.worker = WorkerProcess(tenants.folder, settings) if settings.serve_worker else None
        self._threads = [
            threading.Thread(target=self._work, name="footnotes-intake", daemon=True),
            threading.Thread(target=self._look_again, name="footnotes-look-again", daemon=True),
        ]

    def start(self) -> None:
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.jobs.recover()
        known = self.jobs.spools()
        for path in self._spool.iterdir():
            if path.name not in known:
                path.unlink(missing_ok=True)
        self._to_resume = unfinished_tenants(self._tenants.folder, self._tenants.settings)
        for thread in self._threads:
            thread.start()

    def stop(self, seconds: float = 20.0) -> None:
        """Break off soon; what was committed is kept, and the next start goes on with the rest."""
        self._stop.set()
        self._wake.set()
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
            self._wake.set()

    @property
    def alive(self) -> bool:
        return self._threads[0].is_alive()

    def checks(self) -> dict[str, bool]:
        """What must be so that work is accepted and done."""
        return {"intake": self.alive}

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
    ) -> ServerJob:
        """Keep the bytes of an upload and queue it."""
        path = self._spool / uuid.uuid4().hex
        given: dict[str, Any] = {"filename": filename, "collection": collection, "metadata": metadata}
        with self._tenants.using(tenant) as library:
            checked = library.handed_over(path, **given, source=source or f"upload:{filename}")
            room = self._room(tenant, library)
        try:
            _copy(file, path, self._tenants.settings.max_file_bytes, room)
            request = {
                "filename": checked.filename,
                "source": checked.source,
                "collection": checked.collection,
                "metadata": dict(checked.metadata),
            }
            self._hand_over(path.name)
            job = self.jobs.add(tenant, "upload", checked.filename, request, path.name)
        except BaseException:
            self._drop_bytes(path.name)
            raise
        self._wake.set()
        return job

    def _room(self, tenant: str, library: Library) -> int | None:
        """How many bytes more a tenant may keep; what waits to be taken in counts too."""
        most = self._tenants.settings.serve_tenant_bytes
        if not most:
            return None
        left = most - self._waiting_bytes(tenant) - int(library.counts()["bytes"])
        if left <= 0:
            raise StorageQuota(f"all {most:,} bytes the tenant may keep are used")
        return left

    def _waiting_bytes(self, tenant: str) -> int:
        return sum(_size(self._spool / name) for name in self.jobs.spools(tenant))

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
        self._wake.set()
        return job

    def accept_reindex(self, tenant: str, options: Mapping[str, Any]) -> ServerJob:
        job = self.jobs.add(tenant, "reindex", options.get("collection") or "everything", dict(options), None)
        self._wake.set()
        return job

    def retry(self, tenant: str, job_id: str) -> ServerJob:
        """Try a failed job again."""
        job = self.jobs.find(tenant, job_id)
        if job.state == "failed":
            job = self.jobs.change(job, state="queued", error=None, result=())
            self._wake.set()
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
            gone = library.delete(*document_ids, collection=collection)
            self.forget(tenant, gone, places)
        return gone

    def forget(self, tenant: str, document_ids: Iterable[str], places: Collection[tuple[str, str]] = ()) -> None:
        """Nothing of a deleted document stays in the jobs, also in those that are not done with it."""
        about = [*self.jobs.about(tenant, document_ids), *self.jobs.unfinished_at(tenant, places)]
        self.jobs.remove(about)
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

    def _work(self) -> None:
        try:
            while not self._stop.is_set():
                self._wake.clear()
                if self._pausing:
                    self._wake.wait(0.2)
                    continue
                try:
                    if self._one_task():
                        continue
                except Exception as error:  # the worker outlives whatever one batch does
                    _LOG.exception("a batch failed", extra={"reason": type(error).__name__})
                    self._stop.wait(1.0)
                    continue
                self._wake.wait(5.0)
        finally:
            if self.worker is not None:
                self.worker.stop()

    def _one_task(self) -> bool:
        """Do the next thing there is to do, of the tenant who was served longest ago; False when there is nothing."""
        waiting = self.jobs.waiting_tenants()
        found = {**dict.fromkeys(self._to_resume, _NOT_A_JOB), **waiting}
        if not found:
            return False
        tenant = min(found, key=lambda name: (self._served.get(name, 0), found[name]))
        self._turns += 1
        self._served[tenant] = self._turns
        if tenant in waiting:
            self._run(self.jobs.next_batch(tenant, BATCH, self._texts_in))
        elif self._do(Task("resume", tenant)) not in ("broken_off", "locked"):
            self._to_resume.remove(tenant)
        if not self.jobs.waiting():
            self._served.clear()
            self._texts_in.clear()
        return True

    def resumes(self, tenant: str) -> bool:
        """Whether something an earlier writer left unfinished is still to be gone on with."""
        return tenant in self._to_resume

    def _run(self, batch: list[ServerJob]) -> None:
        if not batch:  # dismissed this moment
            return
        jobs = [self.jobs.change(job, state="running", attempts=job.attempts + 1) for job in batch]
        self._running = {job.id: job for job in jobs}
        data = [{"id": job.id, "request": dict(job.request), "spool": job.spool} for job in jobs]
        try:
            self._do(Task(jobs[0].kind, jobs[0].tenant, data))
        finally:
            self._running = {}

    def _do(self, task: Task) -> str:
        """Have a task done, here or in the worker, and see to what it left; says how it ended."""
        ending: list[News] = []
        self._doing, self._embedding_since = task, None

        def heard(news: News) -> None:
            if news["news"] == "ended":
                ending.append(news)
            else:
                self._heard(task.tenant, news)

        try:
            if self.worker is not None:
                self.worker.do(task, heard, self._must_break_off)
            else:
                do(task, self._tenants.using, self._spool, heard)
        except WorkerDied as death:
            _LOG.error("the worker died", extra={"code": death.code, "reason": death.message})
            self._metrics.errors.labels(death.code).inc()
            self._died(death)
            return "died"
        return self._ended(ending[0])

    def _must_break_off(self) -> bool:
        return self._stop.is_set() or self._pausing > 0 or self._makes_way()

    def _makes_way(self) -> bool:
        """Whether vectors, of which some were made, wait for the texts of others: words come first, and in turns.

        What has a vector keeps it; the job waits, and goes on where it was when it is its turn again.
        """
        since, task = self._embedding_since, self._doing
        if since is None or task is None:
            return False
        spent = time.monotonic() - since
        fetched = task.kind in ("url", "reindex")
        if spent < (OWN_TURN_SECONDS if fetched else TURN_SECONDS):
            return False
        others, own = self.jobs.anybody_waits(task.tenant, self._texts_in)
        return others or (own and spent >= OWN_TURN_SECONDS)

    def _heard(self, tenant: str, news: News) -> None:
        if news["news"] == "progress":
            if self.worker is None and self._must_break_off():
                raise BrokenOff
            if news["stage"] == "embedding" and self._embedding_since is None:
                self._embedding_since = time.monotonic()
                self._texts_in.update(self._running)
            for job_id in news["jobs"]:
                self.jobs.progress(job_id, news["stage"], news["done"], news["total"])
        elif news["news"] == "settled":
            self._settle(tenant, self._running.pop(news["job"]), news["documents"])
        elif news["news"] == "embedded":
            self._metrics.embedding(news["texts"], news["role"], news["tokens"])

    def _ended(self, news: News) -> str:
        """See to the jobs that were not settled."""
        how: str = news["how"]
        for job in list(self._running.values()):
            if how == "failed":
                self.jobs.change(job, state="failed", error=ErrorInfo(**news["error"]))
            elif how != "done":
                self.jobs.change(job, state="queued", attempts=job.attempts - 1)
        if how == "locked":
            self._stop.wait(LOCKED_WAIT_SECONDS)
        return how

    def _died(self, death: WorkerDied) -> None:
        """Jobs wait for another try, one at a time; who was there at too many deaths has failed."""
        for job in self._running.values():
            if job.attempts >= MOST_DEATHS:
                self.jobs.change(job, state="failed", error=death.info())
            else:
                self.jobs.change(job, state="queued")

    def _settle(self, tenant: str, job: ServerJob, rows: list[dict[str, Any]]) -> None:
        """Write down what became of a job. The bytes of a failed one stay, for another try."""
        with self._tenants.using(tenant) as library:
            library.look_again()  # before anybody is told that it is found
        for row in rows:
            self._metrics.added(row["status"], row["chunks"])
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
        return [user for user in store.users() if store.waiting(user) or unfinished_runs(store.jobs(user))]
    finally:
        store.close()


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _copy(file: BinaryIO, path: Path, most: int, room: int | None) -> None:
    """The bytes to the library's own folder; a file that is too large leaves nothing."""
    size = 0
    with path.open("xb") as target:
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                raise BodyTooLarge(f"a file has more than {most:,} bytes")
            if room is not None and size > room:
                raise StorageQuota(f"the file is larger than the {room:,} bytes the tenant may still keep")
            target.write(block)
        target.flush()
        os.fsync(target.fileno())  # what was accepted outlives a power cut
