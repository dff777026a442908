"""The command line. Commands contain no logic; they print text, or the JSON wire format with --json."""

from footnotes.cli.main import main

__all__ = ["main"]
