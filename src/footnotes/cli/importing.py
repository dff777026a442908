"""`footnotes import`: import an export, or a collection of another tool."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import collection_option, json_option, library_option, progress_line
from footnotes.cli.printing import count, print_note

if TYPE_CHECKING:
    from footnotes.cli.progress import ProgressLine
    from footnotes.ingest.importing.records import ImportResult
    from footnotes.library import Library


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@library_option
@collection_option
@click.option(
    "--from", "source", metavar="SOURCE", help="Import a collection of another tool; see the addresses above."
)
@click.option("--text-field", default="", metavar="NAME", help="With --from: the field with the text.")
@click.option(
    "--group-by",
    default="",
    metavar="NAME",
    help="With --from: the field with the document's name; - joins no records.",
)
@click.option("--vector", default="", metavar="NAME", help="With --from: the named vector to use in Qdrant.")
@click.option("--model", default="", metavar="NAME", help="With --from: the model that made the vectors.")
@json_option
def import_command(
    file: str | None, library: str | None, collection: str | None, source: str | None, as_json: bool, **reading: str
) -> None:
    """Import documents from an export, or with --from a collection of another tool. Never overwrites.

    \b
    chroma://host:8000/COLLECTION   a Chroma server; chroma+https:// for TLS
    chroma:FOLDER#COLLECTION        a local Chroma folder
    qdrant://host:6333/COLLECTION   a Qdrant server; qdrant+https:// for TLS
    json:FILE                       an array or lines of {pageContent, metadata}, as LangChain writes them

    Set the key with the setting import_api_key, or with FOOTNOTES_IMPORT_API_KEY.
    """
    if (file is None) == (source is None):
        raise click.UsageError("pass a FILE written by `footnotes export`, or a SOURCE after --from")
    if source is None and any(reading.values()):
        option = next(name for name, value in reading.items() if value)
        raise click.UsageError(f"--{option.replace('_', '-')} needs --from")
    from footnotes.library import Library

    with Library(library) as open_library, progress_line() as progress:
        if source is not None:
            done = open_library.import_from(source, collection=collection, on_progress=progress, **reading)
        else:
            _show_imported(open_library, str(file), collection, progress, as_json)
            return
    if as_json:
        click.echo(json.dumps(import_to_json(done), ensure_ascii=False))
    else:
        _show(done)


def _show_imported(library: Library, file: str, collection: str | None, progress: ProgressLine, as_json: bool) -> None:
    done = library.import_(file, collection=collection, on_progress=progress)
    if as_json:
        click.echo(json.dumps({"added": done.added, "skipped": done.skipped}))
    else:
        click.echo(f"added {count(done.added, 'document')}, {done.skipped} were there already")


def import_to_json(done: ImportResult) -> dict[str, object]:
    """Convert the result of an import to JSON."""
    return {
        **asdict(done),
        "left_out": _reasons(done.left_out),
        "vectors": {**asdict(done.vectors), "reasons": _reasons(done.vectors.reasons)},
        "notes": list(done.notes),
    }


def _reasons(counts: Mapping[str, int]) -> list[dict[str, object]]:
    return [{"reason": reason, "count": number} for reason, number in counts.items()]


def _show(done: ImportResult) -> None:
    made_of = f"{count(done.chunks, 'chunk')}, of {count(done.records, 'record')} read"
    click.echo(f"added {count(done.added, 'document')} ({made_of}), {done.skipped:,} were there already")
    vectors = done.vectors
    totals = [
        f"{number:,} {what}"
        for number, what in (
            (vectors.taken_over, "imported"),
            (vectors.embedded, "made by the library's embedder"),
            (vectors.known, "known already"),
        )
        if number
    ]
    if totals:
        click.echo(f"vectors: {', '.join(totals)}")
    for reason, number in vectors.reasons.items():
        print_note(f"{count(number, 'vector')} not imported: {reason}")
    for reason, number in done.left_out.items():
        print_note(f"{count(number, 'record')} left out: {reason}")
    for note in done.notes:
        print_note(note)
    if done.added:
        print_note("the texts are those of the records, not of the files they were made from")
