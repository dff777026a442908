"""`footnotes jobs`: list running, interrupted and failed work."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, library_option
from footnotes.render import one_line
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.server.jobs import ServerJob
    from footnotes.types import Job

STALLED_SECONDS = 60
"""A running job without progress for this long counts as stalled."""


@click.command("jobs")
@library_option
@json_option
@click.option("--all", "everything", is_flag=True, help="Also list finished jobs.")
def jobs_command(library: str | None, as_json: bool, everything: bool) -> None:
    """List running, pending, interrupted and failed jobs, with stage, attempts and cause; includes jobs of a server."""
    from footnotes.library import Library

    with Library(library, create=False) as open_library:
        jobs, accepted = open_library.jobs(), _accepted_jobs(open_library, everything=everything)
        others = _other_jobs(open_library)
    failing = {job.run for job in jobs if job.run and job.stage != "ready"}
    selected = [job for job in jobs if everything or job.stage != "ready" or job.number in failing]
    moment = datetime.now(UTC)
    if as_json:
        states = [{"holder": job.holder or None, "stalled_seconds": stalled_seconds(job, moment)} for job in selected]
        rows = [{**to_json(job), **state} for job, state in zip(selected, states, strict=True)]
        click.echo(json.dumps({"jobs": rows, "accepted": to_json(accepted)}))
        return
    for run in (job for job in selected if job.run is None):
        _show(run, [job for job in jobs if job.run == run.number], moment, everything)
    for job in accepted:
        _show_accepted(job)
    if not selected and not accepted:
        click.echo("no running, pending or failed jobs")
    if others:
        click.echo(f"other tenants: {others} (FOOTNOTES_USER=NAME footnotes jobs lists them)")


def _accepted_jobs(library: Library, *, everything: bool) -> list[ServerJob]:
    """Return the unfinished jobs of the library's server, oldest first."""
    try:
        from footnotes.server.overview import accepted_jobs
    except ModuleNotFoundError:  # without the extra, no server ran here
        return []
    found = accepted_jobs(library.folder, library.settings)
    return [job for job in found if everything or job.state != "ready"]


def _other_jobs(library: Library) -> str:
    """Return the numbers of unfinished and failed jobs that a server accepted for other tenants."""
    try:
        from footnotes.server.overview import others_as_text, queue_state
    except ModuleNotFoundError:
        return ""
    return others_as_text(queue_state(library.folder, library.settings))


def _show_accepted(job: ServerJob) -> None:
    click.echo(f"{job.id}  {job.kind:8} {job.stage or job.state:10} {one_line(job.name)}")
    if job.error is not None:
        click.echo(f"      {one_line(job.error.message)} [{job.error.code}]")


def stalled_seconds(job: Job, moment: datetime) -> int | None:
    """Return the seconds since the last progress of a running job; None if it is not stalled."""
    if not job.holder or job.stage in ("ready", "failed"):
        return None
    seconds = int((moment - datetime.fromisoformat(job.updated_at)).total_seconds())
    return seconds if seconds >= STALLED_SECONDS else None


def _show(run: Job, files: Sequence[Job], moment: datetime, everything: bool) -> None:
    click.echo(f"{run.number:<5} {run.kind:8} {run.stage:10} {one_line(run.source)}{_state(run, moment)}")
    if run.error is not None:
        click.echo(f"      {one_line(run.error.message)} [{run.error.code}]")
    counts = Counter(job.stage for job in files)
    if counts:
        click.echo("      " + ", ".join(f"{count} {stage}" for stage, count in sorted(counts.items())))
    for job in files:
        if job.error is not None:
            again = "a retry may work" if job.retryable else "needs a change first"
            click.echo(
                f"      failed   {one_line(job.source)}  {one_line(job.error.message)} [{job.error.code}; {again}]"
            )
        elif everything:
            click.echo(f"      {job.stage:8} {one_line(job.source)}")


def _state(run: Job, moment: datetime) -> str:
    if not run.holder:
        return "" if run.stage in ("ready", "failed") else "  (interrupted: run `footnotes resume`)"
    seconds = stalled_seconds(run, moment)
    if seconds is not None:
        return f"  ({run.holder}: no progress in {run.stage} for {seconds} s)"
    done = f", {run.done:,} of {run.total:,}" if run.total else ""
    tries = f", attempt {run.attempts}" if run.attempts > 1 else ""
    return f"  ({run.holder}{done}{tries})"
