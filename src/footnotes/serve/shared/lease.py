"""A worker's lease: a number, and a lock on it that lives as long as a connection of its own does."""

from __future__ import annotations

from footnotes.serve.shared.database import SharedDatabase
from footnotes.store.postgres.database import Lasting

ANSWER_SECONDS = 5.0


class Lease:
    """Jobs carry the number of the worker that is at them; one whose lock is gone may be taken over by anybody."""

    def __init__(self, database: SharedDatabase) -> None:
        self._database = database
        self._connection: Lasting | None = None
        self.number = 0

    @property
    def is_lost(self) -> bool:
        return self._connection is None or self._connection.is_lost

    def renew(self) -> bool:
        """See that the lock is held, and take one anew where it was lost; says whether it was.

        Under a new number: others may have taken over what the old one was at.
        """
        if self._connection is not None and self._connection.answers(ANSWER_SECONDS):
            return False
        self._connection = None
        connection: Lasting = self._database.pool.lasting("")
        number = int(connection.value("SELECT nextval('holders')"))
        connection.execute("SELECT pg_advisory_lock(4610, $1)", number)
        self._connection, self.number = connection, number
        return True

    def close(self) -> None:
        if self._connection is not None:
            self._connection.let_go()
