"""The one worker of a server: takes in what was accepted, some at a time, in a thread behind the requests."""

from __future__ import annotations

import logging
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from footnotes.errors import BodyTooLarge, FootnotesError, OptionError, StoreLocked
from footnotes.fetch.url import is_url
from footnotes.ingest.work import Progress
from footnotes.serve.jobs import Jobs, ServerJob
from footnotes.serve.tenants import Tenants
from footnotes.shapes import added_shape
from footnotes.types import Added

_LOG = logging.getLogger("footnotes.serve")
SPOOL = "spool"
BATCH = 32
LOCKED_WAIT_SECONDS = 2.0
_STAGES = {"reading": "parsing", "parsing": "parsing", "embedding": "embedding", "indexing": "indexing"}
_BLOCK = 1 << 20


class _BrokenOff(Exception):
    """Work stops here and is gone on with later. Not of the error tree: no document failed."""


class Intake:
    """Accepts work and does it. `accept_*` return at once; the worker's results are in the jobs."""

    def __init__(self, tenants: Tenants, jobs: Jobs, on_added: Callable[[Added], object] = lambda _: None) -> None:
        self._tenants = tenants
        self._on_added = on_added
        self.jobs = jobs
        self._spool = tenants.folder / SPOOL
        self._wake = threading.Event()
        self._stop = threading.Event()
        self._settled = threading.Condition()
        self._pausing = 0
        self._pause_guard = threading.Lock()
        self._thread = threading.Thread(target=self._work, name="footnotes-intake", daemon=True)

    def start(self) -> None:
        self._spool.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.jobs.recover()
        known = self.jobs.spools()
        for path in self._spool.iterdir():
            if path.name not in known:
                path.unlink(missing_ok=True)
        self._thread.start()

    def stop(self, seconds: float = 20.0) -> None:
        """Break off soon; what was committed is kept, and the next start goes on with the rest."""
        self._stop.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join(seconds)

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
        return self._thread.is_alive()

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
        library = self._tenants.library(tenant)
        path = self._spool / uuid.uuid4().hex
        named = source or f"upload:{filename}"
        checked = library.handed_over(path, filename=filename, collection=collection, metadata=metadata, source=named)
        try:
            _copy(file, path, self._tenants.settings.max_file_bytes)
            request = {
                "filename": checked.filename,
                "source": checked.source,
                "collection": checked.collection,
                "metadata": dict(checked.metadata),
            }
            job = self.jobs.add(tenant, "upload", checked.filename, request, path.name)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        self._wake.set()
        return job

    def accept_url(
        self, tenant: str, address: str, *, collection: str | None, metadata: Mapping[str, Any] | None
    ) -> ServerJob:
        """Queue a page or a sitemap to be fetched."""
        if not is_url(address):
            raise OptionError("the address must begin with http:// or https://")
        library = self._tenants.library(tenant)
        checked = library.handed_over(self._spool, filename="page", collection=collection, metadata=metadata)
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

    def forget(self, tenant: str, document_ids: Iterable[str]) -> None:
        """Nothing of a deleted document stays in the jobs."""
        about = self.jobs.about(tenant, document_ids)
        self.jobs.remove(about)
        for job in about:
            self._drop(job)

    def wait(self, tenant: str, job_id: str, seconds: float) -> ServerJob:
        """The job when it is done, or as it is after some time."""
        deadline = time.monotonic() + seconds
        with self._settled:
            while (job := self.jobs.find(tenant, job_id)).state in ("queued", "running"):
                left = deadline - time.monotonic()
                if left <= 0 or self._stop.is_set():
                    break
                self._settled.wait(min(left, 1.0))
        return job

    # ── work

    def _work(self) -> None:
        while not self._stop.is_set():
            self._wake.clear()
            if self._pausing:
                self._wake.wait(0.2)
                continue
            try:
                batch = self.jobs.next_batch(BATCH)
                if batch:
                    self._run(batch)
                    continue
            except Exception as error:  # the worker outlives whatever one batch does
                _LOG.exception("a batch failed", extra={"reason": type(error).__name__})
                self._stop.wait(1.0)
                continue
            self._wake.wait(5.0)

    def _run(self, batch: list[ServerJob]) -> None:
        running = [self.jobs.change(job, state="running", attempts=job.attempts + 1) for job in batch]
        try:
            if running[0].kind == "upload":
                self._uploads(running)
            elif running[0].kind == "url":
                self._address(running[0])
            else:
                self._reindex(running[0])
        except (StoreLocked, _BrokenOff) as error:
            for job in running:
                self._requeue(job)
            if isinstance(error, StoreLocked):
                self._stop.wait(LOCKED_WAIT_SECONDS)
        except FootnotesError as error:
            self._fail(running, error)
        except Exception as error:
            self._fail(running, FootnotesError(f"the server failed ({type(error).__name__})"))
            raise
        finally:
            with self._settled:
                self._settled.notify_all()

    def _requeue(self, job: ServerJob) -> None:
        if self.jobs.find(job.tenant, job.id).state == "running":
            self.jobs.change(job, state="queued", attempts=job.attempts - 1)

    def _report(self, jobs: Iterable[ServerJob], report: Progress) -> None:
        """Progress of some jobs; also the moment at which work can be broken off."""
        if self._stop.is_set() or self._pausing:
            raise _BrokenOff
        for job in jobs:
            self.jobs.progress(job.id, _STAGES.get(report.stage, "indexing"), report.done, report.total)

    def _fail(self, jobs: list[ServerJob], error: FootnotesError) -> None:
        for job in jobs:
            if self.jobs.find(job.tenant, job.id).state == "running":
                self.jobs.change(job, state="failed", error=error.info())

    def _uploads(self, jobs: list[ServerJob]) -> None:
        library = self._tenants.library(jobs[0].tenant)
        by_source = {job.request["source"]: job for job in jobs}
        files = [
            library.handed_over(
                self._spool / str(job.spool),
                filename=job.request["filename"],
                collection=job.request["collection"],
                metadata=job.request["metadata"],
                source=job.request["source"],
            )
            for job in jobs
        ]
        results: dict[str, list[Added]] = {job.id: [] for job in jobs}

        def progress(report: Progress) -> None:
            self._report([by_source[report.path]] if report.path in by_source else jobs, report)

        for added in library.adding_files(files, on_progress=progress):
            job = by_source.get(added.path) or self._holder(added.path, jobs)
            results[job.id].append(added)
            if added.path in by_source:
                self._settle(job, results.pop(job.id))
        for job in jobs:
            if job.id in results:
                self._settle(job, results[job.id])

    @staticmethod
    def _holder(path: str, jobs: list[ServerJob]) -> ServerJob:
        """The archive a member came from: its source begins with that of the archive."""
        inside = [job for job in jobs if path.startswith(job.request["source"])]
        return max(inside or jobs[:1], key=lambda job: len(job.request["source"]))

    def _address(self, job: ServerJob) -> None:
        library, request = self._tenants.library(job.tenant), job.request
        found = library.add(
            request["url"],
            collection=request["collection"],
            metadata=request["metadata"],
            on_progress=lambda report: self._report([job], report),
        )
        self._settle(job, found)

    def _reindex(self, job: ServerJob) -> None:
        library = self._tenants.library(job.tenant)
        done = library.reindex(**job.request, on_progress=lambda report: self._report([job], report))
        row = {"document_id": None, "status": "reindexed", "chunks": done["embedded"], "documents": done["documents"]}
        self.jobs.change(job, state="ready", result=(row,), error=None)

    def _settle(self, job: ServerJob, found: list[Added]) -> None:
        """Write down what became of a job. The bytes of a failed one stay, for another try."""
        rows = added_shape(found, 0.0)["documents"]
        for added in found:
            self._on_added(added)
        broken = next((added.error for added in found if added.error), None)
        if broken is not None and all(added.error or added.status == "skipped" for added in found):
            self.jobs.change(job, state="failed", result=tuple(rows), error=broken)
        else:
            self._drop(job)
            self.jobs.change(job, state="ready", result=tuple(rows), error=broken, spool=None)
        with self._settled:
            self._settled.notify_all()

    def _drop(self, job: ServerJob) -> None:
        if job.spool:
            (self._spool / job.spool).unlink(missing_ok=True)


def _copy(file: BinaryIO, path: Path, most: int) -> None:
    """The bytes to the library's own folder; a file that is too large leaves nothing."""
    size = 0
    with path.open("xb") as target:
        while block := file.read(_BLOCK):
            size += len(block)
            if size > most:
                raise BodyTooLarge(f"a file has more than {most:,} bytes")
            target.write(block)
        target.flush()
        os.fsync(target.fileno())  # what was accepted outlives a power cut
