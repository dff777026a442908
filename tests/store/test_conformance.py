"""The suite that ships, run over every store by name."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.register_assert_rewrite("footnotes.testing.suite")

from footnotes.testing.store_suite import StoreHarness, StoreSuite  # noqa: E402
from postgres import PostgresServer  # noqa: E402


class PostgresHarness(StoreHarness):
    """A harness whose residue is looked for in the files of the database too."""

    server: PostgresServer

    def residue(self, canary: str) -> list[str]:
        address = self.settings["store"]
        folder = self.server.files(address)
        forms = [canary.encode(), canary[:-1].encode()]
        found = [path.name for path in folder.iterdir() if any(form in path.read_bytes() for form in forms)]
        names = [self._relation(name) for name in found]
        return [*StoreHarness.residue(self, canary), *names]

    def _relation(self, name: str) -> str:
        number = name.partition("_")[0].partition(".")[0]
        query = "SELECT relname FROM pg_class WHERE pg_relation_filenode(oid) = $1"
        rows = self.server.execute(query, int(number), address=self.settings["store"]) if number.isdigit() else []
        return f"{name} {rows[0][0] if rows else ''}"


class TestSqlite(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path) -> StoreHarness:
        return StoreHarness(tmp_path / "library")


class TestPostgres(StoreSuite):
    @pytest.fixture
    def harness(self, tmp_path: Path, postgres: PostgresServer) -> StoreHarness:
        harness = PostgresHarness(tmp_path / "library", {"store": postgres.fresh()})
        harness.server = postgres
        return harness
