"""Changes tables while they are in use: no statement waits long for a lock, because others would queue behind it."""

from __future__ import annotations

import time

from footnotes.errors import StoreLocked
from footnotes.store.postgres.database import Connection

LOCK_MS, TURNS, BETWEEN_SECONDS = 2_000, 30, 1.0
"""How long to wait for a lock, how often, and the pause for others in between."""


def in_turns(connection: Connection, script: str) -> None:
    """Run a script as one transaction; if a table is in use, release the locks and retry."""
    for turn in range(TURNS):
        try:
            connection.execute(f"BEGIN;\nSET LOCAL lock_timeout = {LOCK_MS:d};\n{script}\n;COMMIT;")
            return
        except StoreLocked:
            connection.execute("ROLLBACK")
            if turn == TURNS - 1:
                raise
            time.sleep(BETWEEN_SECONDS)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
