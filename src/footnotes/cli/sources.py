"""`footnotes sources`: list, add, run and remove the sources of the server."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.follow import build_printer, source_options, summary
from footnotes.cli.options import (
    EXIT_SOME_FAILED,
    json_option,
    library_option,
    open_server_database,
    pairs,
    progress_line,
)
from footnotes.errors import FootnotesError
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.server.following import FollowedSource, FollowedSources
    from footnotes.settings import Settings

_PERIODS = {"m": 60, "h": 3_600, "d": 86_400, "s": 1}


@click.group("sources", invoke_without_command=True)
@library_option
@json_option
@click.pass_context
def sources_command(context: click.Context, library: str | None, as_json: bool) -> None:
    """List the sources that the server syncs, or add, run or remove one.

    `footnotes serve` runs each source on schedule. `footnotes sources run` runs them now, without a server.
    """
    context.obj = library
    if context.invoked_subcommand is not None:
        return
    with _open_sources(library) as (sources, settings):
        found = sources.all(settings.user)
    if as_json:
        click.echo(json.dumps({"sources": to_json(found)}, ensure_ascii=False))
        return
    for each in found:
        click.echo(_line(each))
        if each.error:
            click.secho(f"              {each.error.message}. {each.error.remedy} [{each.error.code}]", fg="red")
    if not found:
        click.echo("No sources. Add one with `footnotes sources add ADDRESS`.")


@sources_command.command("add")
@click.argument("address")
@click.option("--collection", "-c", metavar="NAME", help="The collection to update.")
@click.option(
    "--option", "-o", multiple=True, metavar="KEY=VALUE", help="Set an option of the source; see docs/sources.md."
)
@click.option("--metadata", "-m", multiple=True, metavar="KEY=VALUE", help="Set metadata on every document.")
@click.option(
    "--every",
    default="1h",
    show_default=True,
    metavar="TIME",
    help="Interval: 90s, 15m, 1h, 1d; 0 to run it only by hand.",
)
@click.pass_obj
def add_command(
    library: str | None,
    address: str,
    collection: str | None,
    option: Sequence[str],
    metadata: Sequence[str],
    every: str,
) -> None:
    """Add a source. A server syncs it on schedule; `footnotes sources run` syncs it now."""
    from footnotes.server.following import NewFollowedSource

    with _open_sources(library) as (sources, settings):
        new = NewFollowedSource(
            _absolute(address),
            collection or settings.collection,
            source_options(option),
            metadata=pairs(metadata),
            every=_seconds(every),
        )
        click.echo(_line(sources.add(settings.user, new, trusted=True)))


@sources_command.command("run")
@click.argument("source_id", metavar="[ID]", default="")
@click.option("--dry-run", "-n", is_flag=True, help="Print what would change; change nothing.")
@click.option("--verbose", "-v", is_flag=True, help="List every document.")
@click.pass_obj
def run_command(library: str | None, source_id: str, dry_run: bool, verbose: bool) -> None:
    """Sync a source now, or all of them."""
    from footnotes.library import Library

    failed = False
    with _open_sources(library) as (sources, settings), Library(library) as open_library, progress_line() as progress:
        found = [sources.find(settings.user, source_id)] if source_id else sources.all(settings.user)
        for each in found:
            show = build_printer(verbose, progress)
            try:
                done = sources.sync(open_library, each, on_progress=progress, on_file=show, dry_run=dry_run)
            except FootnotesError as error:
                if len(found) == 1:
                    raise
                failed = True  # continue with the others
                click.echo(f"{each.address}: {error.message} {error.remedy}", err=True)
                continue
            failed = failed or bool(done.counts["failed"])
            click.echo(f"{each.address}: {summary(done)}")
    if failed:
        sys.exit(EXIT_SOME_FAILED)


@sources_command.command("remove")
@click.argument("source_id", metavar="ID")
@click.pass_obj
def remove_command(library: str | None, source_id: str) -> None:
    """Remove a source. Its documents stay."""
    with _open_sources(library) as (sources, settings):
        click.echo(f"removed {sources.remove(settings.user, source_id).address}")


@contextmanager
def _open_sources(library: str | None) -> Iterator[tuple[FollowedSources, Settings]]:
    from footnotes.server.following import FollowedSources

    with open_server_database(library) as (database, settings, folder):
        yield FollowedSources(database, folder, settings), settings


def _line(source: FollowedSource) -> str:
    counts = ", ".join(f"{count:,} {name}" for name, count in source.counts.items())
    ran = f"  {source.ran_at[:16].replace('T', ' ')} UTC" if source.ran_at else ""
    often = f"every {source.every:,} s" if source.every else "by hand"
    return f"{source.id}  {source.state:8} {source.address}  in {source.collection}, {often}{ran}  {counts}".rstrip()


def _seconds(text: str) -> int:
    number, unit = (text[:-1], text[-1]) if text[-1:] in _PERIODS else (text, "s")
    if not number.isdecimal():
        raise click.BadParameter("a time has the form 90s, 15m, 1h or 1d", param_hint="--every")
    return int(number) * _PERIODS[unit]


def _absolute(address: str) -> str:
    """Make the path of a local file or folder absolute, because a server may run in another folder."""
    scheme, colon, rest = address.partition(":")
    path, mark, query = rest.partition("?")
    if not colon or path.startswith("/") or not path or not Path(path).expanduser().exists():
        return address
    return f"{scheme}:{Path(path).expanduser().absolute()}{mark}{query}"
