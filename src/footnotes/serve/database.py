"""The server's own database beside the library: keys, counters and the jobs that were accepted."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw

from footnotes.errors import StoreUnavailable

FILE = "server.db"
SCHEMA = (Path(__file__).parent / "schema.sql").read_text(encoding="utf-8")
_BUSY_MS = 5_000


class ServerDatabase:
    """One connection, used by one thread at a time; other processes may have the file open too."""

    def __init__(self, folder: Path) -> None:
        self._guard = threading.Lock()
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._connection = apsw.Connection(str(folder / FILE))
            self._connection.set_busy_timeout(_BUSY_MS)
            self._connection.pragma("journal_mode", "wal")
            self._connection.pragma("synchronous", "full")
            self._connection.pragma("secure_delete", True)
            self._connection.execute(SCHEMA)
        except (apsw.Error, OSError) as error:
            raise StoreUnavailable(f"the server's database in {folder} cannot be opened ({error})") from error

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run one statement; its rows by the names of their columns."""
        with self._guard, _translated():
            cursor = self._connection.execute(sql, tuple(values))
            found: list[dict[str, Any]] = []
            for row in cursor:
                names = [column[0] for column in cursor.get_description()]
                found.append(dict(zip(names, row, strict=True)))
            return found

    def close(self) -> None:
        with self._guard:
            self._connection.close()


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except apsw.Error as error:
        raise StoreUnavailable(f"the server's database failed ({error})") from error


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
