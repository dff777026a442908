"""What a worker does with jobs, and what it tells of it. Knows neither threads, processes nor the server's database.

Everything that goes in (a `Task`) and comes out (`News`) is plain data: it can pass through a pipe.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from footnotes import tracing
from footnotes.engine import Library
from footnotes.errors import FootnotesError, StoreLocked
from footnotes.ingest.work import Progress
from footnotes.types import Added
from footnotes.wire import to_json

TaskKind = Literal["upload", "url", "reindex", "resume"]
Ending = Literal["done", "broken_off", "locked", "failed"]
_STAGES = {"reading": "parsing", "parsing": "parsing", "embedding": "embedding", "indexing": "indexing"}


class BrokenOff(Exception):
    """Work stops here and is gone on with later. Not of the error tree: no document failed."""


@dataclass(frozen=True, slots=True)
class Task:
    """Jobs of one tenant that are done together: each with its id, its request and where its bytes lie."""

    kind: TaskKind
    tenant: str
    jobs: Sequence[Mapping[str, Any]] = ()


News = Mapping[str, Any]
"""By the value of `news`: progress (jobs, stage, done, total), settled (job, documents), ended (how, error)."""
Using = Callable[[str], AbstractContextManager[Library]]
Tell = Callable[[News], None]
"""Takes news. Raises `BrokenOff` at news of progress when the work is to stop there."""


def do(task: Task, using: Using, spool: Path, tell: Tell) -> None:
    """Do a task. The last news is how it ended; nothing is raised that an error of the tree describes."""
    how: Ending = "done"
    error: FootnotesError | None = None
    tracing.JOB_ID.set(" ".join(str(job["id"]) for job in task.jobs))
    tracing.REQUEST_ID.set(next(filter(None, [job["request"].pop("request_id", "") for job in task.jobs]), ""))
    try:
        with using(task.tenant) as library, tracing.span("job", kind=task.kind, jobs=len(task.jobs)):
            _DOING[task.kind](task, library, spool, tell)
    except BrokenOff:
        how = "broken_off"
    except StoreLocked:
        how = "locked"
    except FootnotesError as failure:
        how, error = "failed", failure
    except Exception as failure:  # its words may quote a document: only its kind is told
        how, error = "failed", FootnotesError(f"the server failed ({type(failure).__name__})")
    tell({"news": "ended", "how": how, "error": to_json(error.info()) if error else None})


def _uploads(task: Task, library: Library, spool: Path, tell: Tell) -> None:
    jobs = list(task.jobs)
    by_source = {job["request"]["source"]: job for job in jobs}
    files = [library.handed_over(spool / str(job["spool"]), **job["request"]) for job in jobs]
    results: dict[str, list[Added]] = {job["id"]: [] for job in jobs}

    def progress(report: Progress) -> None:
        about = [by_source[report.path]] if report.path in by_source else jobs
        tell(_progress(about, report))

    for added in library.adding_files(files, on_progress=progress):
        job = by_source.get(added.path) or _holder(added.path, jobs)
        results[job["id"]].append(added)
        if added.path in by_source:
            tell(_settled(job, results.pop(job["id"])))
    for job in jobs:
        if job["id"] in results:
            tell(_settled(job, results[job["id"]]))


def _holder(path: str, jobs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """The archive a member came from: its source begins with that of the archive."""
    inside = [job for job in jobs if path.startswith(job["request"]["source"])]
    return max(inside or jobs[:1], key=lambda job: len(job["request"]["source"]))


def _address(task: Task, library: Library, spool: Path, tell: Tell) -> None:
    (job,) = task.jobs
    request = job["request"]
    found = library.add(
        request["url"],
        collection=request["collection"],
        metadata=request["metadata"],
        on_progress=lambda report: tell(_progress([job], report)),
    )
    tell(_settled(job, found))


def _reindex(task: Task, library: Library, spool: Path, tell: Tell) -> None:
    (job,) = task.jobs
    done = library.reindex(**job["request"], on_progress=lambda report: tell(_progress([job], report)))
    row = {"document_id": None, "status": "reindexed", "chunks": done["embedded"], "documents": done["documents"]}
    tell({"news": "settled", "job": job["id"], "documents": [row]})


def _resume(task: Task, library: Library, spool: Path, tell: Tell) -> None:
    """Go on with what a writer outside of the server, or one that died, left unfinished."""
    for _ in library.resuming(on_progress=lambda report: tell(_progress([], report))):
        pass


_DOING: Mapping[TaskKind, Callable[[Task, Library, Path, Tell], None]] = {
    "upload": _uploads,
    "url": _address,
    "reindex": _reindex,
    "resume": _resume,
}


def _progress(jobs: Sequence[Mapping[str, Any]], report: Progress) -> News:
    stage = _STAGES.get(report.stage, "indexing")
    return {
        "news": "progress",
        "jobs": [job["id"] for job in jobs],
        "stage": stage,
        "done": report.done,
        "total": report.total,
    }


def _settled(job: Mapping[str, Any], found: Sequence[Added]) -> News:
    return {"news": "settled", "job": job["id"], "documents": to_json(found)}
