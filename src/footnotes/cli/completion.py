"""`footnotes completion`: print or install shell completion."""

from __future__ import annotations

from pathlib import Path

import click
from click.shell_completion import get_completion_class

from footnotes.errors import StoreUnavailable

_PLACES = {
    "bash": "~/.local/share/bash-completion/completions/footnotes",
    "zsh": "~/.zfunc/_footnotes",
    "fish": "~/.config/fish/completions/footnotes.fish",
}
_HINTS = {
    "bash": "Open a new shell (the package bash-completion loads it).",
    "zsh": "Add `fpath+=~/.zfunc; autoload -Uz compinit; compinit` to ~/.zshrc, then open a new shell.",
    "fish": "Open a new shell.",
}


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(_PLACES)))
@click.option("--install", is_flag=True, help="Write the script to the shell's completion folder.")
def completion_command(shell: str, install: bool) -> None:
    """Print the completion script for a shell, or install it."""
    from footnotes.cli.main import main

    complete = get_completion_class(shell)
    assert complete is not None, "click has these shells"
    script = complete(main, {}, "footnotes", "_FOOTNOTES_COMPLETE").source()
    if not install:
        click.echo(script)
        return
    place = Path(_PLACES[shell]).expanduser()
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(script + "\n", encoding="utf-8")
    except OSError as error:
        raise StoreUnavailable(f"cannot write {place} ({error.strerror})") from error
    click.echo(f"wrote {place}. {_HINTS[shell]}")
