"""What a dump leaves out is made again, and every part works with exactly the privileges it is said to need."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from clusters import Cluster, Clusters
from footnotes.errors import FootnotesError, StoreUnavailable
from libraries import HANDBOOK, TRAVEL, quick_library
from serving import serving

_ROLES = ("footnotes_tenant", "footnotes_service", "footnotes_reader")


def command(address: str, folder: Path, *words: str, **settings: str) -> Any:
    said = {f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, "FOOTNOTES_STORE": address, "FOOTNOTES_EMBEDDER": "hashing", **said}
    line = [sys.executable, "-m", "footnotes", *words, "--library", str(folder), "--json"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def filled(cluster: Cluster, folder: Path) -> str:
    """A database with two tenants' documents and the server's own tables."""
    address = cluster.create()
    command(address, folder, "migrate")
    for user, text in (("local", HANDBOOK), ("other", TRAVEL)):
        with quick_library(folder, store=address, user=user) as library:
            library.add_text(text, filename=f"{user}.md")
    return address


def check_whole(address: str, folder: Path) -> None:
    with quick_library(folder, store=address, migrate=False) as library:
        assert [hit.filename for hit in library.search("notice period").hits] == ["local.md"]
        assert library.add_text("A new text about okapis.", filename="new.md").status == "ready"
        assert library.verify().ok


def dumped(cluster: Cluster, folder: Path) -> Path:
    file = folder / "dump"
    cluster.program("pg_dump", "-Fc", "-f", str(file), cluster.address())
    return file


def test_a_dump_restored_into_a_fresh_cluster_is_whole_after_migrate(clusters: Clusters, tmp_path: Path) -> None:
    """Without the roles the restore complains of every grant and policy: `migrate` makes all of them."""
    first, second = clusters.make(), clusters.make()
    filled(first, tmp_path)
    file = dumped(first, clusters.folder())
    address = second.create()
    restored = second.program("pg_restore", "-d", address, str(file), check=False)
    assert restored.returncode and "does not exist" in restored.stdout, "the roles are not in a dump"
    with pytest.raises(StoreUnavailable, match="role footnotes_tenant"):
        quick_library(tmp_path, store=address, migrate=False)
    done = command(address, tmp_path, "migrate")
    assert "role footnotes_tenant" in done["repaired"] and "policy one_tenant on documents" in done["repaired"]
    assert command(address, tmp_path, "migrate")["repaired"] == []
    check_whole(address, tmp_path)
    assert command(address, tmp_path, "keys", "create")["key"]
    assert set(_described(first)) == set(_described(second))


def test_with_the_roles_a_dump_is_restored_without_a_complaint(clusters: Clusters, tmp_path: Path) -> None:
    first, second = clusters.make(), clusters.make()
    filled(first, tmp_path)
    file = dumped(first, clusters.folder())
    for role in _ROLES:
        second.execute(f"CREATE ROLE {role} NOLOGIN", name="postgres")
    address = second.create()
    second.program("pg_restore", "-d", address, "--exit-on-error", str(file))
    check_whole(address, tmp_path)


@pytest.mark.parametrize(
    "loss",
    [
        "DROP POLICY one_tenant ON documents",
        "ALTER TABLE document_chunks DISABLE ROW LEVEL SECURITY",
        "REVOKE ALL ON texts FROM footnotes_tenant",
        "DROP FUNCTION search_chunks",
        "DROP SCHEMA footnotes_server CASCADE",
    ],
)
def test_whatever_was_lost_is_made_again(clusters: Clusters, tmp_path: Path, loss: str) -> None:
    cluster = clusters.make()
    address = filled(cluster, tmp_path)
    before = _described(cluster)
    cluster.execute(loss)
    command(address, tmp_path, "migrate")
    assert _described(cluster) == before
    check_whole(address, tmp_path)


def test_every_part_works_with_the_least_privileges(clusters: Clusters, tmp_path: Path) -> None:
    """As docs/operating.md has it: an owner who migrates and works, a server, and one that only reads."""
    cluster = clusters.make()
    for statement in (
        "CREATE ROLE fn_owner LOGIN CREATEROLE",
        "CREATE ROLE fn_server LOGIN",
        "CREATE ROLE fn_reader LOGIN",
        "CREATE DATABASE footnotes OWNER fn_owner",
    ):
        cluster.execute(statement, name="postgres")
    cluster.execute("CREATE EXTENSION vector")
    owner, server, reader = (cluster.address(user=name) for name in ("fn_owner", "fn_server", "fn_reader"))
    command(owner, tmp_path, "migrate")
    cluster.execute("GRANT footnotes_service TO fn_server", user="fn_owner")
    cluster.execute("GRANT footnotes_reader TO fn_reader", user="fn_owner")

    with quick_library(tmp_path / "owner", store=owner) as library:
        assert library.add_text(HANDBOOK, filename="local.md").status == "ready"
        library.reindex(chunker="window", keep=True)
    with quick_library(tmp_path / "server", store=server, migrate=False) as library:
        assert library.search("notice period").hits and not library.ask("How long is the notice period?").abstained
        assert library.add_text(TRAVEL, filename="travel.md").status == "ready"
        library.reindex(chunker="section")
        library.delete(library.documents()[-1].id)
    key = command(server, tmp_path / "server", "keys", "create", migrate="false")["key"]
    for statement in ("DROP TABLE documents", "CREATE TABLE own (a int)", "ALTER TABLE documents ADD a int"):
        with pytest.raises(Exception, match=r"permission denied|must be owner"):
            cluster.execute(statement, user="fn_server")
    assert cluster.execute("SELECT count(*) FROM documents", user="fn_server")[0][0] == 0, "no tenant, no rows"
    with quick_library(tmp_path / "reader", store=reader, migrate=False, read_only=True) as library:
        assert library.search("notice period").hits and library.documents()
        with pytest.raises(FootnotesError):
            library.add_text("Not for readers.", filename="no.md")
    with serving(tmp_path / "reading", store=reader, migrate=False, read_only=True) as running:
        client = running.with_key(key)
        for path in ("/v1/models/connections", "/v1/sources", "/v1/questions"):
            assert client.get(path).status_code == 200, path
        asked = client.post("/v1/ask", json={"question": "How long is the notice period?"})
        assert asked.status_code == 200 and asked.json()["citations"]
    with pytest.raises(Exception, match="permission denied"):
        cluster.execute("DELETE FROM documents", user="fn_reader")


def _described(cluster: Cluster) -> list[str]:
    queries = (
        "SELECT tablename, policyname, roles::text, cmd, qual, with_check FROM pg_policies ORDER BY 1, 2",
        "SELECT relname, relrowsecurity, array(SELECT unnest(relacl)::text ORDER BY 1) FROM pg_class "
        "WHERE relnamespace IN ('public'::regnamespace, 'footnotes_server'::regnamespace) "
        "AND relkind IN ('r', 'v', 'S') ORDER BY 1, relnamespace::regnamespace::text",
        "SELECT proname, array(SELECT unnest(proacl)::text ORDER BY 1) FROM pg_proc "
        "WHERE pronamespace = 'public'::regnamespace AND proname IN ('search_chunks', 'living') ORDER BY 1",
    )
    return [str(tuple(row)) for query in queries for row in cluster.execute(query)]
