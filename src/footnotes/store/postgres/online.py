"""Changes of tables beside those who use them: no statement waits long for a lock, so that nobody waits behind it."""

from __future__ import annotations

import time

from footnotes.errors import StoreLocked
from footnotes.store.postgres.database import Connection

LOCK_MS, TURNS, BETWEEN_SECONDS = 2_000, 30, 1.0
"""How long a lock is waited for, how often, and how long others have their turn in between."""


def in_turns(connection: Connection, script: str) -> None:
    """Run a script as one transaction; where a table is in use, let go and try again."""
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
