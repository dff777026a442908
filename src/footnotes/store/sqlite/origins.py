"""What is known of sources outside: how they looked when they were read, where they went, that they are gone."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import apsw

from footnotes.store.naming import name_of, renamed_title
from footnotes.store.records import DocumentRow, Known, Origin
from footnotes.store.rows import known_from
from footnotes.store.sqlite import documents, generations
from footnotes.store.sqlite.sql import queries

if TYPE_CHECKING:
    from footnotes.store.sqlite.store import SqliteStore


class SqliteOrigins:
    """Sources of one tenant's collection. The caller holds the library for writing where anything is changed."""

    def __init__(self, store: SqliteStore, user_id: str, collection: str) -> None:
        self._store = store
        self._user = user_id
        self._collection = collection

    def below(self, prefix: str) -> dict[str, Known]:
        """Every known source whose name begins with the prefix."""
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        with self._store.database.raw_snapshot() as connection:
            rows = connection.execute(queries()["known_below"], (self._user, self._collection, prefix, after))
            return {known.source: known for known in map(_known, rows)}

    def version(self, source: str) -> tuple[str | None, str | None]:
        """The entity tag and the date a server gave when the source was fetched last."""
        with self._store.database.raw_snapshot() as connection:
            key = (self._user, self._collection, source)
            row: Any = connection.execute(queries()["origin_version"], key).fetchone()
        return (None, None) if row is None else (row[0], row[1])

    def note(self, seen: Iterable[Origin], made_by: str) -> None:
        """Remember how sources looked."""
        rows = [self._row(each, made_by) for each in seen]
        if rows:
            with self._store.database.transaction() as connection:
                connection.executemany(queries()["put_origin"], rows)

    def _row(self, seen: Origin, made_by: str) -> tuple[Any, ...]:
        found = seen.signature
        stat = (None, None, None) if found is None else (found.size, found.mtime_ns, found.ctime_ns)
        error = None if seen.error is None else json.dumps(asdict(seen.error))
        key = (self._user, self._collection, seen.source)
        return (*key, *stat, seen.read_ns, seen.etag, seen.modified, error, made_by)

    def move(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Let documents follow their files, all at once, so that two may also change places.

        The keys are the sources before; the values the sources and the file names after.
        """
        with self._store.database.transaction() as connection:
            rows = {old: documents.find_by_source(connection, self._user, self._collection, old) for old in moves}
            for old in moves:
                documents.drop_source(connection, self._user, self._collection, old)
            for old, (new, filename) in moves.items():
                if (row := rows[old]) is not None:
                    documents.add_source(connection, self._user, self._collection, new, row.pk)
                    if row.document.source == old:
                        self._rename(connection, row, new, filename)
        self._publish()

    def forget(self, sources: Sequence[str]) -> None:
        """Sources that lead nowhere any more. A document goes with its last one, else it is known by another."""
        gone = False
        with self._store.database.transaction() as connection:
            for source in sources:
                row = documents.find_by_source(connection, self._user, self._collection, source)
                documents.drop_source(connection, self._user, self._collection, source)
                connection.execute(queries()["drop_origin"], (self._user, self._collection, source))
                if row is None:
                    continue
                others = documents.sources(connection, row.pk)
                if not others:
                    documents.log_removal(connection, self._user, row)
                    documents.drop(connection, self._user, row)
                    gone = True
                elif row.document.source == source:
                    self._rename(connection, row, others[0], name_of(others[0]))
        if gone:
            self._store.after_removal(self._user)
        else:
            self._publish()

    def mend_names(self, changed: Collection[str]) -> None:
        """Name documents by a source they still have; one whose last source has other content now goes.

        Of two files with the same bytes one may have got other ones, and with them a document of its own.
        """
        with self._store.database.transaction() as connection:
            key = (self._user, self._collection)
            misnamed: list[Any] = connection.execute(queries()["misnamed_documents"], key).fetchall()
            for document_id, source in misnamed:
                row = documents.find(connection, self._user, document_id)
                assert row is not None
                if source is not None:
                    self._rename(connection, row, source, name_of(source))
                elif row.document.source in changed:
                    documents.log_removal(connection, self._user, row)
                    documents.drop(connection, self._user, row)
        if misnamed:
            self._store.after_removal(self._user)

    def _rename(self, connection: apsw.Connection, row: DocumentRow, source: str, filename: str) -> None:
        """Another source and file name. A title that was the file's name follows; what was embedded stays."""
        title = renamed_title(row.document.title, row.document.filename, filename)
        after = (source, filename, title, documents.now(), self._user, row.pk)
        connection.execute(queries()["rename_document"], after)
        renamed = documents.find(connection, self._user, row.document.id)
        assert renamed is not None
        documents.refresh_facets(connection, self._user, renamed)
        connection.execute(queries()["next_epoch"], (self._user,))
        for generation in generations.listed(connection, self._user):
            documents.log_change(connection, self._user, generation.pk, row.pk, [])

    def _publish(self) -> None:
        if serving := self._store.serving(self._user):
            self._store.publish_changes(self._user, serving)


def _known(row: Any) -> Known:
    fields = list(row)
    fields[12] = json.loads(fields[12]) if fields[12] else None
    return known_from(fields)
