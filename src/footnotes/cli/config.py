"""`footnotes config`: show and change settings."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, library_option
from footnotes.cli.printing import print_json
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.settings import Origin


@click.group("config")
def config_command() -> None:
    """Show settings and where each is set, change them, and print the path of the file."""


@config_command.command("show")
@click.argument("name", required=False)
@library_option
@json_option
@click.option("--all", "everything", is_flag=True, help="Include settings with their default value.")
def show_config_command(name: str | None, library: str | None, as_json: bool, everything: bool) -> None:
    """Show changed settings, or one, and where each is set. Keys are never shown."""
    from footnotes.settings import origins

    found = origins(_folder(library))
    if name is not None:
        found = {name: found[_check_name(name, found)]}
    elif not everything:
        found = {each: origin for each, origin in found.items() if not origin.is_default}
    if as_json:
        print_json({"settings": {each: {"value": _display_value(o), "origin": o.where} for each, o in found.items()}})
        return
    for each, origin in found.items():
        click.echo(f"{each} = {one_line(str(_display_value(origin)))}  ({one_line(origin.where)})")
    if not found:
        click.echo("all settings have their default; --all lists them")


@config_command.command("set")
@click.argument("name")
@click.argument("value")
@library_option
def set_config_command(name: str, value: str, library: str | None) -> None:
    """Set NAME to VALUE in the library's footnotes.toml, after checking it. Keeps comments."""
    from footnotes.settings import change_file, check_value, config_path

    path = config_path(_folder(library))
    change_file(path, {name: check_value(name, value)})
    click.echo(f"{name} is set in {path}")


@config_command.command("unset")
@click.argument("name")
@library_option
def unset_config_command(name: str, library: str | None) -> None:
    """Remove NAME from the library's footnotes.toml, to restore its default."""
    from footnotes.settings import change_file, config_path, origins

    folder = _folder(library)
    _check_name(name, origins(folder))
    change_file(config_path(folder), {name: None})
    click.echo(f"{name} is no longer set in {config_path(folder)}")


@config_command.command("path")
@library_option
def path_config_command(library: str | None) -> None:
    """Print the path of the library's footnotes.toml."""
    from footnotes.settings import config_path

    click.echo(str(config_path(_folder(library))))


def _folder(library: str | None) -> Path | None:
    return Path(library).expanduser() if library else None


def _check_name(name: str, found: dict[str, Origin]) -> str:
    from footnotes.settings import unknown_setting

    if name not in found:
        raise unknown_setting(repr(name), name)
    return name


def _display_value(origin: Origin) -> object:
    if origin.is_secret:
        return "(set, hidden)" if origin.value else ""
    return list(origin.value) if isinstance(origin.value, tuple) else origin.value
