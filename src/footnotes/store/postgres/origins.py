"""What is known of sources outside: how they looked when they were read, where they went, that they are gone."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from footnotes.store.naming import name_of, renamed_title
from footnotes.store.postgres import chunks, documents, statistics
from footnotes.store.postgres.clean import clean, clean_json
from footnotes.store.postgres.database import Connection
from footnotes.store.postgres.persistence import persistent
from footnotes.store.postgres.sql import queries
from footnotes.store.records import DocumentRow, Known, Origin
from footnotes.store.rows import known_from, packed_error

if TYPE_CHECKING:
    from footnotes.store.postgres.store import PostgresStore


class PostgresOrigins:
    """Sources of one tenant's collection. The caller holds the library for writing where anything is changed."""

    def __init__(self, store: PostgresStore, user_id: str, collection: str) -> None:
        self._store = store
        self._user = user_id
        self._collection = clean(collection)

    def below(self, prefix: str) -> dict[str, Known]:
        """Every known source whose name begins with the prefix."""
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        with self._store.database.reading(self._user) as connection:
            rows = connection.fetch(queries()["known_below"], self._user, self._collection, clean(prefix), after)
        return {known.source: known for known in map(known_from, rows)}

    def version(self, source: str) -> tuple[str | None, str | None]:
        """The entity tag and the date a server gave when the source was fetched last."""
        with self._store.database.reading(self._user) as connection:
            row = connection.row(queries()["origin_version"], self._user, self._collection, clean(source))
        return (None, None) if row is None else (row[0], row[1])

    def note(self, seen: Iterable[Origin], made_by: str) -> None:
        """Remember how sources looked."""
        rows = sorted((self._row(each, made_by) for each in seen), key=lambda row: str(row[2]))
        if rows:
            with self._store.database.transaction(self._user) as connection:
                connection.many(queries()["put_origin"], rows)

    def _row(self, seen: Origin, made_by: str) -> tuple[Any, ...]:
        found = seen.signature
        stat = (None, None, None) if found is None else (found.size, found.mtime_ns, found.ctime_ns)
        key = (self._user, self._collection, clean(seen.source))
        return (*key, *stat, seen.read_ns, seen.etag, seen.modified, clean_json(packed_error(seen.error)), made_by)

    @persistent
    def move(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Let documents follow their files, all at once, so that two may also change places.

        The keys are the sources before; the values the sources and the file names after.
        """
        with self._store.changing(self._user) as connection:
            rows = {old: documents.find_by_source(connection, self._user, self._collection, old) for old in moves}
            for old in moves:
                documents.drop_source(connection, self._user, self._collection, old)
            for old, (new, filename) in moves.items():
                if (row := rows[old]) is not None:
                    documents.add_source(connection, self._user, self._collection, new, row.pk)
                    if row.document.source == clean(old):
                        self._rename(connection, row, new, filename)

    @persistent
    def forget(self, sources: Sequence[str]) -> None:
        """Sources that lead nowhere any more. A document goes with its last one, else it is known by another."""
        with self._store.changing(self._user) as connection:
            for source in sources:
                row = documents.find_by_source(connection, self._user, self._collection, source)
                documents.drop_source(connection, self._user, self._collection, source)
                connection.execute(queries()["drop_origin"], self._user, self._collection, clean(source))
                if row is None:
                    continue
                others = documents.sources(connection, self._user, row.pk)
                if not others:
                    self._drop(connection, row)
                elif row.document.source == clean(source):
                    self._rename(connection, row, others[0], name_of(others[0]))
        self._store.originals.sweep(self._user)

    @persistent
    def mend_names(self, changed: Collection[str]) -> None:
        """Name documents by a source they still have; one whose last source has other content now goes.

        Of two files with the same bytes one may have got other ones, and with them a document of its own.
        """
        with self._store.changing(self._user) as connection:
            for document_id, source in connection.fetch(queries()["misnamed_documents"], self._user, self._collection):
                row = documents.find(connection, self._user, document_id)
                if row is None:
                    continue
                if source is not None:
                    self._rename(connection, row, source, name_of(source))
                elif row.document.source in changed:
                    self._drop(connection, row)
        self._store.originals.sweep(self._user)

    def _drop(self, connection: Connection, row: DocumentRow) -> None:
        documents.drop(connection, self._user, documents.locked(connection, self._user, [row.document.id]))

    def _rename(self, connection: Connection, row: DocumentRow, source: str, filename: str) -> None:
        """Another source and file name. A title that was the file's name follows; what was embedded stays."""
        title = clean(renamed_title(row.document.title, row.document.filename, filename))
        after = (clean(source), clean(filename), title)
        connection.execute(queries()["rename_document"], self._user, row.pk, *after)
        (renamed,) = documents.locked(connection, self._user, [row.document.id])
        documents.put_facets(connection, self._user, [renamed])
        if renamed.current is not None and title != row.document.title:
            documents.uncount(connection, self._user, renamed.current)
            chunks.rewrite_words(connection, self._user, renamed.current, title)
            for found in connection.fetch(queries()["generations_of_version"], self._user, renamed.current):
                statistics.count(connection, self._user, found[0], [renamed.current], 1)
