"""`compact` beside those who read and write: nobody waits for it, and it waits for nobody."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from footnotes.store.postgres.upkeep import TABLES
from libraries import quick_library
from postgres import PostgresServer


@asynccontextmanager
async def reading(address: str) -> AsyncIterator[Any]:
    """Somebody who has read every table, and whose transaction goes on."""
    reader = await asyncpg.connect(address)
    try:
        async with reader.transaction():
            for table in TABLES:
                await reader.fetch(f"SELECT count(*) FROM {table}")
            yield
    finally:
        await reader.close()


async def vacuum(address: str, how: str) -> None:
    """As `compact` does it, but for that it does not wait for a lock."""
    connection = await asyncpg.connect(address)
    try:
        await connection.execute("SET lock_timeout = '300ms'")
        for table in TABLES:
            await connection.execute(f"VACUUM ({how}) {table}")
    finally:
        await connection.close()


def test_nobody_waits_for_a_compaction(postgres: PostgresServer, tmp_path: Path) -> None:
    """`VACUUM` needs no lock that readers have; the control, writing tables again, does."""
    import asyncio

    address = postgres.fresh()
    with quick_library(tmp_path / "one", store=address) as library:
        kept, gone = (library.add_text(f"Text {name}.", filename=f"{name}.txt").document_id for name in "ab")
        library.delete(str(gone))

        async def beside() -> None:
            async with reading(address):
                await asyncio.to_thread(library.compact)
                await vacuum(address, "ANALYZE")
                with pytest.raises(asyncpg.LockNotAvailableError):
                    await vacuum(address, "FULL")

        asyncio.run(beside())
        assert [document.id for document in library.documents()] == [kept]
        assert library.verify().ok
