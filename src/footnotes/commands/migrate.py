"""`footnotes migrate`: the schema of a store, brought up to date."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command("migrate")
@click.option("--library", metavar="FOLDER", envvar="FOOTNOTES_LIBRARY", help="The library's folder.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def migrate_command(library: str | None, as_json: bool) -> None:
    """Bring the schema of the library's store up to date, as opening it does unless the setting migrate is false.

    Safe while servers run and when several do it at once: each step is one transaction, done by one of them.
    """
    from footnotes.config import load
    from footnotes.store.make import migrate_store

    settings = load(Path(library).expanduser() if library else None)
    applied, version = migrate_store(settings, Path(library or settings.library).expanduser())
    if as_json:
        click.echo(json.dumps({"applied": applied, "version": version}))
    elif applied:
        click.echo(f"The schema is at {version} now; applied: {', '.join(map(str, applied))}.")
    else:
        click.echo(f"The schema is at {version}; nothing was to be done.")
