"""Feeds the indexes: reads the change log, and every chunk in the form an index needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from footnotes.errors import StoreCorrupt
from footnotes.index import Change, Entry
from footnotes.store.database import Row
from footnotes.store.facets import DEFINES, MAX_TEXT, facet_term
from footnotes.store.lexemes import ChunkContext, JoinedTerms, Terms, chunk_terms, join_chunk_terms
from footnotes.store.packing import HALF_BYTES, unpack_headings
from footnotes.store.records import Generation
from footnotes.store.sqlite import staging
from footnotes.store.sqlite.connection import Database
from footnotes.store.sqlite.cursor import SqliteCursor
from footnotes.store.sqlite.staging import Version
from footnotes.store.texts import SpanReader

EntriesOf = Callable[[SqliteCursor, Generation, Sequence[int]], Iterator[tuple[int, Iterable[Entry]]]]
"""Yields documents in the given order, each with its chunks."""
_DOCUMENTS_AT_ONCE, _MOST_CHUNKS = 256, 64
"""The most documents read in one go, and the most chunks of each; larger documents are read while they are applied."""


def lexical_entries(
    cursor: SqliteCursor, generation: Generation, documents: Sequence[int]
) -> Iterator[tuple[int, Iterable[Entry]]]:
    """Yield the chunks of documents as terms, of the published version and of the next one."""
    together = _small_lexical(cursor, generation, documents)
    for document in documents:
        found = together.get(document)
        yield document, _large_lexical(cursor, generation, document) if found is None else found


def _large_lexical(cursor: SqliteCursor, generation: Generation, document: int) -> Iterator[Entry]:
    for version in staging.versions_of(cursor, document):
        facets = facets_of(cursor, document, version)
        reader = SpanReader(cursor, version.pk)
        for row in cursor.each("lexical_entries", generation=generation.pk, version=version.pk):
            text = reader.read(row["start_offset"], row["end_offset"])
            terms = join_chunk_terms(text, **_about_row(row, version))
            yield _lexical_entry(row["key"], document, terms, facets)


def _small_lexical(cursor: SqliteCursor, generation: Generation, documents: Sequence[int]) -> dict[int, list[Entry]]:
    """Read the entries of small documents without a next version in one go; leave out those with incomplete texts."""
    small = _small(cursor, documents)
    versions = [version for version, _, _ in small.values()]
    texts: dict[int, str] = {}
    for version, content in cursor.rows("texts_of", versions=versions):
        texts[version] = texts[version] + content if version in texts else content
    facets: dict[int, list[str]] = {}
    for document, key, text in cursor.rows("facets_of_many", documents=list(small)):
        if len(text) < MAX_TEXT:
            facets.setdefault(document, []).append(facet_term(key, text))
    found: dict[int, list[Entry]] = {document: [] for document in small}
    for document, key, start, end, headings, prefix, metadata in cursor.rows(
        "lexical_entries_of", generation=generation.pk, versions=versions
    ):
        version, names, _ = small[document]
        text = texts.get(version, "")[start:end]
        if len(text) != end - start:
            found.pop(document, None)
        elif document in found:
            terms = join_chunk_terms(text, **_about(headings, names, prefix, metadata))
            found[document].append(_lexical_entry(key, document, terms, tuple(facets.get(document, ()))))
    return found


def _small(cursor: SqliteCursor, documents: Sequence[int]) -> dict[int, tuple[int, tuple[str, str], bool]]:
    """Return small documents without a next version: published version, title and file name, and if it waits."""
    rows = cursor.rows("small_documents", documents=list(documents), most=_MOST_CHUNKS)
    return {pk: (version, (title, filename), bool(waits)) for pk, version, title, filename, waits in rows}


def _lexical_entry(key: int, document: int, terms: JoinedTerms, facets: tuple[str, ...]) -> Entry:
    if terms.defines:
        facets += tuple(facet_term(DEFINES, name) for name in terms.defines)
    return Entry(key, document, *terms[:4], facets)


def terms_of(row: Row, reader: SpanReader, version: Version) -> Terms:
    """Return the terms of a stored chunk."""
    return chunk_terms(reader.read(row["start_offset"], row["end_offset"]), **_about_row(row, version))


def _about_row(row: Row, version: Version) -> ChunkContext:
    return _about(row["headings"], (version.title, version.filename), row["prefix"], row["metadata"])


def _about(headings: str, names: tuple[str, str], prefix: str, metadata: str) -> ChunkContext:
    """Return the data on a chunk besides its text."""
    title, filename = names
    fields = json.loads(metadata) if metadata != "{}" else {}
    above = unpack_headings(headings)
    return {"headings": above, "title": title, "filename": filename, "prefix": prefix, "metadata": fields}


def facets_of(cursor: SqliteCursor, document: int, version: Version) -> tuple[str, ...]:
    """Return the facets of a version as terms."""
    rows: Iterable[tuple[str, str]] | None = version.facets
    if rows is None:
        rows = [(row["key"], row["text"]) for row in cursor.all("facets_of", document=document)]
    return tuple(facet_term(key, text) for key, text in sorted(rows) if len(text) < MAX_TEXT)


def has_vectors(cursor: SqliteCursor, generation: Generation, version: Version) -> bool:
    """Return whether a version has all its vectors. Those that do not wait are complete in all generations."""
    return not version.waits or not staging.lacks_vectors(cursor, generation, version.pk)


def dense_entries(
    cursor: SqliteCursor, generation: Generation, documents: Sequence[int]
) -> Iterator[tuple[int, Iterable[Entry]]]:
    """Yield the chunks of documents as vectors, for each version that has all of them."""
    together = _small_dense(cursor, generation, documents)
    for document in documents:
        found = together.get(document)
        yield document, _large_dense(cursor, generation, document) if found is None else found


def _large_dense(cursor: SqliteCursor, generation: Generation, document: int) -> Iterator[Entry]:
    for version in staging.versions_of(cursor, document):
        if has_vectors(cursor, generation, version):
            wanted = {"generation": generation.pk, "version": version.pk, "model": generation.model}
            for row in cursor.each("dense_entries", **wanted):
                yield _dense_entry(generation, row["key"], document, row["vector"])


def _small_dense(cursor: SqliteCursor, generation: Generation, documents: Sequence[int]) -> dict[int, list[Entry]]:
    small = _small(cursor, documents)
    wanted = {"generation": generation.pk, "model": generation.model}
    found: dict[int, list[Entry]] = {document: [] for document in small}
    incomplete: set[int] = set()
    for document, key, vector in cursor.rows(
        "dense_entries_of", **wanted, versions=[version for version, _, _ in small.values()]
    ):
        if vector is not None:
            found[document].append(_dense_entry(generation, key, document, vector))
        elif small[document][2]:
            incomplete.add(document)
    return {**found, **{document: [] for document in incomplete}}


def _dense_entry(generation: Generation, key: int, document: int, vector: bytes) -> Entry:
    if len(vector) != generation.dimensions * HALF_BYTES:
        raise StoreCorrupt("a stored vector has the wrong length", remedy="Run `footnotes verify --repair`.")
    return Entry(key, document, vector=vector)


def changes_after(
    cursor: SqliteCursor, generation: Generation, seq: int, entries_of: EntriesOf
) -> tuple[int, Iterator[Change]]:
    """Return the last change, and the changes to apply after `seq`: each document once, in its current state.

    New vectors do not concern the lexical index.
    """
    words = entries_of is lexical_entries
    removed: dict[int, list[tuple[int, int]]] = {}
    looked_at: set[int] = set()
    last = seq
    for row in cursor.each("changes_after", generation=generation.pk, seq=seq):
        last, document, leg = row["seq"], row["document"], row["leg"]
        if words and leg == "dense":
            continue
        ranges = removed.setdefault(document, [])
        if row["removed"] != "[]":
            ranges.extend((first, count) for first, count in json.loads(row["removed"]))
        if leg != staging.ONLY_REMOVED:
            looked_at.add(document)
    return last, _changes(cursor, generation, removed, last, entries_of, looked_at)


class Followed:
    """Changes while they are written: those after a position, then newer ones until told to stop.

    After each round it calls `goes_on`, which may call its argument to ask for news. As a number it is the last change.
    """

    def __init__(
        self,
        database: Database,
        generation: Generation,
        position: int,
        entries_of: EntriesOf,
        goes_on: Callable[[Callable[[], bool]], bool],
    ) -> None:
        self._database, self._generation, self._entries_of = database, generation, entries_of
        self._position, self._goes_on = position, goes_on

    def __int__(self) -> int:
        return self._position

    def __iter__(self) -> Iterator[Change]:
        while True:
            with self._database.snapshot(self._generation.user_id) as cursor:
                last, changes = changes_after(cursor, self._generation, self._position, self._entries_of)
                yield from changes
            self._position = last
            if not self._goes_on(self._has_news):
                return

    def _has_news(self) -> bool:
        with self._database.snapshot(self._generation.user_id) as cursor:
            return last_change(cursor, self._generation) > self._position


def everything(cursor: SqliteCursor, generation: Generation, entries_of: EntriesOf) -> tuple[int, Iterator[Change]]:
    """Return the last change, and all published chunks in key order: the input of a rebuild."""
    last = last_change(cursor, generation)
    documents = [row["document"] for row in cursor.all("indexed_documents", generation=generation.pk)]
    return last, _changes(cursor, generation, {pk: [] for pk in documents}, last, entries_of, set(documents))


def last_change(cursor: SqliteCursor, generation: Generation) -> int:
    """Return the last change; 0 if there is none."""
    return int(cursor.value("last_change", generation=generation.pk))


def _changes(
    cursor: SqliteCursor,
    generation: Generation,
    removed: dict[int, list[tuple[int, int]]],
    seq: int,
    entries_of: EntriesOf,
    looked_at: set[int],
) -> Iterator[Change]:
    documents = list(removed)
    for start in range(0, len(documents), _DOCUMENTS_AT_ONCE):
        some = documents[start : start + _DOCUMENTS_AT_ONCE]
        entries = entries_of(cursor, generation, [document for document in some if document in looked_at])
        for document in some:
            if document in looked_at:
                _, found = next(entries)
                yield Change(seq, document, found, removed[document])
            else:
                yield Change(seq, document, (), removed[document], only_removed=True)
