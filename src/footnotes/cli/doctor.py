"""`footnotes doctor`: diagnose problems on this machine, and suggest remedies."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import click

from footnotes.cli.options import json_option, library_option
from footnotes.render import one_line

_COLOURS = {"ok": "green", "warning": "yellow", "problem": "red"}


@click.command("doctor")
@library_option
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to check for a server.")
@click.option("--port", default=8765, show_default=True, help="Its port.")
@json_option
def doctor_command(library: str | None, host: str, port: int, as_json: bool) -> None:
    """Check versions, permissions, disk, clock, models, database, indexes, queue and port.

    Exits with code 1 if there is a problem; warnings do not count.
    """
    from footnotes.doctor.examine import examine

    found = []
    for check in examine(Path(library).expanduser() if library else None, host=host, port=port):
        found.append(check)
        if not as_json:
            state = click.style(f"{check.state:8}", fg=_COLOURS.get(check.state))
            click.echo(f"{state} {check.name:16} {one_line(check.found)}")
            if check.remedy:
                click.echo(f"{'':25} {check.remedy}")
    problems = sum(check.state == "problem" for check in found)
    if as_json:
        click.echo(json.dumps({"ok": not problems, "checks": [asdict(check) for check in found]}, ensure_ascii=False))
    elif not problems:
        click.echo("\nNo problems found.")
    raise SystemExit(1 if problems else 0)
