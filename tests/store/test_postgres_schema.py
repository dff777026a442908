"""Migrations: from nothing, from every earlier version, by several at once, and cut off in the middle."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from footnotes.errors import SchemaTooNew, StoreUnavailable
from libraries import TRAVEL, quick_library
from postgres import PostgresServer

_COLUMNS = """
SELECT table_name, column_name, data_type, is_nullable, column_default FROM information_schema.columns
WHERE table_schema = 'public' AND table_name <> 'footnotes_schema' ORDER BY 1, 2
"""
_INDEXES = "SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public' ORDER BY 1"
_POLICIES = "SELECT tablename, policyname, qual, with_check FROM pg_policies ORDER BY 1, 2"
_FUNCTIONS = """
SELECT p.proname, md5(p.prosrc) FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = 'public' AND NOT EXISTS (
    SELECT 1 FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e') ORDER BY 1
"""


@contextmanager
def database(address: str) -> Iterator[object]:
    from footnotes.store.postgres.database import Database

    opened = Database(address)
    try:
        yield opened
    finally:
        opened.close()


def migrated(address: str, to: int | None = None) -> list[int]:
    from footnotes.store.postgres import schema

    with database(address) as opened:
        return schema.migrate(opened, to=to)  # type: ignore[arg-type]


def described(postgres: PostgresServer, address: str) -> list[list[tuple[object, ...]]]:
    queries = (_COLUMNS, _INDEXES, _POLICIES, _FUNCTIONS)
    return [[tuple(row) for row in postgres.execute(query, address=address)] for query in queries]


def test_every_earlier_version_comes_to_the_same_schema(postgres: PostgresServer) -> None:
    from footnotes.store.postgres.schema import migrations

    numbers = [number for number, _ in migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    fresh = postgres.empty()
    assert migrated(fresh) == numbers and migrated(fresh) == []
    for number in numbers[:-1]:
        older = postgres.empty()
        assert migrated(older, to=number) == numbers[:number]
        assert migrated(older) == numbers[number:]
        assert described(postgres, older) == described(postgres, fresh)


def test_several_servers_that_start_at_once(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.empty()
    with ThreadPoolExecutor(8) as pool:
        applied = list(pool.map(lambda _: migrated(address), range(8)))
    assert sorted(map(len, applied)) == [0] * 7 + [len(max(applied))] and migrated(address) == []
    other = postgres.empty()
    words = [sys.executable, "-c", _OPEN, other, str(tmp_path)]
    running = [subprocess.Popen([*words, str(number)]) for number in range(3)]
    assert [process.wait(60) for process in running] == [0, 0, 0]
    with quick_library(tmp_path / "library", store=other) as library:
        assert {document.filename for document in library.documents()} == {"0.txt", "1.txt", "2.txt"}


_OPEN = """
import sys, footnotes
address, folder, number = sys.argv[1:]
with footnotes.open(folder + "/" + number, embedder="hashing", store=address) as library:
    library.add_text("Text number " + number, filename=number + ".txt")
"""
_MIGRATE = """
import sys
from footnotes.store.postgres import schema
from footnotes.store.postgres.database import Database
print("ready", flush=True)
schema.migrate(Database(sys.argv[1]))
"""


@pytest.mark.parametrize("moment", [0.0, 0.02, 0.05, 0.1])
def test_a_migration_that_is_killed_is_done_or_not_at_all(postgres: PostgresServer, moment: float) -> None:
    from footnotes.store.postgres.schema import migrations

    address = postgres.empty()
    process = subprocess.Popen([sys.executable, "-c", _MIGRATE, address], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stdout.readline()
    time.sleep(moment)
    process.kill()
    process.communicate()
    rest = migrated(address)
    assert rest == [number for number, _ in migrations()][len(migrations()) - len(rest) :]
    assert described(postgres, address) == described(postgres, postgres.fresh())


def test_each_migration_is_one_transaction(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever statement of it fails, nothing of it stays, and it is done the next time."""
    from footnotes.store.postgres import schema
    from footnotes.store.postgres.schema import migrations

    real = migrations()
    address = postgres.empty()
    for number, script in real:
        broken = [*real[: number - 1], (number, script + ";\nSELECT 1 / 0;")]
        monkeypatch.setattr(schema, "migrations", lambda broken=broken: broken)
        with pytest.raises(Exception, match="division"):
            migrated(address)
        monkeypatch.setattr(schema, "migrations", lambda: real)
        with database(address) as opened:
            assert schema.version(opened) == number - 1  # type: ignore[arg-type]
        assert migrated(address, to=number) == [number]
    assert migrated(address) == []  # functions are put in place when all tables are there
    assert described(postgres, address) == described(postgres, postgres.fresh())


def test_a_schema_from_the_future_is_left_alone(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    postgres.execute("INSERT INTO footnotes_schema (version) VALUES (999)", address=address)
    with pytest.raises(SchemaTooNew):
        quick_library(tmp_path / "library", store=address)


def test_migrations_may_be_left_to_somebody(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.empty()
    with pytest.raises(StoreUnavailable, match="schema 0"):
        quick_library(tmp_path / "library", store=address, migrate=False)
    migrated(address)
    with quick_library(tmp_path / "library", store=address, migrate=False) as library:
        assert library.add_text(TRAVEL, filename="a.txt").status == "ready"


def test_words_of_an_older_version_are_made_anew(postgres: PostgresServer, tmp_path: Path) -> None:
    """From the stored texts, by whoever opens the store; or refused where that is not allowed."""
    address = postgres.fresh()
    with quick_library(tmp_path / "library", store=address) as library:
        library.add_text(TRAVEL, filename="a.txt")
        library.add_text("def check_seal(given):\n    return given\n", filename="seal.py")
        library.settle()
        expected = [library.search(question, limit=5).hits for question in ("receipt for breakfast", "check_seal")]
    for statement in (
        "UPDATE generations SET lexemes = '1.1', weighed = 0",
        "UPDATE document_chunks SET content_tsv = 'older:1', words = '{}/1000000000', title_length = 9",
        "DELETE FROM statistics",
    ):
        postgres.execute(statement, address=address)
    with pytest.raises(StoreUnavailable, match="older version"):
        quick_library(tmp_path / "library", store=address, migrate=False)
    with quick_library(tmp_path / "library", store=address) as library:
        assert library.search("breakfast", mode="lexical").hits[0].filename == "a.txt"
        assert [library.search(q, limit=5).hits[0].scores.reason for q in ("check_seal",)] == ["defines check_seal"]
        assert not library.verify().problems
        found = [library.search(question, limit=5).hits for question in ("receipt for breakfast", "check_seal")]
        assert [[hit.chunk_id for hit in hits] for hits in found] == [
            [hit.chunk_id for hit in hits] for hits in expected
        ]
    with quick_library(tmp_path / "library", store=address, migrate=False) as library:
        assert library.documents()


def test_no_text_ever_reaches_the_parser_of_queries() -> None:
    """Raw text in to_tsquery is an error or an operator waiting to happen: terms are bound, or nothing is."""
    source = Path(__file__).parents[2] / "src" / "footnotes"
    files = [path for path in source.rglob("*") if path.suffix in (".py", ".sql")]
    call = re.compile(r"(?<![a-z_])to_tsquery\s*\(", re.IGNORECASE)
    assert files and call.search("SELECT to_tsquery('a')")
    assert [path.name for path in files if call.search(path.read_text(encoding="utf-8"))] == []
