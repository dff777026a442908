"""Output of commands: JSON, errors, counts, and text that fits the terminal."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from footnotes.errors import FootnotesError
from footnotes.render import one_line, printable
from footnotes.wire import to_json

MOST_COLUMNS = 100
_TABLE_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")


def print_json(value: object) -> None:
    """Print one line of JSON."""
    content = to_json(value)
    text = json.dumps(content, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # invalid Unicode is valid JSON as an escape
        text = json.dumps(content)
    click.echo(text)


def print_error(error: FootnotesError, *, as_json: bool) -> None:
    """Print the cause, the remedy and the code of an error."""
    if as_json:
        print_json({"error": error.info()})
        return
    click.secho(f"error: {one_line(error.message)}", fg="red", err=True)
    click.echo(f"       {error.remedy} [{error.code}]", err=True)


def print_note(text: str) -> None:
    click.secho(f"note: {one_line(text)}", fg="yellow")


def count(number: int | None, noun: str) -> str:
    """Format a count: `1 chunk`, `2,000 chunks`."""
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"


def near(path: str) -> str:
    """Return a path relative to the current folder."""
    return one_line(path.removeprefix(str(Path.cwd()) + "/"))


def page_range(pages: tuple[int, int]) -> str:
    first, last = pages
    return str(first) if first == last else f"{first}–{last}"


def columns() -> int:
    """Return the width for text."""
    return min(shutil.get_terminal_size().columns, MOST_COLUMNS)


def wrap(text: str, indent: str = "", first: str | None = None) -> str:
    """Wrap a text at words; every line but the first is indented."""
    start = indent if first is None else first
    return textwrap.fill(text, max(columns(), len(indent) + 20), initial_indent=start, subsequent_indent=indent,
                         break_on_hyphens=False)  # fmt: skip


def wrap_lines(text: str) -> str:
    """Wrap every line of a text on its own, with a hanging indent."""
    return "\n".join(
        wrap(line.strip(), _indent_hanging(line), _own_indent(line)) if line.strip() else ""
        for line in text.split("\n")
    )


def _own_indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _indent_hanging(line: str) -> str:
    """Return the indent below the first word: after the mark of a footnote or list."""
    mark = re.match(r"\s*(?:\[\d+\]|\[[?~]\]|[-*•]|\d+[.)])?\s*", line)
    return " " * (mark.end() if mark else 0)


def mark_words(text: str, words: Iterable[str]) -> str:
    """Mark the words of a question in a text, with any ending."""
    stems = sorted({re.escape(word[: max(4, len(word) - 2)]) for word in words if len(word) > 2}, key=len, reverse=True)
    if not stems:
        return text
    pattern = re.compile(rf"\b(?:{'|'.join(stems)})\w*", re.IGNORECASE)
    return pattern.sub(lambda match: click.style(match[0], bold=True, underline=True), text)


def table_rows(text: str) -> list[list[str]] | None:
    """Parse a table with `|` into cells; None if the text is not one."""
    lines = [line.strip() for line in text.strip().split("\n") if line.strip()]
    if len(lines) < 2 or sum("|" in line for line in lines) < len(lines):
        return None
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not _TABLE_RULE.fullmatch(line)]
    return rows or None


def align_table(rows: Sequence[Sequence[str]], *, indent: str = "", most: int = 12) -> str:
    """Align the columns of rows; cut cells that are too long."""
    number = max(len(row) for row in rows)
    room = max((columns() - len(indent)) // number - 2, 6)
    cells = [[cell if len(cell) <= room else cell[: room - 1] + "…" for cell in row] for row in rows[:most]]
    widths = [max((len(row[at]) for row in cells if at < len(row)), default=0) for at in range(number)]
    lines = ["  ".join(cell.ljust(widths[at]) for at, cell in enumerate(row)).rstrip() for row in cells]
    more = [f"… {count(len(rows) - most, 'more row')}"] if len(rows) > most else []
    return "\n".join(indent + line for line in [*lines, *more])


def write_text(text: str) -> None:
    """Write a document's text: unchanged to a file or pipe, without control characters to a terminal."""
    sys.stdout.write(printable(text, "\ufffd") if sys.stdout.isatty() else text)
    sys.stdout.flush()
