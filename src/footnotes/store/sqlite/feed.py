"""What the indexes are fed: the change log, and every chunk in the form an index wants it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator

from footnotes.errors import StoreCorrupt
from footnotes.index import Change, Entry
from footnotes.store.database import Row
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import Terms, chunk_terms
from footnotes.store.packing import HALF_BYTES, unpack_headings
from footnotes.store.records import Generation
from footnotes.store.sqlite import staging
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.staging import Version
from footnotes.store.texts import SpanReader

EntriesOf = Callable[[SqliteCursor, Generation, int], Iterator[Entry]]


def lexical_entries(cursor: SqliteCursor, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as terms: of the version that is served, and of the next one."""
    for version in staging.versions_of(cursor, document):
        facets = facets_of(cursor, document, version)
        reader = SpanReader(cursor, version.pk)
        for row in cursor.each("lexical_entries", generation=generation.pk, version=version.pk):
            terms = terms_of(row, reader, version)
            yield Entry(
                row["key"],
                document,
                body=" ".join(terms.body),
                title=" ".join(terms.title),
                section=" ".join(terms.section),
                symbols=" ".join(terms.symbols),
                facets=facets + tuple(facet_term(DEFINES, name) for name in terms.defines),
            )


def terms_of(row: Row, reader: SpanReader, version: Version) -> Terms:
    """The terms of a stored chunk."""
    return chunk_terms(
        reader.read(row["start_offset"], row["end_offset"]),
        headings=unpack_headings(row["headings"]),
        title=version.title,
        filename=version.filename,
        prefix=row["prefix"],
        metadata=json.loads(row["metadata"]),
    )


def facets_of(cursor: SqliteCursor, document: int, version: Version) -> tuple[str, ...]:
    """What filters may ask of a version, as terms."""
    rows: Iterable[tuple[str, str]] | None = version.facets
    if rows is None:
        rows = [(row["key"], row["text"]) for row in cursor.all("facets_of", document=document)]
    return tuple(facet_term(key, text) for key, text in sorted(rows) if len(text) < MAX_TEXT)


def has_vectors(cursor: SqliteCursor, generation: Generation, version: Version) -> bool:
    """Whether a version has all its vectors. Those that do not wait are complete in all generations."""
    return not version.waits or not staging.lacks_vectors(cursor, generation, version.pk)


def dense_entries(cursor: SqliteCursor, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as vectors: of each version that has all of them."""
    for version in staging.versions_of(cursor, document):
        if has_vectors(cursor, generation, version):
            wanted = {"generation": generation.pk, "version": version.pk, "model": generation.model}
            for row in cursor.each("dense_entries", **wanted):
                if len(row["vector"]) != generation.dimensions * HALF_BYTES:
                    raise StoreCorrupt(
                        "a stored vector has the wrong length", remedy="Run `footnotes verify --repair`."
                    )
                yield Entry(row["key"], document, vector=row["vector"])


def changes_after(
    cursor: SqliteCursor, generation: Generation, seq: int, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """The last change there is, and what to apply to get from `seq` to it: each document once, as it is now.

    Vectors that came to a text are no news for the words of it.
    """
    words = entries_of is lexical_entries
    removed: dict[int, list[tuple[int, int]]] = {}
    looked_at: set[int] = set()
    last = seq
    for row in cursor.each("changes_after", generation=generation.pk, seq=seq):
        last, document, leg = row["seq"], row["document"], row["leg"]
        if words and leg == "dense":
            continue
        removed.setdefault(document, []).extend((first, count) for first, count in json.loads(row["removed"]))
        if leg != staging.ONLY_REMOVED:
            looked_at.add(document)
    return last, _changes(cursor, generation, removed, last, entries_of, looked_at)


def everything(cursor: SqliteCursor, generation: Generation, entries_of: EntriesOf) -> tuple[int, Iterator[Change]]:
    """The last change there is, and all that is served, in key order: what a rebuild applies."""
    last = last_change(cursor, generation)
    documents = [row["document"] for row in cursor.all("indexed_documents", generation=generation.pk)]
    return last, _changes(cursor, generation, {pk: [] for pk in documents}, last, entries_of, set(documents))


def last_change(cursor: SqliteCursor, generation: Generation) -> int:
    """The last change there is; 0 where there is none."""
    return int(cursor.value("last_change", generation=generation.pk))


def _changes(
    cursor: SqliteCursor,
    generation: Generation,
    removed: dict[int, list[tuple[int, int]]],
    seq: int,
    entries_of: EntriesOf,
    looked_at: set[int],
) -> Iterator[Change]:
    for document, ranges in removed.items():
        if document in looked_at:
            yield Change(seq, document, entries_of(cursor, generation, document), ranges)
        else:
            yield Change(seq, document, (), ranges, only_removed=True)
