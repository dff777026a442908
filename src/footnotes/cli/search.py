"""`footnotes search`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from footnotes.answer.plain import skim_text
from footnotes.cli.options import (
    check_collection,
    common_options,
    fusion_options,
    mode_option,
    open_library,
    read_words,
    where_option,
)
from footnotes.cli.printing import align_table, mark_words, print_json, table_rows, wrap
from footnotes.parse.types_by_name import is_code_name, is_markup_name
from footnotes.render import hit_place, note_on_search, one_line, printable, shortened

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.types import Hit

INDENT = "   "
CHARACTERS, CODE_LINES = 300, 8
SKIMMED = 2_000


@click.command("search", short_help="Find passages.")
@click.argument("query", nargs=-1, required=True)
@common_options
@where_option
@mode_option
@click.option("--limit", "-n", type=int, help="Maximum number of hits.  [default: 10]")
@click.option(
    "--per-document", type=int, help="Maximum number of hits per document; 0 depends on its length.  [default: 0]"
)
@fusion_options
@click.option("--expand", is_flag=True, help="Also search for synonyms and acronyms.")
@click.option("--reranker", metavar="NAME", help="colbert, late, llm, onnx, server:model or cohere:model.")
@open_library
def search_command(
    library: Library, query: Sequence[str], collection: str | None, as_json: bool, expand: bool, **options: Any
) -> None:
    """Find passages. Use `-` to read the question from standard input."""
    check_collection(library, collection)
    asked = read_words(query)
    if expand:
        options["expand"] = ("synonyms",)
    result = library.search(asked, collection=collection, **options)
    if as_json:
        print_json(result)
        return
    for number, hit in enumerate(result.hits, start=1):
        show_hit(number, hit, asked.split())
    if not result.hits:
        click.echo("Nothing found.")
    if note := note_on_search(result):
        click.secho(note, fg="yellow", err=True)


def show_hit(number: int, hit: Hit, words: Sequence[str]) -> None:
    """Print a hit: its location, its text with the words of the question marked, and its scores."""
    heading = f"  {one_line(hit.headings[-1])}" if hit.headings else ""
    legs = []
    for name, leg in (("lexical", hit.scores.lexical), ("dense", hit.scores.dense)):
        if leg is not None:
            legs.append(f"{name} {'#' + str(leg.rank) if leg.rank else '–'} {leg.score:.3f}")
    legs += [one_line(hit.scores.reason)] if hit.scores.reason else []
    click.secho(f"{number}. {hit_place(hit)}{heading}", bold=True)
    click.echo(mark_words(_text(hit), words))
    click.secho(f"{INDENT}{hit.score:.3f} ({', '.join(legs)})  {hit.document_id}:{hit.start}-{hit.end}", dim=True)


def _text(hit: Hit) -> str:
    """Format the text of a hit: code by lines, a table aligned, prose wrapped."""
    text = printable(hit.text).strip("\n")
    if is_code_name(hit.filename):
        lines = text.split("\n")
        more = [f"… {len(lines) - CODE_LINES} more lines"] if len(lines) > CODE_LINES else []
        return "\n".join(INDENT + line for line in [*lines[:CODE_LINES], *more])
    if rows := table_rows(text):
        return align_table(rows, indent=INDENT)
    prose = skim_text(text[:SKIMMED]) if is_markup_name(hit.filename) else ""
    return wrap(shortened(prose or text, CHARACTERS), INDENT)
