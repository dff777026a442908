"""The schema of a database that servers share: whether it is this version's, and how it is made and mended."""

from __future__ import annotations

import threading
import time
from importlib import resources

from footnotes.config import Settings
from footnotes.errors import FootnotesError
from footnotes.serve.shared.database import SharedDatabase, make_schema
from footnotes.serve.shared.queue import make_queue_schema
from footnotes.store.postgres import schema
from footnotes.store.postgres.database import Database

LOOK_SECONDS = 5.0
_PRIVILEGES = (resources.files(__package__) / "privileges.sql").read_text("utf-8")


class SchemaWatch:
    """Looks now and then whether the tables are those of this version. They may be migrated, or lost, meanwhile."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._guard = threading.Lock()
        self._looked = -LOOK_SECONDS
        self._current = False

    def is_current(self) -> bool:
        with self._guard:
            if time.monotonic() - self._looked >= LOOK_SECONDS:
                self._current = _is_current(self._address)
                self._looked = time.monotonic()
            return self._current


def _is_current(address: str) -> bool:
    database = Database(address)
    try:
        schema.check(database)
    except FootnotesError:
        return False
    finally:
        database.close()
    return True


def migrate_server(settings: Settings) -> None:
    """Make the server's own tables, those of the queue, and who may use them, whatever of it is missing."""
    pool = Database(settings.store, role=None)
    try:
        with pool.owning() as connection:
            make_schema(connection)
    finally:
        pool.close()
    database = SharedDatabase(settings.store)
    try:
        make_queue_schema(database)
        with database.pool.owning() as connection:
            connection.execute(_PRIVILEGES)
    finally:
        database.close()
