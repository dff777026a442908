"""`footnotes verify`, `compact`, `reindex` and `migrate`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from footnotes.cli.main import EXIT_ERROR
from footnotes.cli.options import (
    chunker_options,
    common_options,
    json_option,
    load_settings,
    open_library,
    other_tenants,
    others_named,
    pairs,
    progress_line,
)
from footnotes.cli.printing import count, print_json

SHOWN_PROBLEMS = 20

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.settings import Settings


@click.command("verify")
@common_options
@click.option("--repair", is_flag=True, help="Rebuild damaged data from the database.")
@open_library
def verify_command(library: Library, collection: str | None, as_json: bool, repair: bool) -> None:
    """Check the consistency of the library."""
    _whole_library(collection)
    found = library.verify(repair=repair)
    outdated, others = len(library.outdated()), other_tenants(library)
    if as_json:
        problems = [{"what": problem.what, "mendable": problem.mendable} for problem in found.problems]
        print_json(
            {
                "ok": found.ok,
                "checked": found.checked,
                "problems": problems,
                "repaired": found.repaired,
                "outdated": outdated,
                "other_tenants": others,
            }
        )
    else:
        for note in found.repaired:
            click.echo(f"repaired: {note}")
        for problem in found.problems[:SHOWN_PROBLEMS]:
            hint = " (run footnotes verify --repair)" if problem.mendable else ""
            click.secho(f"problem: {problem.what}{hint}", fg="red")
        if (more := len(found.problems) - SHOWN_PROBLEMS) > 0:
            click.secho(f"… and {count(more, 'more problem')}; --json lists all", fg="red")
        if found.ok:
            counts = ", ".join(_checked(name, number) for name, number in found.checked.items()) or "an empty library"
            click.echo(f"No problems: {counts} checked.")
        if outdated:
            click.echo(f"{count(outdated, 'document')} from an older version: `footnotes reindex --outdated`")
        if others:
            click.echo(f"Checked the tenant {library.settings.user} only: {others_named(others)}")
    if not found.ok:
        sys.exit(EXIT_ERROR)


def _checked(name: str, number: int) -> str:
    return count(number, name.removesuffix("s")) if name.endswith("s") else f"{number:,} {name}"


@click.command("compact")
@common_options
@click.option("--scrub", is_flag=True, help="In PostgreSQL: rewrite the tables; locks each for all tenants.")
@open_library
def compact_command(library: Library, collection: str | None, as_json: bool, scrub: bool) -> None:
    """Remove every byte of deleted documents from the folder.

    In PostgreSQL, this frees space without blocking others; --scrub also removes every byte from its files.
    """
    _whole_library(collection)
    library.compact(scrub=scrub)
    if as_json:
        print_json({"compacted": True})
    else:
        click.echo("compacted")


@click.command("reindex")
@common_options
@chunker_options
@click.option("--embedder", metavar="PROVIDER:MODEL", help="Switch to this embedder.")
@click.option("--outdated", is_flag=True, help="Run only if documents are from an older version, chunker or model.")
@click.option("--keep", is_flag=True, help="Keep the previous generation, for --rollback.")
@click.option("--rollback", is_flag=True, help="Switch back to the kept generation.")
@click.option(
    "--golden",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Switch only if the results on this golden set are not worse.",
)
@click.option("--min-recall", type=float, metavar="X", help="With --golden: switch only if recall is at least this.")
@open_library
def reindex_command(
    library: Library,
    collection: str | None,
    as_json: bool,
    chunker_option: Sequence[str],
    rollback: bool,
    golden: Path | None,
    min_recall: float | None,
    **options: Any,
) -> None:
    """Build the next generation beside the current one, then switch."""
    gate = _gate(library, golden, min_recall)
    with progress_line() as progress:
        if rollback:
            result = library.rollback(on_progress=progress)
        else:
            result = library.reindex(
                collection=collection,
                chunker_options=pairs(chunker_option) or None,
                gate=gate,
                on_progress=progress,
                from_files=True,
                **options,
            )
    if as_json:
        print_json(result)
        return
    left = library.count_outdated() if options.get("outdated") else 0
    if result["documents"] or not options.get("outdated"):
        remark = f"; generation {result['replaced']} is kept" if result["kept"] else ""
        click.echo(
            f"generation {result['generation']} serves: {count(result['documents'], 'document')} built, "
            f"{count(result['embedded'], 'chunk')} embedded{remark}"
        )
    elif not left:
        click.echo("nothing is outdated")
    if left:
        click.echo(f"{count(left, 'document')} from an older parser left: the file is gone or changed. Add it again.")


def _whole_library(collection: str | None) -> None:
    if collection is not None:
        raise click.UsageError("this command works on the whole library; omit --collection")


def _gate(library: Library, golden: Path | None, min_recall: float | None) -> Callable[[int], dict[str, object]] | None:
    if golden is None:
        if min_recall is not None:
            raise click.UsageError("--min-recall needs --golden")
        return None
    from footnotes.evaluate.report import golden_gate

    return golden_gate(library, golden, min_recall, say=lambda text: click.echo(text, err=True))


@click.command("migrate")
@click.option("--library", metavar="FOLDER", envvar="FOOTNOTES_LIBRARY", help="The library's folder.")
@json_option
def migrate_command(library: str | None, as_json: bool) -> None:
    """Migrate the schema of the library's store. Opening a library does this too, unless the setting migrate is false.

    Safe while servers run, and safe to run concurrently: each step is one transaction, run by one process. In
    PostgreSQL, it also recreates missing roles, grants, policies and server tables.
    """
    from footnotes.store.make import migrate_store, repair_store

    settings, folder = load_settings(library)
    repaired = repair_store(settings)
    applied, version = migrate_store(settings, folder)
    if settings.store:
        _migrate_server(settings)
    if as_json:
        click.echo(json.dumps({"applied": applied, "version": version, "repaired": repaired}))
        return
    if repaired:
        click.echo(f"Recreated: {', '.join(repaired)}.")
    if applied:
        click.echo(f"Migrated the schema to {version}; applied: {', '.join(map(str, applied))}.")
    elif not repaired:
        click.echo(f"The schema is at {version}; nothing to do.")


def _migrate_server(settings: Settings) -> None:
    try:
        from footnotes.server.postgres import migrate_server
    except ModuleNotFoundError:  # Without the extra no server runs here; a server with it creates its own tables.
        return
    migrate_server(settings)
