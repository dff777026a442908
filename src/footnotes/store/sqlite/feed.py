"""What the indexes are fed: the change log, and every chunk in the form an index wants it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import apsw

from footnotes.errors import StoreCorrupt
from footnotes.index import Change, Entry
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import chunk_terms
from footnotes.store.packing import HALF_BYTES, unpack_headings
from footnotes.store.records import Generation
from footnotes.store.sqlite import waiting
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.texts import SpanReader

EntriesOf = Callable[[apsw.Connection, Generation, int], Iterator[Entry]]


def lexical_entries(connection: apsw.Connection, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as terms."""
    facets = tuple(
        facet_term(key, text)
        for key, text in connection.execute(queries()["facets_of"], (document,))
        if len(text) < MAX_TEXT
    )
    reader: SpanReader | None = None
    for row in connection.execute(queries()["lexical_entries"], (generation.pk, document)):
        key, _, version, start, end, headings, title, prefix, metadata = row
        reader = reader or SpanReader(connection, version)
        text = reader.read(start, end)
        terms = chunk_terms(
            text, headings=unpack_headings(headings), title=title, prefix=prefix, metadata=json.loads(metadata)
        )
        yield Entry(
            key,
            document,
            body=" ".join(terms.body),
            title=" ".join(terms.title),
            section=" ".join(terms.section),
            symbols=" ".join(terms.symbols),
            facets=facets + tuple(facet_term(DEFINES, name) for name in terms.defines),
        )


def dense_entries(connection: apsw.Connection, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as vectors, once it has all of them."""
    if waiting.is_incomplete(connection, generation, document):
        return
    bindings = (generation.model, generation.pk, document)
    for key, _, vector in connection.execute(queries()["dense_entries"], bindings):
        if len(vector) != generation.dimensions * HALF_BYTES:
            raise StoreCorrupt("a stored vector has the wrong length", remedy="Run `footnotes verify --repair`.")
        yield Entry(key, document, vector=vector)


def changes_after(
    connection: apsw.Connection, generation: Generation, seq: int, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """The last change there is, and what to apply to get from `seq` to it: each document once, as it is now.

    Vectors that came to a text are no news for the words of it.
    """
    words = entries_of is lexical_entries
    removed: dict[int, list[tuple[int, int]]] = {}
    last = seq
    bindings = (generation.user_id, generation.pk, seq)
    for number, document, ranges, leg in connection.execute(queries()["changes_after"], bindings):
        last = number
        if words and leg == "dense":
            continue
        removed.setdefault(document, []).extend((first, count) for first, count in json.loads(ranges))
    return last, _changes(connection, generation, removed, last, entries_of)


def everything(
    connection: apsw.Connection, generation: Generation, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """The last change there is, and all that is served, in key order: what a rebuild applies."""
    bindings = (generation.user_id, generation.pk)
    last = last_change(connection, generation)
    documents = [row[0] for row in connection.execute(queries()["indexed_documents"], bindings)]
    return last, _changes(connection, generation, {pk: [] for pk in documents}, last, entries_of)


def last_change(connection: apsw.Connection, generation: Generation) -> int:
    """The last change there is; 0 where there is none."""
    row = connection.execute(queries()["last_change"], (generation.user_id, generation.pk)).fetchone()
    return int(row[0]) if row else 0


def _changes(
    connection: apsw.Connection,
    generation: Generation,
    removed: dict[int, list[tuple[int, int]]],
    seq: int,
    entries_of: EntriesOf,
) -> Iterator[Change]:
    for document, ranges in removed.items():
        yield Change(seq, document, entries_of(connection, generation, document), ranges)
