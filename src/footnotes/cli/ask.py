"""`footnotes ask` and `footnotes chat`."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
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
from footnotes.render import answer_as_text, distinct_footnotes, footnote_line, notes_on, one_line, printable, shortened
from footnotes.types import Answer, Citation, Event, Step, Turn
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.types import Answer, Event


_answering = stack(
    click.option("--passages", type=int, help="Maximum number of passages for an answer.  [default: 20]"),
    click.option("--model", metavar="NAME", help="extractive, or a chat model as provider:model."),
    click.option(
        "--deep", is_flag=True, help="Search more than once: split the question and follow up on the results."
    ),
    click.option("--strict", is_flag=True, default=None, help="Omit unsupported sentences; fail if the model fails."),
)
HELD = 48
"""Characters held back until the marker of their sentence is known."""
Write = Callable[[str], None]


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

    if as_json:
        return last_answer(_echo_events(events))

    def write(text: str) -> None:
        click.echo(text, nl=False)

    return StreamedAnswer(write, lambda text: click.secho(text, dim=True, nl=False)).show(events)


def _choose_model(library: Library, options: dict[str, object]) -> None:
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


# ── print answers as they arrive: words, markers, then footnotes ──────────────────────────────────────────────


class StreamedAnswer:
    """Prints the events of one answer."""

    def __init__(self, write: Write, dim: Write) -> None:
        self._write, self._dim = write, dim
        self._text = ""
        self._written = 0
        self._marks: dict[int, list[str]] = {}
        self.answer: Answer | None = None

    def show(self, events: Iterable[Event]) -> Answer:
        """Print all events; return the answer."""
        for event in events:
            if event.step is not None:
                self._dim(step_line(event.step) + "\n")
            if event.text:
                self._text += event.text
                self._flush(len(self._text) - HELD)
            if event.citation is not None:
                self._mark(event.citation)
            self.answer = event.answer or self.answer
        assert self.answer is not None, "every stream ends in an answer"
        self._end(self.answer)
        return self.answer

    def _mark(self, citation: Citation) -> None:
        start, end = citation.answer_span
        place = start + len(self._text[start:end].rstrip())
        marks = self._marks.setdefault(place, [])
        if (mark := f"[{citation.marker}]") not in marks:
            marks.append(mark)

    def _flush(self, until: int) -> None:
        """Print the text up to a position, with its marks."""
        for place in sorted(place for place in self._marks if self._written <= place <= until):
            self._write(printable(self._text[self._written : place]) + " " + "".join(self._marks.pop(place)))
            self._written = place
        if until > self._written:
            self._write(printable(self._text[self._written : until]))
            self._written = until

    def _end(self, answer: Answer) -> None:
        self._flush(len(self._text))
        if answer.abstained and self._text != answer.answer:
            self._write(("\n" if self._text else "") + answer.answer)
        self._write("\n")
        if footnotes := [footnote_line(citation) for citation in distinct_footnotes(answer.citations)]:
            self._write("\n" + wrap_lines("\n".join(footnotes)) + "\n")
        notes = [
            f"[?] Nothing in the documents supports: “{shortened(answer.answer[a:b])}”" for a, b in answer.unsupported
        ]
        notes += [f"[~] Not certain: “{shortened(answer.answer[a:b])}”" for a, b in answer.uncertain]
        notes += [note for note in notes_on(answer) if not note.startswith(("[?]", "[~]"))]
        if notes:
            self._write("\n" + wrap_lines("\n".join(notes)) + "\n")


def step_line(step: Step) -> str:
    """Format one step of an answer as one line."""
    if step.type == "action":
        given = ", ".join(f"{name}={value!r}" for name, value in (step.tool_input or {}).items())
        return one_line(f"→ {step.tool}({given})")
    if step.type == "tool_result":
        return "  " + shortened(str(step.tool_output), 100)
    return "· " + shortened(step.text, 200)
