"""What the indexes are fed: the change log, and every chunk in the form an index wants it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, cast

import apsw

from footnotes.errors import StoreCorrupt
from footnotes.index import Change, Entry
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import chunk_terms
from footnotes.store.packing import HALF_BYTES, unpack_headings
from footnotes.store.records import Generation
from footnotes.store.sqlite import staging, waiting
from footnotes.store.sqlite.sql import queries
from footnotes.store.sqlite.staging import Version
from footnotes.store.sqlite.texts import SpanReader

EntriesOf = Callable[[apsw.Connection, Generation, int], Iterator[Entry]]


def lexical_entries(connection: apsw.Connection, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as terms: of the version that is served, and of the next one."""
    for version in staging.versions_of(connection, document):
        facets = facets_of(connection, document, version)
        reader = SpanReader(connection, version.pk)
        for row in connection.execute(queries()["lexical_entries"], (generation.pk, version.pk)):
            key, start, end, headings, prefix, metadata = cast(tuple[Any, ...], row)
            terms = chunk_terms(
                reader.read(start, end),
                headings=unpack_headings(headings),
                title=version.title,
                prefix=prefix,
                metadata=json.loads(metadata),
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


def facets_of(connection: apsw.Connection, document: int, version: Version) -> tuple[str, ...]:
    """What filters may ask of a version, as terms."""
    rows: Any = version.facets
    if rows is None:
        rows = connection.execute(queries()["facets_of"], (document,)).fetchall()
    return tuple(facet_term(key, text) for key, text in sorted(rows) if len(text) < MAX_TEXT)


def has_vectors(connection: apsw.Connection, generation: Generation, version: Version) -> bool:
    """Whether a version has all its vectors. Those that do not wait are complete in all generations."""
    return not version.waits or not waiting.lacks_vectors(connection, generation, version.pk)


def dense_entries(connection: apsw.Connection, generation: Generation, document: int) -> Iterator[Entry]:
    """The document's chunks as vectors: of each version that has all of them."""
    for version in staging.versions_of(connection, document):
        if has_vectors(connection, generation, version):
            bindings = (generation.model, generation.pk, version.pk)
            for key, vector in cast(Any, connection.execute(queries()["dense_entries"], bindings)):
                if len(vector) != generation.dimensions * HALF_BYTES:
                    raise StoreCorrupt(
                        "a stored vector has the wrong length", remedy="Run `footnotes verify --repair`."
                    )
                yield Entry(key, document, vector=vector)


def changes_after(
    connection: apsw.Connection, generation: Generation, seq: int, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """The last change there is, and what to apply to get from `seq` to it: each document once, as it is now.

    Vectors that came to a text are no news for the words of it.
    """
    words = entries_of is lexical_entries
    removed: dict[int, list[tuple[int, int]]] = {}
    looked_at: set[int] = set()
    last = seq
    bindings = (generation.user_id, generation.pk, seq)
    for number, document, ranges, leg in connection.execute(queries()["changes_after"], bindings):
        last = number
        if words and leg == "dense":
            continue
        removed.setdefault(document, []).extend((first, count) for first, count in json.loads(ranges))
        if leg != staging.ONLY_REMOVED:
            looked_at.add(document)
    return last, _changes(connection, generation, removed, last, entries_of, looked_at)


def everything(
    connection: apsw.Connection, generation: Generation, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """The last change there is, and all that is served, in key order: what a rebuild applies."""
    bindings = (generation.user_id, generation.pk)
    last = last_change(connection, generation)
    documents = [row[0] for row in connection.execute(queries()["indexed_documents"], bindings)]
    return last, _changes(connection, generation, {pk: [] for pk in documents}, last, entries_of, set(documents))


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
    looked_at: set[int],
) -> Iterator[Change]:
    for document, ranges in removed.items():
        if document in looked_at:
            yield Change(seq, document, entries_of(connection, generation, document), ranges)
        else:
            yield Change(seq, document, (), ranges, only_removed=True)
