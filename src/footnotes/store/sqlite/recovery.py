"""Puts right what a writer that died left behind. Runs before the next writer, and at open when nobody writes."""

from __future__ import annotations

from footnotes.errors import Interrupted
from footnotes.store.sqlite import documents, jobs
from footnotes.store.sqlite.connection import Database, translated
from footnotes.store.sqlite.sql import queries


def unfinished(database: Database, *, but_indexing: bool = False) -> bool:
    """Whether there is anything to put right; `but_indexing` leaves out what waits for an index alone."""
    with translated():
        reader = database.reader
        documents = "interrupted_documents" if but_indexing else "unfinished_documents"
        names = (documents, "unfinished_versions", "users_behind", "any_staged", "loose_originals", "running_jobs")
        return any(reader.execute(queries()[name]).fetchone() is not None for name in names)


def recover(database: Database) -> set[str]:
    """Drop half-written versions and settle every document. Returns the tenants whose indexes must catch up."""
    behind: set[str] = set()
    stopped = Interrupted("the process that took it in ended before it was done").info()
    with database.transaction() as connection:
        for user_id, version in connection.execute(queries()["unfinished_versions"]).fetchall():
            # Its vectors stay: adding the same file again finds them and embeds nothing twice.
            connection.execute(queries()["drop_version"], (user_id, version))
        for user_id, pk, status, current in connection.execute(queries()["unfinished_documents"]).fetchall():
            if status == "indexing" and current is not None:
                behind.add(str(user_id))
                continue  # its changes are in the log: it becomes ready when the indexes have caught up
            if status == "embedding" and current is not None:
                # Its text is found already; whoever writes next goes on with its vectors.
                documents.set_status(connection, str(user_id), int(pk), "queued", stopped)  # type: ignore[arg-type]
                continue
            if current is not None:
                documents.set_status(connection, str(user_id), int(pk), "ready")  # type: ignore[arg-type]
            else:
                documents.set_failed(connection, str(user_id), int(pk), stopped)  # type: ignore[arg-type]
        jobs.let_go(connection)
        for name in ("users_behind", "users_staged"):
            behind |= {str(row[0]) for row in connection.execute(queries()[name])}
        return behind
