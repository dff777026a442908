"""Recovers from writers that died, and cleans up after a live one that ends."""

from __future__ import annotations

from footnotes.errors import Interrupted
from footnotes.store.database import Cursor, Database
from footnotes.store.retry import retrying
from footnotes.store.rows import packed_error

NOBODY = 0


def is_unfinished(database: Database, user_id: str, *, but_indexing: bool = False) -> bool:
    """Return whether anything needs recovery; `but_indexing` ignores what only waits for an index."""
    with database.read(user_id) as cursor:
        return bool(cursor.value("is_unfinished", but_indexing=but_indexing))


@retrying
def recover(database: Database, user_id: str, holder: int = NOBODY) -> set[str]:
    """Settle the unfinished work of dead writers and of this one.

    Returns the tenants whose indexes must catch up.
    """
    with database.write(user_id) as cursor:
        settle(cursor, holder)
        return {row["user_id"] for row in cursor.all("users_behind")}


def settle(cursor: Cursor, holder: int) -> None:
    """Drop half-written versions, and give every document a permanent state.

    A published text without vectors stays waiting; the next writer continues with it.
    """
    stopped = Interrupted("the process that took it in ended before it was done").info()
    cursor.run("lock_recovery")
    cursor.run("drop_left_versions", holder=holder)
    if cursor.run("settle_left_documents", holder=holder, error=packed_error(stopped)):
        cursor.run("bump")
    cursor.run("release_documents", holder=holder)
    cursor.run("release_jobs", holder=holder)
