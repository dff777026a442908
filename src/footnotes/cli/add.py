"""`footnotes add` and `footnotes resume`."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click

from footnotes.cli.follow import MOST_LINES, build_printer, summary
from footnotes.cli.languages import note_languages
from footnotes.cli.options import (
    EXIT_SOME_FAILED,
    chunker_options,
    common_options,
    create_library,
    open_library,
    pairs,
    progress_line,
)
from footnotes.cli.printing import count, near, print_json
from footnotes.render import one_line
from footnotes.types import Followed, Synced, SyncStatus
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.cli.progress import ProgressLine
    from footnotes.library import Library
    from footnotes.types import Added


STANDARD_INPUT = "-"


@click.command("add", short_help="Add files, folders, archives, pages and sitemaps.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH_OR_URL...")
@common_options
@chunker_options
@click.option("--metadata", "-m", multiple=True, metavar="KEY=VALUE", help="Set metadata on every added document.")
@click.option("--name", metavar="FILENAME", help="Name the document read from standard input.  [default: input.txt]")
@click.option("--code", is_flag=True, help="Treat the paths as repositories: add their source code and track changes.")
@click.option("--untracked", is_flag=True, help="With --code: also add files that git neither tracks nor ignores.")
@click.option("--wiki", is_flag=True, help="Treat the paths as folders of pages about a repository.")
@click.option("--repo", metavar="DIR", help="With --wiki: the repository that the pages describe.")
@click.option(
    "--analysis", metavar="FILE", help="With --wiki: a prepared analysis of the repository; see docs/code.md."
)
@click.option("--verbose", "-v", is_flag=True, help="List every file, including skipped ones with the reason.")
@create_library
def add_command(
    library: Library,
    paths: Sequence[str],
    collection: str | None,
    as_json: bool,
    chunker: str | None,
    chunker_option: Sequence[str],
    metadata: Sequence[str],
    name: str | None,
    verbose: bool,
    code: bool,
    wiki: bool,
    **repository: Any,
) -> None:
    """Add files, folders, archives, pages and sitemaps. Use `-` for standard input."""
    repository_options = _repository_options(code, wiki, **repository)
    if name is not None and STANDARD_INPUT not in paths:
        raise click.UsageError("--name needs standard input: footnotes add - --name notes.md")
    chunking: dict[str, object] = {"chunker": chunker, "chunker_options": pairs(chunker_option) or None}
    common: dict[str, object] = {"collection": collection, "metadata": pairs(metadata)}
    with progress_line() as progress:
        if repository_options is not None:
            if wiki and (chunker or chunker_option):
                raise click.UsageError("--wiki always cuts pages by section; omit --chunker")
            options = {**common, "on_progress": progress, **(chunking if code else {}), **repository_options}
            add_repositories(library, paths, progress, wiki=wiki, as_json=as_json, verbose=verbose, options=options)
            return
        stream = _add_paths(library, paths, name or "input.txt", {**common, **chunking, "on_progress": progress})
        show_added(note_languages(library, stream), progress, as_json=as_json, verbose=verbose)


def _add_paths(library: Library, paths: Sequence[str], name: str, options: dict[str, Any]) -> Iterator[Added]:
    if STANDARD_INPUT in paths:
        text = sys.stdin.buffer.read()
        source = f"stdin:{name}"
        yield library.add_text(
            text, filename=name, source=source, collection=options["collection"], metadata=options["metadata"]
        )
    if others := [path for path in paths if path != STANDARD_INPUT]:
        yield from library.adding(*others, **options)


@click.command("resume")
@common_options
@open_library
def resume_command(library: Library, collection: str | None, as_json: bool) -> None:
    """Continue interrupted work, and retry temporary failures.

    `footnotes jobs` lists the work. The command covers all collections.
    """
    with progress_line() as progress:
        show_added(library.resuming(on_progress=progress), progress, as_json=as_json, verbose=False)


def _repository_options(
    code: bool, wiki: bool, untracked: bool, repo: str | None, analysis: str | None
) -> dict[str, object] | None:
    """Build the options for --code or --wiki; None if neither is given."""
    if code and wiki:
        raise click.UsageError("--code and --wiki cannot be combined; run the command twice")
    if untracked and not code:
        raise click.UsageError("--untracked needs --code")
    if (repo or analysis) and not wiki:
        raise click.UsageError("--repo and --analysis need --wiki")
    if repo and analysis:
        raise click.UsageError("--repo and --analysis cannot be combined; pass one")
    if code:
        return {"untracked": untracked}
    return {"repository": repo, "analysis": analysis} if wiki else None


def show_added(stream: Iterator[Added], progress: ProgressLine, *, as_json: bool, verbose: bool) -> None:
    """Print results as they arrive, then a summary. Exit with code 3 if a file failed."""
    start = time.monotonic()
    results: list[Added] = []
    successes = 0
    for added in stream:
        results.append(added)
        if as_json or (added.status == "skipped" and not verbose):
            continue
        with progress.paused():
            if added.error is not None or verbose or successes < MOST_LINES:
                _show_one(added)
            elif successes == MOST_LINES:
                click.echo("…             (-v names every file)")
        successes += added.error is None
    milliseconds = (time.monotonic() - start) * 1000
    if as_json:
        print_json({"documents": results, "took_ms": round(milliseconds, 1)})
    else:
        _show_summary(results, milliseconds)
    if any(added.status == "failed" for added in results):
        sys.exit(EXIT_SOME_FAILED)


def _show_one(added: Added) -> None:
    name = near(added.path)
    if added.error is not None:
        click.secho(f"failed        {name}", fg="red")
        click.echo(f"              {one_line(added.error.message)}. {added.error.remedy} [{added.error.code}]")
    elif added.status == "skipped":
        click.echo(f"skipped       {name}  {', '.join(added.warnings)}")
    else:
        click.echo(f"{added.status:13} {name}  {count(added.chunks, 'chunk')}")
        for warning in added.warnings:
            click.secho(f"              note: {one_line(warning)}", fg="yellow")
        if alike := added.near_duplicate_of:
            text = f"{alike.similarity:.0%} the same as {one_line(alike.filename)} ({alike.document_id})"
            click.secho(f"              note: {text}", fg="yellow")


def _show_summary(results: list[Added], took_ms: float) -> None:
    counts: Counter[str] = Counter(added.status for added in results)
    order = ("ready", "indexing", "replaced", "deduplicated", "skipped", "failed")
    totals = ", ".join(f"{counts[status]:,} {status}" for status in order if counts[status]) or "nothing to add"
    chunks = sum(added.chunks for added in results if added.status in ("ready", "indexing", "replaced"))
    click.echo(f"{totals} in {took_ms / 1000:.1f} s" + (f", {count(chunks, 'chunk')}" if chunks else ""))
    if counts["failed"]:
        names = [Path(one_line(added.path)).name for added in results if added.status == "failed"]
        names_text = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        click.secho(f"failed: {names_text}", fg="red")
    if counts["skipped"]:
        click.echo("left out: hidden files, files that .gitignore matches, links out of the folder (-v lists them)")


# `footnotes add REPO --code` and `footnotes add DIR --wiki`: add a repository, and the pages about it.


def add_repositories(
    library: Library,
    paths: Sequence[str],
    progress: ProgressLine,
    *,
    wiki: bool,
    as_json: bool,
    verbose: bool,
    options: dict[str, Any],
) -> None:
    """Add repositories, or with `wiki` folders of pages, and print the result of every file."""
    failed = False
    for path in paths:
        stream = library.adding_wiki(path, **options) if wiki else library.adding_code(path, **options)
        failed = _show_files(path, stream, build_printer(verbose, progress), as_json=as_json, verbose=verbose) or failed
    if failed:
        sys.exit(EXIT_SOME_FAILED)


def _show_files(
    path: str, stream: Iterable[Followed], show: Callable[[Followed], None], *, as_json: bool, verbose: bool
) -> bool:
    """Print files as they arrive, then the counts; return whether a file failed."""
    start = time.monotonic()
    files: list[Followed] = []
    counts: dict[SyncStatus, int] = dict.fromkeys(get_args(SyncStatus), 0)
    for file in stream:
        counts[file.status] += 1
        if file.status != "unchanged":
            files.append(file)
            if not as_json:
                show(file)
    done = Synced(path, tuple(files), counts, False, round((time.monotonic() - start) * 1000, 1))
    if as_json:
        click.echo(json.dumps(to_json(done), ensure_ascii=False))
    else:
        click.echo(summary(done))
        _show_left_out(files)
    return counts["failed"] > 0


def _show_left_out(files: list[Followed]) -> None:
    reasons = Counter(file.warnings[0] for file in files if file.status == "skipped" and file.warnings)
    if reasons:
        totals = "; ".join(f"{count:,} {reason}" for reason, count in reasons.most_common(6))
        click.echo(f"left out: {totals} (-v lists them)")
