"""The command line as a user calls it, within this process."""

from __future__ import annotations

import sys

from click.testing import CliRunner, Result

from footnotes.cli import main


def run(*arguments: str) -> Result:
    # The group looks at the words it was called with to know how to print an error.
    before, sys.argv = sys.argv, ["footnotes", *arguments]
    try:
        return CliRunner().invoke(main, arguments)
    finally:
        sys.argv = before
