"""Runs a task: jobs that are done together. Knows neither threads, processes nor the server's database.

What goes in (a `Task`) and comes out (`TaskEvent`) is plain data: it can pass through a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from footnotes import tracing
from footnotes.errors import FootnotesError, StoreLocked
from footnotes.ingest.work import Progress
from footnotes.library import Library
from footnotes.server.following import sync_followed
from footnotes.types import Added
from footnotes.wire import to_json

TaskKind = Literal["upload", "url", "reindex", "resume"]
Ending = Literal["done", "broken_off", "locked", "failed"]
MOST_REPORTED = 1_000
_STAGES = {"reading": "parsing", "parsing": "parsing", "embedding": "embedding", "indexing": "indexing"}
TaskEvent = Mapping[str, Any]
"""By `type`: progress (jobs, stage, done, total), settled (job, documents), ended (how, error)."""
UseLibrary = Callable[[str], AbstractContextManager[Library]]
Report = Callable[[TaskEvent], None]
"""Takes an event. Raises `TaskInterrupted` at an event of progress to stop the work there."""


class TaskInterrupted(Exception):
    """The work stops here and is resumed later. Not part of the error tree: no document failed."""


@dataclass(frozen=True, slots=True)
class Task:
    """Jobs of one tenant that are done together: each with its id, its request and its file in the spool."""

    kind: TaskKind
    tenant: str
    jobs: Sequence[Mapping[str, Any]] = ()


def run_task(task: Task, using: UseLibrary, spool: Path, report: Report) -> None:
    """Run a task. The last event reports how it ended; errors of the tree are reported, not raised."""
    how: Ending = "done"
    error: FootnotesError | None = None
    tracing.JOB_ID.set(" ".join(str(job["id"]) for job in task.jobs))
    tracing.REQUEST_ID.set(next(filter(None, [job["request"].pop("request_id", "") for job in task.jobs]), ""))
    try:
        with using(task.tenant) as library, tracing.span("job", kind=task.kind, jobs=len(task.jobs)):
            _RUNNERS[task.kind](task, library, spool, report)
    except TaskInterrupted:
        how = "broken_off"
    except StoreLocked:
        how = "locked"
    except FootnotesError as failure:
        how, error = "failed", failure
    except Exception as failure:  # its message may quote a document: only its type is reported
        how, error = "failed", FootnotesError(f"the server failed ({type(failure).__name__})")
    report({"type": "ended", "how": how, "error": to_json(error.info()) if error else None})


def _add_uploads(task: Task, library: Library, spool: Path, report: Report) -> None:
    jobs = list(task.jobs)
    by_source = {job["request"]["source"]: job for job in jobs}
    files = [library.build_source(spool / str(job["spool"]), **job["request"]) for job in jobs]
    results: dict[str, list[Added]] = {job["id"]: [] for job in jobs}

    def on_progress(progress: Progress) -> None:
        about = [by_source[progress.path]] if progress.path in by_source else jobs
        report(_progress_event(about, progress))

    for added in library.adding_files(files, on_progress=on_progress):
        job = by_source.get(added.path) or _archive_fields(added.path, jobs)
        results[job["id"]].append(added)
        if added.path in by_source:
            report(_settled_event(job, results.pop(job["id"])))
    for job in jobs:
        if job["id"] in results:
            report(_settled_event(job, results[job["id"]]))


def _archive_fields(path: str, jobs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """Return the job of a member's archive: the member's source begins with the archive's."""
    inside = [job for job in jobs if path.startswith(job["request"]["source"])]
    return max(inside or jobs[:1], key=lambda job: len(job["request"]["source"]))


def _add_url(task: Task, library: Library, spool: Path, report: Report) -> None:
    (job,) = task.jobs
    request = job["request"]
    if "followed" in request:
        _sync_source(task, library, report)
        return
    found = library.add(
        request["url"],
        collection=request["collection"],
        metadata=request["metadata"],
        on_progress=lambda progress: report(_progress_event([job], progress)),
    )
    report(_settled_event(job, found))


def _sync_source(task: Task, library: Library, report: Report) -> None:
    """Sync a followed source; report the first documents that changed."""
    (job,) = task.jobs
    done = sync_followed(
        library,
        task.tenant,
        job["request"]["followed"],
        on_progress=lambda progress: report(_progress_event([job], progress)),
    )
    changed = [file for file in done.files if file.status != "skipped"][:MOST_REPORTED]
    rows = [
        Added(file.path, file.document_id, file.status, file.chunks, file.error, file.warnings)  # type: ignore[arg-type]
        for file in changed
    ]
    report(_settled_event(job, rows))


def _reindex(task: Task, library: Library, spool: Path, report: Report) -> None:
    (job,) = task.jobs
    done = library.reindex(**job["request"], on_progress=lambda progress: report(_progress_event([job], progress)))
    row = {"document_id": None, "status": "reindexed", "chunks": done["embedded"], "documents": done["documents"]}
    report({"type": "settled", "job": job["id"], "documents": [row]})


def _resume(task: Task, library: Library, spool: Path, report: Report) -> None:
    """Resume what another writer, or one that died, left unfinished."""
    for _ in library.resuming(on_progress=lambda progress: report(_progress_event([], progress))):
        pass


_RUNNERS: Mapping[TaskKind, Callable[[Task, Library, Path, Report], None]] = {
    "upload": _add_uploads,
    "url": _add_url,
    "reindex": _reindex,
    "resume": _resume,
}


def _progress_event(jobs: Sequence[Mapping[str, object]], progress: Progress) -> TaskEvent:
    stage = _STAGES.get(progress.stage, "indexing")
    return {
        "type": "progress",
        "jobs": [job["id"] for job in jobs],
        "stage": stage,
        "done": progress.done,
        "total": progress.total,
    }


def _settled_event(job: Mapping[str, object], found: Sequence[Added]) -> TaskEvent:
    return {"type": "settled", "job": job["id"], "documents": to_json(found)}
