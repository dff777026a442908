"""`footnotes migrate`: the schema of a store, brought up to date."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option

if TYPE_CHECKING:
    from footnotes.config import Settings


@click.command("migrate")
@click.option("--library", metavar="FOLDER", envvar="FOOTNOTES_LIBRARY", help="The library's folder.")
@json_option
def migrate_command(library: str | None, as_json: bool) -> None:
    """Bring the schema of the library's store up to date, as opening it does unless the setting migrate is false.

    Safe while servers run and when several do it at once: each step is one transaction, done by one of them. In
    PostgreSQL it also makes roles, grants, policies and the server's own tables again, whatever of them was lost.
    """
    from footnotes.config import load
    from footnotes.store.make import migrate_store, repair_store

    settings = load(Path(library).expanduser() if library else None)
    repaired = repair_store(settings)
    applied, version = migrate_store(settings, Path(library or settings.library).expanduser())
    if settings.store:
        _migrate_server(settings)
    if as_json:
        click.echo(json.dumps({"applied": applied, "version": version, "repaired": repaired}))
        return
    if repaired:
        click.echo(f"Made again: {', '.join(repaired)}.")
    if applied:
        click.echo(f"The schema is at {version} now; applied: {', '.join(map(str, applied))}.")
    elif not repaired:
        click.echo(f"The schema is at {version}; nothing was to be done.")


def _migrate_server(settings: Settings) -> None:
    try:
        from footnotes.serve.shared.schema import migrate_server
    except ModuleNotFoundError:  # without the extra no server runs from here; one that has it makes its own tables
        return
    migrate_server(settings)
