"""Row-level security: with the tenant left out of a query on purpose, nobody else's rows are seen or touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import StoreError
from footnotes.library import Library
from footnotes.store.conversations import NewTurn, TurnUpdate
from libraries import quick_library
from postgres import PostgresServer

OF_TENANTS = (
    "users", "collections", "generations", "documents", "derived", "sources", "facets", "versions", "parts",
    "document_chunks", "statistics", "sketches", "sketch_bands", "jobs", "conversations", "turns", "turn_documents",
)  # fmt: skip


@pytest.fixture
def two(postgres: PostgresServer, tmp_path: Path) -> Any:
    address = postgres.fresh()
    file = tmp_path / "ada.txt"
    file.write_text("Ada's own text. " + " ".join(f"word{n * 7919 % 1009}" for n in range(300)))
    with (
        quick_library(tmp_path / "library", store=address, user="ada") as ada,
        quick_library(tmp_path / "library", store=address, user="ben") as ben,
    ):
        ada.add(file)
        ben.add_text("Ben's text.", filename="ben.txt")
        for library, name in ((ada, "ada"), (ben, "ben")):
            (document,) = library.documents()
            library.conversations.ask(name, name, NewTurn("What?", {}, "h", most=9), begins=True)
            update = TurnUpdate("asking", "So", documents=[document.id])
            library.conversations.update(name, (name, 1), update, holder="h")
        yield address, ada, ben


def store_of(library: Library) -> Any:
    return library._store


@pytest.mark.parametrize("table", OF_TENANTS)
def test_without_a_where_clause_only_own_rows_are_seen(two: Any, postgres: PostgresServer, table: str) -> None:
    address, _, ben = two
    everything = postgres.execute(f"SELECT user_id FROM {table}", address=address)
    assert "ada" in {row[0] for row in everything}, "the owner sees them: there is something to be hidden"
    with store_of(ben).database.reading("ben") as connection:
        assert {row[0] for row in connection.fetch(f"SELECT user_id FROM {table}")} <= {"ben"}
    with store_of(ben).database.reading("nobody") as connection:
        assert connection.fetch(f"SELECT user_id FROM {table}") == []


def test_nothing_of_another_is_written_or_removed(two: Any) -> None:
    _, ada, ben = two
    with store_of(ben).database.transaction("ben") as connection:
        assert connection.execute("UPDATE documents SET title = 'stolen' WHERE user_id = 'ada'") == 0
        assert connection.execute("DELETE FROM documents WHERE user_id <> 'ben'") == 0
    for statement in (
        "INSERT INTO users (user_id) VALUES ('eve')",
        "UPDATE documents SET user_id = 'ada'",
        "INSERT INTO jobs (user_id, kind, source, request, stage) VALUES ('ada', 'add', '', '{}', 'queued')",
    ):
        with pytest.raises(StoreError, match="row-level security"), store_of(ben).database.transaction("ben") as one:
            one.execute(statement)
    for statement in ("DROP TABLE documents", "SELECT * FROM footnotes_schema", "TRUNCATE jobs"):
        with pytest.raises(StoreError), store_of(ben).database.transaction("ben") as one:
            one.execute(statement)
    assert ada.verify().ok and ben.verify().ok


def test_the_search_of_another_tenants_generation_finds_nothing(two: Any) -> None:
    """The function that searches is the owner's: it has to test the tenant itself."""
    _, ada, ben = two
    from footnotes.store.postgres.view import PostgresSearchView, Served
    from footnotes.store.views import Question

    served = Served(store_of(ada).generations.serving("ada"))
    for user, expected in (("ada", True), ("ben", False)):
        view = PostgresSearchView(store_of(ben).database, user, served, lambda *_: None, trial=True)
        question = Question(terms={"text": 1.0, "own": 1.0}, vector=None, depth=10, reading=10, per_document=3)
        assert bool(view.candidates(question).keys) is expected


def test_a_connection_never_keeps_the_tenant_of_whoever_had_it_before(two: Any) -> None:
    _, _, ben = two
    database = store_of(ben).database
    for user in ("ada", "ben", "ada", "nobody", "ben"):
        with database.reading(user) as connection:
            assert {row[0] for row in connection.fetch("SELECT user_id FROM documents")} <= {user}
