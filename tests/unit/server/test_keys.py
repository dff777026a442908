"""Keys, rates and quotas, without a server."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from footnotes.cli import main
from footnotes.errors import RateLimited
from footnotes.server.database import FolderDatabase
from footnotes.server.keys import KNOWN_SECONDS, Keys
from footnotes.server.quota import Answers, Buckets, OverQuota
from serving import Running, serving


def test_a_key_is_shown_once_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    made = CliRunner().invoke(
        main, ["keys", "create", "-l", str(tmp_path), "--tenant", "acme", "--scope", "write", "--json"]
    )
    key = json.loads(made.output)["key"]
    secret = key.rpartition("_")[2] if key.count("_") == 2 else key.split("_", 2)[2]
    listed = CliRunner().invoke(main, ["keys", "list", "-l", str(tmp_path), "--json"]).output
    assert secret not in listed and json.loads(listed)["keys"][0]["tenant"] == "acme"
    assert not any(secret.encode() in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    database = FolderDatabase(tmp_path)
    assert Keys(database).caller(key).tenant == "acme"
    database.close()
    key_id = json.loads(listed)["keys"][0]["id"]
    assert CliRunner().invoke(main, ["keys", "revoke", key_id, "-l", str(tmp_path)]).exit_code == 0
    assert "revoked" in CliRunner().invoke(main, ["keys", "list", "-l", str(tmp_path)]).output


def test_keys_are_listed_in_columns_with_the_day_they_end(tmp_path: Path) -> None:
    run = CliRunner()
    for tenant, days in (("acme", "30"), ("local", "")):
        more = ["--days", days] if days else []
        run.invoke(main, ["keys", "create", "-l", str(tmp_path), "--tenant", tenant, "--scope", "read", *more])
    first, second = run.invoke(main, ["keys", "list", "-l", str(tmp_path)]).output.splitlines()
    assert first.index("  read") == second.index("  read")
    ends = json.loads(run.invoke(main, ["keys", "list", "-l", str(tmp_path), "--json"]).output)["keys"][0]["expires_at"]
    assert first.endswith(f"read  until {ends[:10]}") and second.endswith("read")


def test_a_bucket_refills_with_time() -> None:
    clock = [0.0]
    buckets = Buckets(rate=60, burst=2, clock=lambda: clock[0])
    buckets.take("a"), buckets.take("a"), buckets.take("b")
    with pytest.raises(RateLimited) as refused:
        buckets.take("a")
    assert refused.value.retry_after == pytest.approx(1.0)
    clock[0] = 1.0
    buckets.take("a")


def test_a_counter_that_fails_does_not_block(tmp_path: Path) -> None:
    database = FolderDatabase(tmp_path)
    answers = Answers(database, 1)
    answers.take("a")
    with pytest.raises(OverQuota):
        answers.take("a")
    database._writing.connection.execute("DROP TABLE answers")
    assert answers.take("a").limit == 1
    database.close()


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library", needs_keys=True) as running:
        yield running


def test_a_key_revoked_by_another_process_is_refused_soon(keyed: Running, tmp_path: Path) -> None:
    key, kept = keyed.app.state.keys.create("a")
    client = keyed.with_key(key)
    assert client.get("/v1/status").status_code == 200
    elsewhere = FolderDatabase(tmp_path / "library")
    Keys(elsewhere).revoke(kept.id)
    elsewhere.close()
    time.sleep(KNOWN_SECONDS)
    assert client.get("/v1/status").status_code == 401
