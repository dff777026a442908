"""`footnotes sync` and `footnotes watch`: update a collection from a folder or a source."""

from __future__ import annotations

import json
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from types import FrameType
from typing import TYPE_CHECKING, Any

import click

from footnotes.cli.options import (
    EXIT_SOME_FAILED,
    chunker_options,
    json_option,
    library_option,
    pairs,
    progress_line,
    stack,
)
from footnotes.cli.printing import near, print_error
from footnotes.errors import FootnotesError
from footnotes.render import one_line
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.cli.progress import ProgressLine
    from footnotes.library import Library
    from footnotes.types import Followed, Synced

MOST_LINES = 20
"""The number of files to list without -v."""
_SHOWN = ("added", "changed", "renamed", "deleted", "unchanged", "skipped", "failed")


_following = stack(
    library_option,
    click.option("--collection", "-c", metavar="NAME", help="The collection to update."),
    click.option(
        "--option", "-o", multiple=True, metavar="KEY=VALUE", help="Set an option of the source; see docs/sources.md."
    ),
    json_option,
    chunker_options,
    click.option("--metadata", "-m", multiple=True, metavar="KEY=VALUE", help="Set metadata on every document."),
    click.option("--delete-all", is_flag=True, help="Delete documents even if every file of the folder is gone."),
    click.option("--verbose", "-v", is_flag=True, help="List every file, skipped files, and earlier failures."),
)


@click.command("sync")
@click.argument("source")
@_following
@click.option("--dry-run", "-n", is_flag=True, help="Print what would change; change nothing.")
def sync_command(source: str, library: str | None, as_json: bool, dry_run: bool, verbose: bool, **options: Any) -> None:
    """Update a collection from a folder: new, changed, renamed and deleted files.

    SOURCE is a folder, or an address: s3://, gs://, az://, sftp://, webdav://, git+https://, imaps://, https://,
    feed+https://, sql+postgresql://, mbox:, maildir:, obsidian:, zotero:, notion:, slack:, confluence:, github://,
    takeout:. Pass secrets by reference: -o password=env:NAME, file:PATH or keyring:SERVICE/USER.

    Documents from other sources are not changed. An unreachable source is an error and deletes nothing.
    """
    with _open_library(library) as open_library, progress_line() as progress:
        show = _quiet if as_json else build_printer(verbose, progress)
        done = open_library.sync(source, dry_run=dry_run, on_file=show, on_progress=progress, **_arguments(**options))
    _show(done, as_json)
    if any(file.status == "failed" for file in done.files):
        sys.exit(EXIT_SOME_FAILED)


@click.command("watch")
@click.argument("source")
@_following
@click.option(
    "--every",
    type=click.FloatRange(1),
    default=300.0,
    show_default=True,
    metavar="SECONDS",
    help="Interval between passes, for sources other than folders.",
)
def watch_command(source: str, library: str | None, as_json: bool, verbose: bool, every: float, **options: Any) -> None:
    """Sync a folder whenever it changes, or a source at intervals, until Ctrl-C.

    With --json, prints one line for every pass with changes.
    """
    stop = threading.Event()
    _stop_on_signal(stop)
    show = _quiet if as_json else build_printer(verbose)
    with _open_library(library) as open_library:
        for result in open_library.watch(source, stop=stop, every=every, on_file=show, **_arguments(**options)):
            if isinstance(result, FootnotesError):
                print_error(result, as_json=as_json)
            else:
                _show(result, as_json)
    if not as_json:
        click.echo("stopped")


def _stop_on_signal(stop: threading.Event) -> None:
    """Stop after the current pass at the first Ctrl-C, immediately at the second."""

    def end(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            raise KeyboardInterrupt
        stop.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, end)


def _open_library(folder: str | None) -> Library:
    from footnotes.library import Library

    return Library(folder)


def _arguments(
    chunker_option: Sequence[str],
    option: Sequence[str],
    metadata: Sequence[str],
    collection: str | None,
    chunker: str | None,
    delete_all: bool,
) -> dict[str, Any]:
    return {
        "collection": collection,
        "metadata": pairs(metadata),
        "chunker": chunker,
        "chunker_options": pairs(chunker_option) or None,
        "delete_all": delete_all,
        "options": source_options(option),
    }


def source_options(options: Sequence[str]) -> dict[str, str]:
    """Parse the options of a source, all as strings."""
    values = {}
    for each in options:
        name, equals, value = each.partition("=")
        if not equals or not name:
            raise click.BadParameter("an option has the form KEY=VALUE", param_hint="--option")
        values[name.strip()] = value
    return values


def _quiet(_: object) -> None:
    return None


def build_printer(verbose: bool, progress: ProgressLine | None = None) -> Callable[[Followed], None]:
    """Build a function that prints a line for each file: the first ones, or all with `verbose`."""
    successes = 0

    def show(file: Followed) -> None:
        nonlocal successes
        old_news = file.status == "skipped" or (file.status == "failed" and file.warnings)
        if old_news and not verbose:
            return
        successes += file.error is None
        with progress.paused() if progress is not None else nullcontext():
            if verbose or file.error is not None or successes <= MOST_LINES:
                _show_file(file)
            elif successes == MOST_LINES + 1:
                click.echo("…             (-v names every file)")

    return show


def _show_file(file: Followed) -> None:
    came = f"  from {near(file.before)}" if file.before else ""
    size = f"  {file.chunks:,} chunk{'' if file.chunks == 1 else 's'}" if file.chunks and not came else ""
    click.secho(f"{file.status:13} {near(file.path)}{came}{size}", fg="red" if file.error else None)
    if file.error:
        click.echo(f"              {one_line(file.error.message)}. {file.error.remedy} [{file.error.code}]")
    for warning in file.warnings:
        click.secho(f"              note: {one_line(warning)}", fg="yellow")


def _show(done: Synced, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(to_json(done), ensure_ascii=False))
        return
    click.echo(summary(done))


def summary(done: Synced) -> str:
    """Count the files of each kind."""
    counts = [f"{done.counts[name]:,} {name}" for name in _SHOWN if done.counts[name]]  # type: ignore[index]
    would = " (dry run: nothing was changed)" if done.dry_run else ""
    return f"{', '.join(counts) or 'nothing there'} in {done.took_ms / 1000:.1f} s{would}"
