"""`footnotes import`: documents of an export, or a collection that another tool keeps."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.engine import Library
    from footnotes.ingest.importing.records import TakenOver
    from footnotes.progress import ProgressLine


@click.command("import")
@click.argument("file", type=click.Path(dir_okay=False), required=False)
@click.option("--library", "-l", metavar="DIR", help="Folder of the library. [default: ~/.footnotes]")
@click.option("--collection", "-c", metavar="NAME", help="A named group of documents inside the library.")
@click.option("--from", "source", metavar="SOURCE", help="Take over a collection of another tool, as written above.")
@click.option("--text-field", default="", metavar="NAME", help="With --from: the field that holds the text.")
@click.option(
    "--group-by", default="", metavar="NAME", help="With --from: the field that names the document; - joins none."
)
@click.option("--vector", default="", metavar="NAME", help="With --from: which of several named vectors of Qdrant.")
@click.option("--model", default="", metavar="NAME", help="With --from: the model its vectors were made by.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
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
    from footnotes.engine import Library

    with Library(library) as opened, _progress() as progress:
        if source is not None:
            done = opened.import_from(source, collection=collection, on_progress=progress, **reading)
        else:
            _show_imported(opened, str(file), collection, progress, as_json)
            return
    if as_json:
        click.echo(json.dumps(taken_over_shape(done), ensure_ascii=False))
    else:
        _show(done)


def _progress() -> ProgressLine:
    from footnotes.progress import ProgressLine

    return ProgressLine(sys.stderr, live=sys.stderr.isatty())


def _show_imported(library: Library, file: str, collection: str | None, progress: ProgressLine, as_json: bool) -> None:
    done = library.import_(file, collection=collection, on_progress=progress)
    if as_json:
        click.echo(json.dumps({"added": done.added, "skipped": done.skipped}))
    else:
        click.echo(f"added {_count(done.added, 'document')}, {done.skipped} were there already")


def taken_over_shape(done: TakenOver) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        **asdict(done),
        "left_out": _reasons(done.left_out),
        "vectors": {**asdict(done.vectors), "reasons": _reasons(done.vectors.reasons)},
        "notes": list(done.notes),
    }


def _reasons(counted: Any) -> list[dict[str, Any]]:
    return [{"reason": reason, "count": count} for reason, count in counted.items()]


def _show(done: TakenOver) -> None:
    made_of = f"{_count(done.chunks, 'chunk')}, of {_count(done.records, 'record')} read"
    click.echo(f"added {_count(done.added, 'document')} ({made_of}), {done.skipped:,} were there already")
    vectors = done.vectors
    said = [
        f"{number:,} {what}"
        for number, what in (
            (vectors.taken_over, "taken over"),
            (vectors.embedded, "made by the library's embedder"),
            (vectors.known, "known already"),
        )
        if number
    ]
    if said:
        click.echo(f"vectors: {', '.join(said)}")
    for reason, count in vectors.reasons.items():
        _note(f"{_count(count, 'vector')} not taken over: {reason}")
    for reason, count in done.left_out.items():
        _note(f"{_count(count, 'record')} left out: {reason}")
    for note in done.notes:
        _note(note)
    if done.added:
        _note("the texts are those of the records, not of the files they were made from")


def _note(text: str) -> None:
    click.secho(f"note: {one_line(text)}", fg="yellow")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
