"""Connections that are cut, in the middle and at the commit; writers that lose theirs, or die: exactly once, always."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import FootnotesError, StoreLocked, StoreUnavailable, is_retryable
from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from libraries import HANDBOOK, TRAVEL, quick_library, words
from postgres import PostgresServer

_CUT = """
SELECT pg_terminate_backend(pid) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'footnotes' AND pid <> pg_backend_pid()
"""


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.fresh()


@pytest.fixture
def shared(address: str, tmp_path: Path) -> Iterator[Library]:
    with quick_library(tmp_path / "library", store=address) as library:
        yield library


def store_of(library: Library) -> Any:
    return library._store


def added_in_the_end(library: Library, text: str) -> str:
    """The id of a text that is added as somebody would whose call failed: by calling again."""
    for _ in range(5):
        try:
            return str(library.add_text(text, filename="a.txt").document_id)
        except FootnotesError as error:
            assert is_retryable(error.code), error
    raise AssertionError("it never succeeded")


@pytest.mark.parametrize(
    "statement",
    [
        "claim_documents", "make_versions", "put_parts", "put_chunks", "put_statistics", "publish_documents",
        "put_facets", "put_planned", "save_vectors", "finish_waiting", "bump",
    ],
)  # fmt: skip
def test_a_connection_cut_in_the_middle_of_saving(
    shared: Library, address: str, postgres: PostgresServer, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from footnotes.store.postgres.cursor import SQL
    from footnotes.store.postgres.database import Connection
    from footnotes.store.statements import load_queries

    shared.add_text(TRAVEL, filename="before.txt")
    real, cut = Connection.execute, threading.Event()
    fetch = Connection.fetch

    def cutting(kind: Any) -> Any:
        def call(self: Any, query: str, *bindings: Any) -> Any:
            result = kind(self, query, *bindings)
            if query == load_queries(SQL)[statement].sql and not cut.is_set():
                cut.set()
                postgres.execute(_CUT, address=address)
            return result

        return call

    monkeypatch.setattr(Connection, "execute", cutting(real))
    monkeypatch.setattr(Connection, "fetch", cutting(fetch))
    monkeypatch.setattr(Connection, "send", cutting(Connection.send))
    document = added_in_the_end(shared, HANDBOOK)
    assert cut.is_set()
    assert [d.id for d in shared.documents() if d.filename == "a.txt"] == [document]
    shared.resume()
    assert {d.status for d in shared.documents()} == {"ready"} and shared.verify().ok
    assert [hit.document_id for hit in shared.search("leave", mode="lexical", limit=50).hits] == [document]


@pytest.mark.parametrize("when", ["before", "after"])
def test_a_connection_cut_at_the_commit(
    shared: Library, address: str, postgres: PostgresServer, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody can tell whether it was committed. Calling again is right in both cases."""
    from asyncpg.transaction import Transaction

    embedder = HashingEmbedder()
    shared._embedders._loaded[shared.settings.embedder] = embedder
    real = Transaction.commit
    commits = cutting = 0

    async def commit(self: Any) -> None:
        nonlocal commits
        commits += 1
        pid = self._connection.get_server_pid()
        cut = "SELECT pg_terminate_backend($1)"
        if commits == cutting and when == "before":
            await _other(address, cut, pid)
        await real(self)
        if commits == cutting and when == "after":
            await _other(address, cut, pid)
            raise ConnectionResetError("cut after the commit")

    monkeypatch.setattr(Transaction, "commit", commit)
    for place in count(1):
        commits, cutting = 0, place
        text = words(place, 200)
        added, reached, cutting = added_in_the_end(shared, text), commits, 0
        assert shared.text(added) == text
        if reached < place:  # every commit of an add was cut
            break
    assert place > 5
    monkeypatch.setattr(Transaction, "commit", real)
    shared.resume()
    (document,) = shared.documents()  # all came from one source: each took the place of the one before
    assert document.status == "ready" and shared.text(document.id) == text and shared.verify().ok


async def _other(address: str, statement: str, *values: Any) -> None:
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        await connection.fetch(statement, *values)
    finally:
        await connection.close()


def test_a_writer_that_loses_its_lock_stops(shared: Library, address: str, postgres: PostgresServer) -> None:
    store = store_of(shared)
    with pytest.raises(StoreUnavailable) as lost, store.writing("local", "a test"):
        number = store._writers.number("local")
        postgres.execute(_CUT, address=address)
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            store._writers.number("local")
            time.sleep(0.01)
    assert lost.value.retryable and "lost" in str(lost.value)
    with store.writing("local", "again"):
        assert store._writers.number("local") != number
    assert shared.add_text(TRAVEL, filename="a.txt").status == "ready"


_HOLD = """
import sys, time, footnotes
from footnotes.store.records import Draft
with footnotes.open(sys.argv[1], embedder="hashing", store=sys.argv[2]) as library:
    store = library._store
    with store.writing("local", "holding"):
        library._context.embedding(None).open_generation()
        draft = Draft("default", "s", "a.txt", sys.argv[3], 1, "", {})
        from footnotes.store.postgres.claiming import claim
        claim(store.database, "local", store._writers.number("local"), [draft])
        print("held", flush=True)
        sys.stdin.readline()
"""


def test_a_document_is_one_living_writers_alone(shared: Library, address: str, tmp_path: Path) -> None:
    """While it lives the others wait for it; when it dies one of them takes over."""
    import hashlib

    digest = hashlib.sha256(TRAVEL.encode()).hexdigest()
    words_ = [sys.executable, "-c", _HOLD, str(tmp_path / "other"), address, digest]
    holder = subprocess.Popen(words_, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None and holder.stdout.readline() == "held\n"
    results: list[Any] = []
    adding = threading.Thread(target=lambda: results.append(shared.add_text(TRAVEL, filename="a.txt")))
    adding.start()
    adding.join(0.5)
    assert adding.is_alive() and not results, "the other writer is alive: it is waited for"
    (document,) = shared.documents()
    assert document.status == "embedding"
    holder.kill()
    holder.communicate()
    adding.join(20)
    assert results[0].status == "ready" and results[0].document_id == document.id
    assert shared.verify().ok and len(shared.documents()) == 1


def test_the_next_version_of_a_document_another_writer_is_at_is_refused(shared: Library) -> None:
    store = store_of(shared)
    added = shared.add_text(TRAVEL, filename="a.txt", source="s")
    row = store.documents.find("local", str(added.document_id))
    ready, done = threading.Event(), threading.Event()

    def hold() -> None:
        with store.writing("local", "holding"):
            with store.database.transaction("local") as connection:
                number = store._writers.number("local")
                connection.execute("UPDATE documents SET holder = $1 WHERE pk = $2", number, row.pk)
            ready.set()
            done.wait(20)

    holding = threading.Thread(target=hold)
    holding.start()
    assert ready.wait(20)
    refused = shared.add_text(HANDBOOK, filename="a.txt", source="s")
    assert refused.status == "failed" and refused.error and refused.error.code == StoreLocked.code
    done.set()
    holding.join()
    assert shared.add_text(HANDBOOK, filename="a.txt", source="s").status == "replaced" and shared.verify().ok


def test_two_workers_never_embed_the_same_document(shared: Library, address: str, tmp_path: Path) -> None:
    class Slow(HashingEmbedder):
        def embed(self, texts: Any, *, role: Any) -> Any:
            time.sleep(0.02)
            return super().embed(texts, role=role)

    store = store_of(shared)
    for number in range(12):
        shared.add_text(words(number), filename=f"{number}.txt")
    with store.database.transaction("local") as connection:
        connection.execute("UPDATE document_chunks SET embedding = NULL")
        connection.execute("UPDATE documents SET status = 'queued'")
    assert shared.status()["waiting"] == 12 and shared.status()["by_status"] == {"queued": 12}
    embedders = [Slow(), Slow()]
    libraries = [Library(tmp_path / "library", settings=shared.settings, embedder=embedder) for embedder in embedders]
    threads = [threading.Thread(target=library.resume) for library in libraries]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for library in libraries:
        library.close()
    assert sum(embedder.texts for embedder in embedders) == 12
    assert shared.status()["by_status"] == {"ready": 12} and shared.verify().ok


def test_a_query_that_counts_claims_nothing(shared: Library) -> None:
    store = store_of(shared)
    shared.add_text(TRAVEL, filename="a.txt")
    with store.database.transaction("local") as connection:
        connection.execute("UPDATE document_chunks SET embedding = NULL")
        connection.execute("UPDATE documents SET status = 'queued'")
    assert store.documents.counts("local")["waiting"] == 1
    with store.database.reading("local") as connection:
        assert connection.value("SELECT count(*) FROM documents WHERE holder IS NOT NULL") == 0


def test_nothing_is_held_when_nobody_writes(shared: Library) -> None:
    for number in range(3):
        shared.add_text(words(number), filename=f"{number}.txt", source="s")
    shared.reindex(keep=True)
    with store_of(shared).database.reading("local") as connection:
        for table in ("documents", "versions", "originals"):
            assert connection.value(f"SELECT count(*) FROM {table} WHERE holder IS NOT NULL") == 0
        assert connection.value("SELECT count(*) FROM document_chunks WHERE generation < 0") == 0
        assert connection.value("SELECT count(*) FROM versions") == connection.value("SELECT count(*) FROM documents")
