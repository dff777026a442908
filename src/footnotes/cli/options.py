"""Shared options of commands, and parsers for their values."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from footnotes.errors import StoreError
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.cli.progress import ProgressLine
    from footnotes.library import Library
    from footnotes.server.database import ServerDatabase
    from footnotes.settings import Settings

Command = Callable[..., None]

EXIT_SOME_FAILED = 3
NAMED_TENANTS = 5

library_option = click.option("--library", "-l", metavar="DIR", help="Folder of the library. [default: ~/.footnotes]")
collection_option = click.option(
    "--collection", "-c", metavar="NAME", help="A named group of documents inside the library."
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
where_option = click.option(
    "--where",
    "-w",
    multiple=True,
    metavar="KEY=VALUE",
    help="Filter; also != > >= < <= ~ (glob), or layer:domain path:src/**.",
)
mode_option = click.option("--mode", type=click.Choice(["hybrid", "lexical", "dense"]), help="The legs to use.")


def stack(*options: Callable[[Command], Command]) -> Callable[[Command], Command]:
    """Combine several options into one decorator, in the listed order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


common_options = stack(library_option, collection_option, json_option)
chunker_options = stack(
    click.option("--chunker", metavar="NAME", help="The chunker; see docs/reference/chunkers.md."),
    click.option("--chunker-option", multiple=True, metavar="KEY=VALUE", help="Set an option of the chunker."),
)
fusion_options = stack(
    click.option("--fusion", type=click.Choice(["adaptive", "alpha", "rrf"]), help="The fusion method."),
    click.option("--alpha", type=float, help="Weight of the dense leg, with --fusion alpha."),
    click.option(
        "--weights", metavar="L,D", callback=lambda ctx, parameter, value: _weights(value),
        help="Weights of the lexical and the dense leg, with --fusion rrf.",
    ),
    click.option(
        "--missing-rank", type=click.IntRange(min=0), help="With --fusion rrf: the rank of a hit missing in a leg."
    ),
)  # fmt: skip


def open_library(command: Command) -> Command:
    """Pass an open library to the command instead of its folder; raise if it does not exist."""
    return _with_library(command, create=False)


def create_library(command: Command) -> Command:
    """Like `open_library`, but create a library that does not exist."""
    return _with_library(command, create=True)


def _with_library(command: Command, *, create: bool) -> Command:
    @wraps(command)
    def run(library: str | None, **options: Any) -> None:
        from footnotes.library import Library

        with Library(library, create=create) as found:
            command(found, **options)

    return run


def other_tenants(library: Library) -> list[str]:
    """Return the other tenants with data in the library's store; none if the role in a database may not see them."""
    from footnotes.store.make import open_store

    with suppress(StoreError), closing(open_store(library.settings, library.folder, create=False)) as store:
        return [user for user in store.users() if user != library.settings.user]
    return []


def others_named(tenants: Sequence[str]) -> str:
    """Name other tenants, and how to look at them: `acme has data here too (FOOTNOTES_USER=acme)`."""
    named = ", ".join(tenants[:NAMED_TENANTS]) + (", …" if len(tenants) > NAMED_TENANTS else "")
    have = "has" if len(tenants) == 1 else "have"
    return one_line(f"{named} {have} data here too: choose one with FOOTNOTES_USER=NAME")


def check_collection(library: Library, collection: str | None) -> None:
    """Raise if a named collection does not exist."""
    if collection is not None:
        library.check_collection(collection)


def load_settings(library: str | None) -> tuple[Settings, Path]:
    """Load the settings of a library, with its folder."""
    from footnotes.settings import load

    settings = load(Path(library).expanduser() if library else None)
    return settings, Path(library or settings.library).expanduser()


@contextmanager
def open_server_database(library: str | None) -> Iterator[tuple[ServerDatabase, Settings, Path]]:
    """Open the server's database of a library, with its settings and folder."""
    from footnotes.server.database import open_database

    settings, folder = load_settings(library)
    with closing(open_database(folder, settings)) as database:
        yield database, settings, folder


def progress_line() -> ProgressLine:
    from footnotes.cli.progress import ProgressLine

    return ProgressLine(sys.stderr, live=sys.stderr.isatty())


def read_words(words: Sequence[str]) -> str:
    """Join the words of a question; read standard input if it is `-`."""
    if list(words) == ["-"]:
        return sys.stdin.read().strip()
    return " ".join(words)


def pairs(texts: Sequence[str]) -> dict[str, Any]:
    """Parse `key=value` options; convert numbers, true and false."""
    found: dict[str, object] = {}
    for item in texts:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise click.UsageError(f"{item!r} is not of the form KEY=VALUE")
        found[key] = _scalar(value)
    return found


def _scalar(value: str) -> str | int | float | bool:
    if value in ("true", "false"):
        return value == "true"
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            continue
    return value


def _weights(value: str | None) -> tuple[float, float] | None:
    if value is None:
        return None
    try:
        lexical, dense = (float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter("pass two numbers, such as 0.5,0.5") from error
    return lexical, dense
