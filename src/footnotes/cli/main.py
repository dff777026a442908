"""The group of all commands: load the called one, list them by topic, and map errors to exit codes."""

from __future__ import annotations

import secrets
import textwrap
from importlib import import_module

import click

from footnotes import __version__, tracing
from footnotes.cli.printing import print_error
from footnotes.errors import FootnotesError
from footnotes.settings import is_colour_refused

EXIT_ERROR, EXIT_INTERRUPTED = 1, 130

_TOPICS = {
    "Use": ("add", "ask", "chat", "search", "list", "show"),
    "Library": (
        "status", "collections", "sync", "watch", "sources", "jobs", "resume", "delete", "reindex", "verify", "compact",
        "export", "import", "backup", "restore", "copy", "config",
    ),
    "Quality": ("inspect", "eval", "tune"),
    "Server": ("serve", "worker", "keys", "mcp", "models", "migrate", "doctor", "completion"),
}  # fmt: skip
_DESCRIBED = "Use"
"""Only this topic is listed with descriptions, so the list fits on a screen."""
_MODULES = {
    "add": "add", "resume": "add", "ask": "ask", "chat": "ask", "list": "documents", "show": "documents",
    "delete": "documents", "export": "documents", "collections": "collections", "sync": "follow", "watch": "follow",
    "verify": "upkeep", "compact": "upkeep", "reindex": "upkeep", "import": "importing", "backup": "backup",
    "restore": "backup", "copy": "backup", "migrate": "upkeep",
    "eval": "evaluate", "tune": "evaluate", "worker": "serve", "keys": "serve", "mcp": "serve",
}  # fmt: skip
"""Modules whose command has another name. Only the module of the called command is loaded."""


class Commands(click.Group):
    """All commands, each loaded when it is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for names in _TOPICS.values() for name in names]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self.list_commands(ctx):
            return None
        module = import_module(f"footnotes.cli.{_MODULES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, f"{cmd_name}_command")
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        # All arguments after the name are the command's, so `--json` is known before its options are parsed.
        ctx.meta["footnotes.as_json"] = "--json" in args
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section(_DESCRIBED):
            formatter.write_dl([(name, self._short_help(ctx, name)) for name in _TOPICS[_DESCRIBED]])
        formatter.write("\n")
        for topic, names in _TOPICS.items():
            if topic != _DESCRIBED:
                first, indent = f"{topic + ':':9}", " " * 9
                lines = textwrap.fill(", ".join(names), formatter.width, initial_indent=first, subsequent_indent=indent)
                formatter.write(lines + "\n")

    def _short_help(self, ctx: click.Context, name: str) -> str:
        command = self.get_command(ctx, name)
        assert command is not None
        return command.get_short_help_str(80)

    def invoke(self, ctx: click.Context) -> object:
        token = tracing.REQUEST_ID.set(secrets.token_hex(8))  # calls to other services send it
        try:
            return super().invoke(ctx)
        except FootnotesError as error:
            print_error(error, as_json=ctx.meta.get("footnotes.as_json", False))
            ctx.exit(EXIT_ERROR)
        except KeyboardInterrupt:
            click.echo("\nStopped. Finished work is stored; run the same command again to continue.", err=True)
            ctx.exit(EXIT_INTERRUPTED)
        finally:
            tracing.REQUEST_ID.reset(token)


def _choose_colour(ctx: click.Context, parameter: click.Parameter, value: str) -> None:
    """Return whether to use colours: as requested, else by NO_COLOR, else by the terminal."""
    ctx.color = {"always": True, "never": False}.get(value, False if is_colour_refused() else None)


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="footnotes")
@click.option("--color", type=click.Choice(["auto", "always", "never"]), default="auto", expose_value=False,
              is_eager=True, callback=_choose_colour, help="Use colours; obeys NO_COLOR.")  # fmt: skip
def main() -> None:
    """Answer questions from your own documents, with footnotes.

    \b
    footnotes add ~/documents
    footnotes ask "How long is the notice period?"
    """
