"""The server's own database: what is gone is said to be gone, and what was deleted is gone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import apsw
import asyncpg
import pytest

from footnotes.errors import StoreCorrupt, StoreUnavailable
from footnotes.server.database import FILE, MARKER, SQL, FolderDatabase
from footnotes.server.jobs import Jobs
from footnotes.server.keys import Keys
from footnotes.store.naming import source_mark
from footnotes.store.statements import load_queries
from postgres import PostgresServer


def with_key(folder: Path) -> None:
    database = FolderDatabase(folder)
    Keys(database).create("local", name="first")
    database.close()


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_server_with_keys_does_not_serve_without_its_database(tmp_path: Path, left: str) -> None:
    with_key(tmp_path)
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    if left == "an empty file":
        (tmp_path / FILE).touch()
    with pytest.raises(StoreCorrupt, match="has keys"):
        FolderDatabase(tmp_path)
    (tmp_path / MARKER).unlink()  # the remedy, for whoever means it
    database = FolderDatabase(tmp_path)
    assert not Keys(database).exist()
    database.close()


def test_a_server_without_keys_may_lose_its_database(tmp_path: Path) -> None:
    FolderDatabase(tmp_path).close()
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    FolderDatabase(tmp_path).close()


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    with_key(tmp_path)
    content = bytearray((tmp_path / FILE).read_bytes())
    content[content.index(b"first")] ^= 1
    (tmp_path / FILE).write_bytes(bytes(content))
    with pytest.raises(StoreUnavailable):
        Keys(FolderDatabase(tmp_path)).all("local")


def test_nothing_of_a_removed_job_stays_in_the_log(tmp_path: Path) -> None:
    database = FolderDatabase(tmp_path)
    jobs = Jobs(database, 10)
    job = jobs.add("local", "upload", "zebrafinch.txt", {"source": "zebrafinch", "collection": "default"}, None)
    assert any(b"zebrafinch" in path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    jobs.remove([job])
    assert not any(b"zebrafinch" in path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    database.close()


def test_an_archive_that_is_not_done_leaves_out_members_that_were_deleted(tmp_path: Path) -> None:
    database = FolderDatabase(tmp_path)
    jobs = Jobs(database, 10)
    job = jobs.add("local", "upload", "birds.zip", {"source": "upload:birds.zip", "collection": "default"}, None)
    jobs.exclude_members("local", [("default", "upload:birds.zip!/tern.txt"), ("other", "upload:birds.zip!/auk.txt")])
    assert jobs.find("local", job.id).request["deleted"] == [source_mark("default", "upload:birds.zip!/tern.txt")]
    database.close()


def test_jobs_of_an_earlier_version_are_done(tmp_path: Path) -> None:
    """As the first version wrote them: without the size of the upload, and without the source in a column."""
    connection = apsw.Connection(str(tmp_path / FILE))
    connection.execute(
        "CREATE TABLE jobs (number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, tenant TEXT NOT NULL,"
        " kind TEXT NOT NULL, name TEXT NOT NULL, request TEXT NOT NULL, spool TEXT, state TEXT NOT NULL,"
        " result TEXT NOT NULL DEFAULT '[]', error TEXT, attempts INTEGER NOT NULL DEFAULT 0,"
        " created_at TEXT NOT NULL, updated_at TEXT NOT NULL) STRICT"
    )
    request = json.dumps({"source": "upload:a.txt", "collection": "default"})
    values = ("job_1", "local", "upload", "a.txt", request, "queued", "2026-01-01", "2026-01-01")
    connection.execute(
        "INSERT INTO jobs (id, tenant, kind, name, request, state, created_at, updated_at) VALUES (?,?,?,?,?,?,?,?)",
        values,
    )
    connection.close()
    database = FolderDatabase(tmp_path)
    (job,) = Jobs(database, 10).claim(5)
    assert job.target == ("default", "upload:a.txt") and job.attempts == 1
    database.close()


def test_every_query_is_understood_by_sqlite(tmp_path: Path) -> None:
    FolderDatabase(tmp_path).close()
    connection = apsw.Connection(str(tmp_path / FILE))
    for query in load_queries(SQL, "shared", "sqlite").values():
        values = {str(number): None for number in range(1, len(query.parameters) + 1)}
        assert connection.execute(f"EXPLAIN {query.sql}", values).fetchall()
    connection.close()


def test_every_query_is_understood_by_postgresql(postgres: PostgresServer) -> None:
    from footnotes.server.postgres import NAME, PostgresDatabase

    address = postgres.fresh()
    PostgresDatabase(address).close()

    async def prepare() -> None:
        connection = await asyncpg.connect(address, server_settings={"search_path": NAME})
        try:
            for query in load_queries(SQL, "shared", "postgres").values():
                prepared = await connection.prepare(query.sql)
                assert len(prepared.get_parameters()) == len(query.parameters)
        finally:
            await connection.close()

    asyncio.run(prepare())
