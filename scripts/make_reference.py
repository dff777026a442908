"""Write docs/reference/{cli,settings,errors,chunkers,routes}.md from the code. A test fails if they differ from it.

python scripts/make_reference.py
"""

from __future__ import annotations

import ast
import inspect
import tempfile
from dataclasses import MISSING, fields
from pathlib import Path

import click

from footnotes import errors, plugins, settings
from footnotes.chunk import NEEDED
from footnotes.cli import main as command_line

FOLDER = Path(__file__).parent.parent / "docs" / "reference"
_HELP = {"max_content_width": 100, "terminal_width": 100, "help_option_names": ["-h", "--help"]}
"""As a person sees it: the options of the command line's own context, in a terminal of fixed width."""
WRITTEN_BY = "<!-- Written by scripts/make_reference.py; change the code, then run it. -->\n\n"


def settings_page() -> str:
    """A table of every setting, its default and the comment beside it."""
    source = inspect.getsource(settings.Settings)
    comments = {line.split(":")[0].strip(): line.partition("  # ")[2] for line in source.splitlines() if "  # " in line}
    rows = ["| setting | environment | default | meaning |", "| --- | --- | --- | --- |"]
    for field in fields(settings.Settings):
        default = field.default if field.default is not MISSING else {}
        meaning = comments[field.name].replace("|", "\\|")
        rows.append(f"| `{field.name}` | `FOOTNOTES_{field.name.upper()}` | `{default!r}` | {meaning} |")
    return (
        f"{WRITTEN_BY}# Settings\n\n"
        "Later sources override earlier ones: defaults, `footnotes.toml` in the library's folder, the file in "
        "`FOOTNOTES_CONFIG`, `FOOTNOTES_*` variables, arguments. An unknown name in a file or variable, and a value of "
        "the wrong type or out of range, are errors (`settings_invalid`).\n\n"
        '```toml\n# footnotes.toml\nchunker = "section"\nlimit = 20\n\n[chunker_options]\ntokens = 400\n```\n\n'
        + "\n".join(rows)
        + "\n"
    )


def errors_page() -> str:
    """Every error code with what to do."""
    tree = ast.get_docstring(ast.parse(inspect.getsource(errors))) or ""
    rows = ["| code | class | may succeed later | remedy |", "| --- | --- | --- | --- |"]
    seen = set()
    for kind in errors.all_errors():
        if kind.code in seen:
            continue
        seen.add(kind.code)
        later = "yes" if kind.retryable else "no"
        rows.append(f"| `{kind.code}` | `{kind.__name__}` | {later} | {kind.default_remedy} |")
    return (
        f"{WRITTEN_BY}# Errors\n\nEvery error has a stable code, a message that states the cause, and a remedy. "
        "In Python, errors are exceptions of `footnotes.errors`; with `--json`, they are printed as "
        '`{"error": {"code", "message", "remedy"}}`.\n\n'
        + "\n".join(rows)
        + f"\n\n## The tree\n\n```text\n{tree}\n```\n"
    )


def command_page() -> str:
    """The help of every command."""
    pages = [f"{WRITTEN_BY}# The command line\n"]
    context = click.Context(command_line, info_name="footnotes", **_HELP)
    pages.append(_help(command_line, context, "footnotes"))
    for name in sorted(command_line.list_commands(context)):
        command = command_line.get_command(context, name)
        inner = click.Context(command, info_name=name, parent=context, **_HELP)
        pages.append(_help(command, inner, f"footnotes {name}"))
    pages.append(
        "## Exit codes\n\n| code | meaning |\n| --- | --- |\n| 0 | done |\n| 1 | error, printed to standard error "
        "(with `--json` on standard output) |\n| 2 | invalid command or option |\n| 3 | some documents failed; the "
        "others were added |\n| 4 | `eval`: a measure is too low, or the second run is worse |\n"
        "| 130 | stopped by Ctrl-C; finished work is stored |\n"
    )
    return "\n".join(pages)


def _help(command: click.Command, context: click.Context, title: str) -> str:
    text = "\n".join(line.rstrip() for line in command.get_help(context).splitlines())
    return f"## {title}\n\n```text\n{text}\n```\n"


def chunkers_page() -> str:
    """Every chunker with its options."""
    rows = ["| chunker | options and defaults | rule |", "| --- | --- | --- |"]
    for name in plugins.names("chunkers"):
        chunker = plugins.find("chunkers", name)
        parameters = [p for p in inspect.signature(chunker).parameters.values() if p.name not in NEEDED]
        options = ", ".join(f"`{p.name}={p.default!r}`" for p in parameters)
        rule = (inspect.getdoc(chunker) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        rows.append(f"| `{name}` | {options} | {rule} |")
    return f"{WRITTEN_BY}# Chunkers\n\n" + "\n".join(rows) + "\n"


def routes_page() -> str:
    """Every route of the server."""
    from footnotes.server.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        server = create_app(folder)
        paths = server.api.openapi()["paths"]
        server.state.close()
    rows = ["| method | address | what it does |", "| --- | --- | --- |"]
    for path, methods in paths.items():
        for method, operation in methods.items():
            more = operation.get("description", "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            said = operation["summary"] + (f". {more}" if more else "")
            rows.append(f"| `{method.upper()}` | `{path}` | {said} |")
    rows.append("| | `/v1/ws` | WebSocket: questions; the answers are the events of `/v1/ask` |")
    rows.append("| | `/mcp` | Model Context Protocol, streamable HTTP |")
    return (
        f"{WRITTEN_BY}# Routes of the server\n\n`GET /openapi.json` lists them with all parameters and bodies. "
        "How to use them is in [server.md](../server.md).\n\n" + "\n".join(rows) + "\n"
    )


def pages() -> dict[str, str]:
    return {
        "settings.md": settings_page(),
        "errors.md": errors_page(),
        "cli.md": command_page(),
        "chunkers.md": chunkers_page(),
        "routes.md": routes_page(),
    }


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, content in pages().items():
        (FOLDER / name).write_text(content, encoding="utf-8")


if __name__ == "__main__":
    main()
