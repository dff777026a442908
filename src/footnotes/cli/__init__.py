"""The command line: thin, no logic. Every command prints for people, or with --json the shapes of the wire format."""

from footnotes.cli.main import main

__all__ = ["main"]
