"""`footnotes collections`: list collections, and set their chunker and system prompt."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import chunker_options, create_library, json_option, library_option, open_library, pairs
from footnotes.cli.printing import count, print_json
from footnotes.render import one_line, shortened

if TYPE_CHECKING:
    from footnotes.library import Library


@click.group("collections", invoke_without_command=True)
@library_option
@json_option
@click.pass_context
def collections_command(ctx: click.Context, library: str | None, as_json: bool) -> None:
    """List collections. `set` chooses the chunker and the system prompt of one."""
    if ctx.invoked_subcommand is None:
        _list(library=library, as_json=as_json)


@open_library
def _list(library: Library, as_json: bool) -> None:
    found = library.collections()
    if as_json:
        print_json({"collections": found})
        return
    for item in found:
        chunker = f"  chunker {item['chunker']}" if item["chunker"] else ""
        prompt = f"  “{shortened(item['system_prompt'], 60)}”" if item.get("system_prompt") else ""
        click.echo(f"{one_line(item['name'])}  {count(item['documents'], 'document')}{chunker}{prompt}")
    if not found:
        click.echo("No collections. Create one with `footnotes add PATH -c NAME`.")


@collections_command.command("set")
@click.argument("name")
@library_option
@json_option
@chunker_options
@click.option("--system-prompt", metavar="TEXT", help="The system prompt for questions about the collection.")
@create_library
def set_collection_command(
    library: Library,
    name: str,
    as_json: bool,
    chunker: str | None,
    chunker_option: Sequence[str],
    system_prompt: str | None,
) -> None:
    """Set the chunker and the system prompt of a collection. Creates the collection if it does not exist.

    The chunker applies to documents added from now on. `footnotes reindex -c NAME` applies it to existing documents.
    """
    options = pairs(chunker_option) or None
    library.set_collection(name, chunker=chunker, chunker_options=options, system_prompt=system_prompt)
    if as_json:
        print_json(next(item for item in library.collections() if item["name"] == name))
    else:
        click.echo(f"set {one_line(name)}")
