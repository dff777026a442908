"""Puts right what writers that died left behind, and what a living one has not finished when it ends."""

from __future__ import annotations

from footnotes.errors import Interrupted
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.postgres.persistence import persistent
from footnotes.store.postgres.sql import queries
from footnotes.store.rows import packed_error

NOBODY = 0


def recover(database: Database, user_id: str) -> bool:
    """Settle what dead writers of a tenant were at. Says whether there was anything."""
    with database.reading(user_id) as connection:
        if not connection.value(queries()["is_unfinished"], user_id):
            return False
    _settle(database, user_id, NOBODY)
    return True


def let_go(database: Database, user_id: str, holder: int) -> None:
    """A writer ends: what it has not finished is settled as if it had died."""
    _settle(database, user_id, holder)


@persistent
def _settle(database: Database, user_id: str, holder: int) -> None:
    with database.transaction(user_id) as connection:
        settle(connection, user_id, holder)


def settle(connection: Connection, user_id: str, holder: int) -> None:
    """Drop half-written versions, and give every document a state in which it may stay.

    A text that is found already waits for its vectors, and whoever writes next goes on with them.
    """
    stopped = packed_error(Interrupted("the process that took it in ended before it was done").info())
    connection.execute(queries()["settle_alone"], user_id)
    connection.execute(queries()["drop_left_versions"], user_id, holder)
    if connection.execute(queries()["settle_left_documents"], user_id, holder, stopped):
        connection.execute(queries()["bump"], user_id)
    connection.execute(queries()["let_go_left_documents"], user_id, holder)
    connection.execute(queries()["let_go_jobs"], user_id, holder)
