"""`footnotes list`, `show`, `delete` and `export`."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import check_collection, common_options, open_library, where_option
from footnotes.cli.printing import count, page_range, print_json, write_text
from footnotes.errors import NotFound, OptionError
from footnotes.render import one_line
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.types import Document

SHORTEST_PREFIX = 4
MOST_NAMED = 5


def find_document(library: Library, name: str) -> Document:
    """Find a document by its id, a prefix of its id, its file name or its source."""
    try:
        return library.document(name)
    except NotFound:
        everything = library.documents()
    exact = [one for one in everything if name in (one.filename, one.source)]
    found = exact or [one for one in everything if len(name) >= SHORTEST_PREFIX and one.id.startswith(name)]
    if not found:
        raise NotFound(f"no document has the id or name {name!r}", remedy="Run `footnotes list` to see all documents.")
    if len(found) > 1:
        named_ids = ", ".join(f"{one.id} ({one_line(one.source)})" for one in found[:MOST_NAMED])
        raise OptionError(f"{name!r} matches {len(found)} documents: {named_ids}", remedy="Pass one of these ids.")
    return found[0]


@click.command("list")
@common_options
@where_option
@click.option("--limit", "-n", type=click.IntRange(min=0), help="Maximum number of documents.")
@open_library
def list_command(
    library: Library, collection: str | None, as_json: bool, where: Sequence[str], limit: int | None
) -> None:
    """List documents."""
    check_collection(library, collection)
    found = library.documents(collection=collection, where=where, limit=limit)
    alike = library.near_duplicates()
    if as_json:
        print_json({"documents": [replace(document, near_duplicate_of=alike.get(document.id)) for document in found]})
        return
    for document in found:
        pages = f", {count(document.pages, 'page')}" if document.pages else ""
        click.echo(
            f"{document.id}  {document.status:9} {one_line(document.filename)}  "
            f"({count(document.chunks, 'chunk')}{pages}, {document.collection})"
        )
        if near := alike.get(document.id):
            click.secho(f"{'':19}{near.similarity:.0%} the same as {near.document_id}", fg="yellow")
        if document.error:
            click.secho(f"{'':19}{one_line(document.error.message)}. {document.error.remedy}", fg="red")
    if not found:
        click.echo("No documents. Add some with: footnotes add PATH")


@click.command("show", short_help="Show a document, its text or its chunks.")
@click.argument("document", metavar="ID_OR_NAME")
@common_options
@click.option("--text", "what", flag_value="text", help="Print the canonical text.")
@click.option("--chunks", "what", flag_value="chunks", help="Print the chunks with their spans.")
@click.option(
    "--original", metavar="FILE", help="Write the original file, if it is stored, to FILE; `-` is standard output."
)
@open_library
def show_command(
    library: Library, document: str, collection: str | None, as_json: bool, what: str | None, original: str | None
) -> None:
    """Show a document, its text or its chunks, or write its original file."""
    found = find_document(library, document)
    if original is not None:
        _write_original(library, found, original, as_json)
        return
    by_name = {"text": _show_text, "chunks": _show_chunks}
    by_name.get(what or "", _show_document)(library, found, as_json)


def _write_original(library: Library, document: Document, target: str, as_json: bool) -> None:
    """Copy the original to a new file, or to standard output."""
    original = library.original(document.id)
    if target == "-":
        with original.open("rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
        return
    try:
        with original.open("rb") as file, Path(target).open("xb") as copy:
            shutil.copyfileobj(file, copy)
    except OSError as error:
        remedy = "Pass a new file name in an existing folder."
        raise OptionError(f"cannot write {target} ({error.strerror})", remedy=remedy) from error
    result = {"document_id": document.id, "file": target, "bytes": original.stat().st_size}
    click.echo(json.dumps(result) if as_json else f"wrote {result['bytes']:,} bytes to {target}")


def _show_document(library: Library, document: Document, as_json: bool) -> None:
    fields = to_json(replace(document, near_duplicate_of=library.near_duplicates().get(document.id)))
    if as_json:
        print_json(fields)
        return
    for name, value in fields.items():
        if value not in (None, [], {}):
            click.echo(f"{name:18} {one_line(value if isinstance(value, str) else json.dumps(value))}")


def _show_text(library: Library, document: Document, as_json: bool) -> None:
    text = library.text(document.id)
    if as_json:
        print_json({"document_id": document.id, "text": text})
    else:
        write_text(text)


def _show_chunks(library: Library, document: Document, as_json: bool) -> None:
    chunks = library.chunks(document.id)
    if as_json:
        print_json({"document_id": document.id, "chunks": chunks})
        return
    for chunk in chunks:
        place = " > ".join(one_line(heading) for heading in chunk.headings)
        pages = f", p. {page_range(chunk.pages)}" if chunk.pages else ""
        lines = f", lines {chunk.lines[0]}–{chunk.lines[1]}" if chunk.lines else ""
        span = f"{chunk.start}-{chunk.end}{lines}  {chunk.tokens} tokens{pages}"
        click.secho(f"── {chunk.index + 1} of {chunk.total}  {span}  {place}", bold=True)
        write_text(chunk.text + "\n")


@click.command("delete")
@click.argument("documents", nargs=-1, metavar="ID_OR_NAME...")
@common_options
@click.option("--source", metavar="PATH", help="Delete documents that came from this path.")
@click.option("--checksum", metavar="SHA256", help="Delete the document of the file with this checksum.")
@click.option("--all-of-collection", is_flag=True, help="Delete every document of the collection given with -c.")
@click.option("--compact", is_flag=True, help="Also remove every byte of them from the folder; slower.")
@click.option("--yes", "-y", is_flag=True, help="Do not ask for confirmation.")
@open_library
def delete_command(
    library: Library,
    documents: Sequence[str],
    collection: str | None,
    as_json: bool,
    source: str | None,
    checksum: str | None,
    all_of_collection: bool,
    compact: bool,
    yes: bool,
) -> None:
    """Delete documents by id or name, by source, by checksum or by collection."""
    if all_of_collection and not collection:
        raise click.UsageError("--all-of-collection needs --collection NAME")
    if not (documents or source or checksum or all_of_collection):
        raise click.UsageError("name the documents to delete: an ID, --source PATH, or -c NAME --all-of-collection")
    ids = [find_document(library, given).id for given in documents]
    if checksum:
        ids += _find_by_checksum(library, checksum, collection)
    scope = collection if source or all_of_collection else None
    number = len(ids) + (len(library.documents(collection=collection)) if all_of_collection else bool(source))
    if number > 1 and not (yes or as_json) and sys.stdin.isatty():
        click.confirm(f"Delete {count(number, 'document')} from the library? Your files are not deleted", abort=True)
    deleted = library.delete(*ids, source=source, collection=scope, compact=compact)
    if as_json:
        print_json({"deleted": deleted})
    else:
        click.echo(f"deleted {count(len(deleted), 'document')}")
        if (failure := library.index_failure) is not None:
            click.secho(f"Note: the vector database still has them ({one_line(failure.message)}).", fg="yellow")


def _find_by_checksum(library: Library, checksum: str, collection: str | None) -> list[str]:
    found = library.documents(where={"checksum": checksum.lower()}, collection=collection)
    if not found:
        raise NotFound(f"no document has the checksum {checksum}")
    return [document.id for document in found]


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@common_options
@open_library
def export_command(library: Library, file: str, collection: str | None, as_json: bool) -> None:
    """Write documents and chunks as JSON Lines. Use `-` for standard output."""
    check_collection(library, collection)
    if file == "-":
        for line in library.exporting(collection=collection):
            click.echo(line)
        return
    counts = library.export(file, collection=collection)
    if as_json:
        print_json({"file": file, **counts})
    else:
        click.echo(f"wrote {count(counts['documents'], 'document')} and {count(counts['chunks'], 'chunk')} to {file}")
