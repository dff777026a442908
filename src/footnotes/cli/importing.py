"""`footnotes import`: documents of an export, or a collection that another tool keeps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

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
@click.option("--from", "source", metavar="SOURCE", help="Take over a collection of another tool, as written above.")
@click.option("--text-field", default="", metavar="NAME", help="With --from: the field that holds the text.")
@click.option(
    "--group-by", default="", metavar="NAME", help="With --from: the field that names the document; - joins none."
)
@click.option("--vector", default="", metavar="NAME", help="With --from: which of several named vectors of Qdrant.")
@click.option("--model", default="", metavar="NAME", help="With --from: the model its vectors were made by.")
@json_option
def import_command(
    file: str | None, library: str | None, collection: str | None, source: str | None, as_json: bool, **reading: str
) -> None:
    """Append the documents of an export, or with --from a collection of another tool; never overwrites.

    \b
    chroma://host:8000/COLLECTION   of a Chroma server; chroma+https:// where it is encrypted
    chroma:FOLDER#COLLECTION        of a folder that Chroma keeps
    qdrant://host:6333/COLLECTION   of a Qdrant server; qdrant+https:// where it is encrypted
    json:FILE                       an array or lines of {pageContent, metadata}, as LangChain writes them

    A key is read from the setting import_api_key, which FOOTNOTES_IMPORT_API_KEY sets too.
    """
    if (file is None) == (source is None):
        raise click.UsageError("name a FILE that `footnotes export` wrote, or a SOURCE after --from")
    if source is None and any(reading.values()):
        given = next(name for name, value in reading.items() if value)
        raise click.UsageError(f"--{given.replace('_', '-')} needs --from")
    from footnotes.library import Library

    with Library(library) as opened, progress_line() as progress:
        if source is not None:
            done = opened.import_from(source, collection=collection, on_progress=progress, **reading)
        else:
            _show_imported(opened, str(file), collection, progress, as_json)
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


def import_to_json(done: ImportResult) -> dict[str, Any]:
    """The JSON of an import."""
    return {
        **asdict(done),
        "left_out": _reasons(done.left_out),
        "vectors": {**asdict(done.vectors), "reasons": _reasons(done.vectors.reasons)},
        "notes": list(done.notes),
    }


def _reasons(counted: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": number} for reason, number in counted.items()]


def _show(done: ImportResult) -> None:
    made_of = f"{count(done.chunks, 'chunk')}, of {count(done.records, 'record')} read"
    click.echo(f"added {count(done.added, 'document')} ({made_of}), {done.skipped:,} were there already")
    vectors = done.vectors
    totals = [
        f"{number:,} {what}"
        for number, what in (
            (vectors.taken_over, "taken over"),
            (vectors.embedded, "made by the library's embedder"),
            (vectors.known, "known already"),
        )
        if number
    ]
    if totals:
        click.echo(f"vectors: {', '.join(totals)}")
    for reason, number in vectors.reasons.items():
        print_note(f"{count(number, 'vector')} not taken over: {reason}")
    for reason, number in done.left_out.items():
        print_note(f"{count(number, 'record')} left out: {reason}")
    for note in done.notes:
        print_note(note)
    if done.added:
        print_note("the texts are those of the records, not of the files they were made from")
