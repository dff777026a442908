"""The command line as a user calls it, within this process."""

from __future__ import annotations

from click.testing import CliRunner, Result

from footnotes.cli import main


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)
