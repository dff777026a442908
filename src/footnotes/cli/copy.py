"""`footnotes copy`: a library from one store to another."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, progress_line

if TYPE_CHECKING:
    from footnotes.config import Settings


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--user", metavar="NAME", help="The tenant to copy. [default: the one of the settings]")
@json_option
def copy_command(source: str, target: str, user: str | None, as_json: bool) -> None:
    """Copy a library between stores, with its vectors, ids and generations.

    FROM and TO are folders or addresses of PostgreSQL (postgresql://…). A copy that was cut off goes on where it
    stopped; at the end every document is compared with the one it came from.
    """
    from footnotes.ingest.copying import copy_between

    with progress_line() as progress:
        done = copy_between(_settings(source, user), _settings(target, user), on_progress=progress)
    if as_json:
        click.echo(json.dumps(asdict(done)))
        return
    click.echo(
        f"{done.documents:,} documents copied ({done.already_there:,} were there), {done.chunks:,} chunks in all, "
        f"{done.generations} generations, {done.originals:,} originals; every document compared"
    )


def _settings(place: str, user: str | None) -> Settings:
    from footnotes.config import load

    is_address = "://" in place
    settings = load(None if is_address else Path(place).expanduser())
    named = replace(settings, store=place) if is_address else replace(settings, store="", library=place)
    return replace(named, user=user) if user else named
