"""Sites, feeds, APIs and databases keep the promises a folder has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest

import source_sites as sites
from footnotes.testing.source_suite import SourcePlace, SourceSuite
from postgres import PostgresServer
from web_site import Site

PLACES = [sites.CrawlPlace, sites.SitemapPlace, sites.FeedPlace, sites.GitHubPlace]


class TestSites(SourceSuite):
    @pytest.fixture(params=PLACES, ids=lambda place: place.__name__)
    def place(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[SourcePlace]:
        monkeypatch.setenv("TEST_TOKEN", sites.GitHubPlace.secret)
        with Site() as site:
            yield request.param(site)


class PostgresPlace(SourcePlace):
    """A table of a PostgreSQL."""

    renames = False
    secret = "pg-s3cret-of-the-hive"

    def __init__(self, server: PostgresServer) -> None:
        self._server, self._where = server, server.empty()
        self.options = {"table": "notes", "id": "name", "password": "env:TEST_PASSWORD"}
        self._run("CREATE TABLE notes (name text PRIMARY KEY, note text, taken date DEFAULT '2026-01-02')")
        parts = urlsplit(self._where)
        where = parts.hostname or ""
        port = f":{parts.port}" if parts.port else ""
        self.address = f"sql+postgresql://{parts.username}@{where}{port}{parts.path}?{parts.query}"

    def _run(self, statement: str, *values: str) -> None:
        self._server.execute(statement, *values, address=self._where)

    def put(self, name: str, text: str) -> None:
        upsert = "INSERT INTO notes VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET note = excluded.note"
        self._run(upsert, name, text)

    def remove(self, name: str) -> None:
        self._run("DELETE FROM notes WHERE name = $1", name)

    @contextmanager
    def away(self) -> Iterator[None]:
        self._run("ALTER TABLE notes RENAME TO hidden")
        yield
        self._run("ALTER TABLE hidden RENAME TO notes")


class TestPostgres(SourceSuite):
    @pytest.fixture
    def place(self, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> SourcePlace:
        monkeypatch.setenv("TEST_PASSWORD", PostgresPlace.secret)
        return PostgresPlace(postgres)
