"""Records on sources: their state when last read, moves and removals."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from footnotes.store import documents
from footnotes.store.core import Core
from footnotes.store.database import Cursor
from footnotes.store.naming import label_of, name_of, rename_title
from footnotes.store.records import DocumentRow, KnownSource, Origin
from footnotes.store.retry import retrying
from footnotes.store.rows import known_from, packed_error


class Sources:
    """Sources in one tenant's collection. The caller holds the library for writing to change anything."""

    def __init__(self, store: Core, user_id: str, collection: str) -> None:
        self._store = store
        self._user_id = user_id
        self._collection = collection

    def below(self, prefix: str) -> dict[str, KnownSource]:
        """Return every known source whose name begins with the prefix."""
        after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        with self._store.database.read(self._user_id) as cursor:
            rows = cursor.all("known_below", collection=self._collection, first=prefix, after=after)
        return {known.source: known for known in map(known_from, rows)}

    def version(self, source: str) -> tuple[str | None, str | None]:
        """Return the entity tag and the date from the server's last response for the source."""
        with self._store.database.read(self._user_id) as cursor:
            row = cursor.one("origin_version", collection=self._collection, source=source)
        return (None, None) if row is None else (row["etag"], row["modified"])

    def note(self, seen: Iterable[Origin], made_by: str) -> None:
        """Record the state of sources."""
        rows = {each.source: self._row(each, made_by) for each in seen}
        if rows:
            with self._store.database.write(self._user_id) as cursor:
                cursor.many("put_origins", rows.values())

    def _row(self, seen: Origin, made_by: str) -> dict[str, object]:
        found = seen.signature
        return {
            "collection": self._collection,
            "source": seen.source,
            "size": found.size if found else None,
            "mtime_ns": found.mtime_ns if found else None,
            "ctime_ns": found.ctime_ns if found else None,
            "read_ns": seen.read_ns,
            "etag": seen.etag,
            "modified": seen.modified,
            "error": packed_error(seen.error),
            "made_by": made_by,
        }

    @retrying
    def move(self, moves: Mapping[str, tuple[str, str]]) -> None:
        """Move documents with their files, all at once, so that two may also swap places.

        The keys are the old sources; the values the new sources and file names.
        """
        with self._store.changing(self._user_id) as cursor:
            rows = documents.find_by(cursor, self._collection, "source", moves)
            for old in moves:
                documents.drop_source(cursor, self._collection, old)
            for old, (new, filename) in moves.items():
                if (row := rows.get(old)) is not None:
                    documents.add_source(cursor, self._collection, new, row.pk)
                    if row.document.source == old:
                        self._rename(cursor, row, new, filename)
        self._store.after_change(self._user_id, removed=False)

    @retrying
    def forget(self, sources: Sequence[str]) -> None:
        """Remove sources. A document is deleted with its last source, otherwise renamed to another one."""
        gone = False
        with self._store.changing(self._user_id) as cursor:
            for source in sources:
                row = documents.find_by(cursor, self._collection, "source", [source]).get(source)
                documents.drop_source(cursor, self._collection, source)
                cursor.run("drop_origin", collection=self._collection, source=source)
                if row is None:
                    continue
                others = documents.sources(cursor, row.pk)
                if not others:
                    documents.drop(cursor, documents.locked(cursor, [row.document.id]))
                    gone = True
                elif row.document.source == source:
                    self._rename(cursor, row, others[0], name_of(others[0]))
        self._store.after_change(self._user_id, removed=gone)

    @retrying
    def mend_names(self, changed: Collection[str]) -> None:
        """Name documents by a source they still have; delete those whose last source has other content now.

        One of two files with the same bytes may have changed, and have a document of its own now.
        """
        with self._store.database.read(self._user_id) as cursor:
            if not cursor.all("misnamed_documents", collection=self._collection):
                return
        with self._store.changing(self._user_id) as cursor:
            for misnamed in cursor.all("misnamed_documents", collection=self._collection):
                for row in documents.locked(cursor, [misnamed["id"]]):
                    if (source := misnamed["source"]) is not None:
                        self._rename(cursor, row, source, name_of(source))
                    elif row.document.source in changed:
                        documents.drop(cursor, [row])
        self._store.after_change(self._user_id, removed=True)

    def _rename(self, cursor: Cursor, row: DocumentRow, source: str, filename: str) -> None:
        """Change source and file name. A title equal to the old file name changes too; embedded texts stay."""
        title = rename_title(row.document.title, row.document.filename, filename)
        cursor.run("rename_document", document=row.pk, source=source, filename=filename, title=title)
        (renamed,) = documents.locked(cursor, [row.document.id])
        documents.put_facets(cursor, [renamed])
        cursor.run("note_change", document=row.pk)
        if label_of(title, filename) != label_of(row.document.title, row.document.filename):
            self._store.rewrite_terms(cursor, renamed)
