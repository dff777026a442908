"""`footnotes ask` and `footnotes chat`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click

from footnotes.cli.options import (
    check_collection,
    common_options,
    mode_option,
    open_library,
    read_words,
    stack,
    where_option,
)
from footnotes.cli.printing import print_json, wrap_lines
from footnotes.render import answer_as_text
from footnotes.types import Turn
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.types import Answer, Event

_answering = stack(
    click.option("--passages", type=int, help="Maximum number of passages for an answer.  [default: 20; 8 quoted]"),
    click.option("--model", metavar="NAME", help="extractive, or a chat model as provider:model."),
    click.option(
        "--deep", is_flag=True, help="Search more than once: split the question and follow up on the results."
    ),
    click.option("--strict", is_flag=True, default=None, help="Omit unsupported sentences; fail if the model fails."),
)


@click.command("ask", short_help="Answer a question, with a footnote for every sentence.")
@click.argument("question", nargs=-1, required=True)
@common_options
@where_option
@mode_option
@_answering
@click.option(
    "--stream/--no-stream", default=None, help="Print the answer as it arrives; with --json, one event per line."
)
@open_library
def ask_command(
    library: Library,
    question: Sequence[str],
    collection: str | None,
    as_json: bool,
    stream: bool | None,
    **options: Any,
) -> None:
    """Answer a question, with a footnote for every sentence. Use `-` to read it from standard input."""
    check_collection(library, collection)
    asked = read_words(question)
    options["collection"] = collection
    _choose_model(library, options)
    if stream if stream is not None else not as_json and sys.stdout.isatty():
        show_events(library.ask_stream(asked, **options), as_json)
        return
    answer = library.ask(asked, **options)
    if as_json:
        print_json(answer)
    else:
        text = answer_as_text(answer)
        click.echo(wrap_lines(text) if sys.stdout.isatty() else text)


@click.command("chat", short_help="Ask several questions in a conversation.")
@common_options
@where_option
@mode_option
@_answering
@open_library
def chat_command(library: Library, collection: str | None, as_json: bool, **options: Any) -> None:
    """Ask questions in a conversation. Each question can refer to earlier ones. An empty line ends it."""
    check_collection(library, collection)
    options["collection"] = collection
    _choose_model(library, options)
    history: list[Turn] = []
    if _is_interactive(as_json):
        click.secho("Ask about your documents. Press Enter on an empty line, or Ctrl-D, to leave.", dim=True)
    while asked := _next_question(quiet=as_json):
        answer = show_events(library.ask_stream(asked, history=history, **options), as_json)
        history += [Turn("user", asked), Turn("assistant", answer.answer)]


def show_events(events: Iterable[Event], as_json: bool) -> Answer:
    """Print events as JSON lines or as text; return the answer."""
    from footnotes.answer import last_answer
    from footnotes.cli.stream import StreamedAnswer

    if as_json:
        return last_answer(_echo_events(events))

    def write(text: str) -> None:
        click.echo(text, nl=False)

    return StreamedAnswer(write, lambda text: click.secho(text, dim=True, nl=False)).show(events)


def _choose_model(library: Library, options: dict[str, Any]) -> None:
    """Return the connected model of `footnotes models connect` or the page, unless --model is given."""
    from footnotes.server.overview import use_connected_model

    if options["model"] is None:
        options |= use_connected_model(library)


def _is_interactive(quiet: bool) -> bool:
    return sys.stdin.isatty() and not quiet


def _next_question(*, quiet: bool) -> str:
    """Read the next question; return an empty string at the end of the input."""
    if _is_interactive(quiet):
        click.secho("\n? ", bold=True, nl=False)
    return sys.stdin.readline().strip()


def _echo_events(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        click.echo(json.dumps(to_json(event), ensure_ascii=False))
        yield event
