"""A database that the previous release wrote: brought up to date beside those who read it, and worked on."""

from __future__ import annotations

import gzip
import time
from pathlib import Path

import pytest

from clusters import Clusters
from footnotes.store.postgres.schema import migrations
from libraries import quick_library
from serving import serving, settled

DUMPS = sorted((Path(__file__).parent / "dumps").glob("*.sql.gz"))
_OLD_CALL = """
SELECT key, content FROM search_chunks((SELECT max(pk) FROM generations), ARRAY['raven'], ARRAY[1.0], ARRAY[1],
    ARRAY[2], ARRAY[3], ARRAY[4], ARRAY[1.0, 1.0, 1.0, 1.0], '{}', '{}', NULL, 10, NULL, 1000, 10, 1, NULL, NULL)
"""


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.name.partition(".")[0])
def test_a_database_of_an_earlier_release_is_brought_up_to_date(clusters: Clusters, tmp_path: Path, dump: Path) -> None:
    """With the tables of the server and of its queue; what was in it is found, and new work is done."""
    cluster = clusters.make()
    address = cluster.create()
    script = clusters.folder() / "dump.sql"
    script.write_bytes(gzip.decompress(dump.read_bytes()))
    cluster.program("psql", "-q", "-f", str(script), address)
    with serving(tmp_path, store=address) as server:
        found = [
            server.client.post("/v1/search", json={"query": query}).json()["hits"] for query in ("ravens", "okapis")
        ]
        assert [hits[0]["filename"] for hits in found] == ["a.md", "b.md"]
        jobs = server.client.get("/v1/jobs").json()["jobs"]
        assert {job["name"]: job["state"] for job in jobs} == {"a.md": "ready", "b.md": "ready", "broken.pdf": "failed"}
        failed = next(job for job in jobs if job["state"] == "failed")
        server.client.post(f"/v1/jobs/{failed['id']}/retry")
        assert settled(server.client, failed["id"])["state"] == "failed"
        assert server.add("new.md", "A new text about zq9.")
        for _ in range(300):  # workers write down what they count with every heartbeat
            text = server.client.get("/metrics").text
            if 'footnotes_documents_total{status="ready"} 1.0' in text:
                break
            time.sleep(0.1)
        assert 'footnotes_documents_total{status="ready"} 1.0' in text and "footnotes_workers 1.0" in text
        assert "footnotes_chunks_total" in text and 'footnotes_embedded_texts_total{role="passage"}' in text
        names = cluster.execute("SELECT DISTINCT application_name FROM pg_stat_activity WHERE datname = 'footnotes'")
        assert all(row[0].startswith("footnotes ") for row in names if row[0]), names
    with quick_library(tmp_path / "library", store=address, migrate=False) as library:
        problems = [problem.what for problem in library.verify().problems]
        assert all("original" in what for what in problems), "originals are files, and in no dump"


def test_a_server_of_the_release_before_calls_what_this_one_put_in_place(clusters: Clusters, tmp_path: Path) -> None:
    """The schema keeps its number and the search its values, so that an older server may even be started again."""
    cluster = clusters.make()
    address = cluster.create()
    with quick_library(tmp_path, store=address) as library:
        library.add_text("Ravens remember faces.", filename="a.md")
    assert cluster.execute("SELECT max(version) FROM footnotes_schema")[0][0] == len(migrations())
    cluster.execute("ALTER DATABASE footnotes SET footnotes.user_id = 'local'")
    assert cluster.execute(_OLD_CALL)[0]["content"] == "Ravens remember faces."


def test_tables_are_not_waited_for_while_somebody_reads_them(clusters: Clusters, tmp_path: Path) -> None:
    """`migrate` beside a long transaction that holds every table: it comes through, and nobody waits behind it."""
    import asyncio

    import asyncpg

    from footnotes.store.postgres import schema
    from footnotes.store.postgres.database import Database

    cluster = clusters.make()
    address = cluster.create()
    quick_library(tmp_path, store=address).close()

    async def beside() -> None:
        reader = await asyncpg.connect(address)
        try:
            async with reader.transaction():
                for table in ("documents", "document_chunks", "users"):
                    await reader.fetch(f"SELECT count(*) FROM {table}")
                database = Database(address)
                try:
                    await asyncio.wait_for(asyncio.to_thread(schema.repair, database), 60)
                finally:
                    database.close()
        finally:
            await reader.close()

    asyncio.run(beside())
