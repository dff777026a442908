"""Puts right what writers that died left behind, and what a living one has not finished when it ends."""

from __future__ import annotations

from footnotes.errors import Interrupted
from footnotes.store import jobs
from footnotes.store.database import Cursor, Database
from footnotes.store.retry import retrying
from footnotes.store.rows import packed_error

NOBODY = 0


def is_unfinished(database: Database, user_id: str, *, but_indexing: bool = False) -> bool:
    """Whether there is anything to put right; `but_indexing` leaves out what waits for an index alone."""
    with database.read(user_id) as cursor:
        return bool(cursor.value("is_unfinished", but_indexing=but_indexing))


@retrying
def recover(database: Database, user_id: str, holder: int = NOBODY) -> set[str]:
    """Settle what dead writers were at, and what this one has not finished.

    Returns the tenants whose indexes must catch up.
    """
    with database.write(user_id) as cursor:
        settle(cursor, holder)
        return {row["user_id"] for row in cursor.all("users_behind")}


def settle(cursor: Cursor, holder: int) -> None:
    """Drop half-written versions, and give every document a state in which it may stay.

    A text that is found already waits for its vectors, and the next writer goes on with them.
    """
    stopped = Interrupted("the process that took it in ended before it was done").info()
    cursor.run("lock_recovery")
    cursor.run("drop_left_versions", holder=holder)
    if cursor.run("settle_left_documents", holder=holder, error=packed_error(stopped)):
        cursor.run("bump")
    cursor.run("let_go_documents", holder=holder)
    jobs.let_go(cursor, holder)
