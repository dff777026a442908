"""A streaming replica: it serves searches and answers, refuses changes, and loses nothing when it is promoted."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import pytest

from clusters import Cluster, Clusters
from footnotes.errors import FootnotesError, StoreReadOnly
from libraries import HANDBOOK, TRAVEL, quick_library
from serving import serving


def until(condition: object, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def test_a_server_on_a_replica_searches_and_answers_and_refuses_changes(clusters: Clusters, tmp_path: Path) -> None:
    primary = clusters.make()
    address = primary.create()
    with serving(tmp_path / "primary", store=address) as server:
        server.add("handbook.md", HANDBOOK)
        replica = clusters.replica(primary)
        reading = {"store": replica.address(), "read_only": True, "primary": "https://primary.example"}
        with serving(tmp_path / "replica", **reading) as reader:
            until(lambda: reader.client.get("/readyz").status_code == 200)
            assert reader.client.post("/v1/search", json={"query": "notice period"}).json()["hits"]
            answer = reader.client.post("/v1/ask", json={"question": "How long is the notice period?"})
            assert answer.status_code == 200, answer.text
            for method, path, given in (
                ("POST", "/v1/documents", {"files": {"file": ("a.md", b"text")}}),
                ("POST", "/rag/index", {"json": {"filename": "a.md", "content": "text"}}),
                ("POST", "/v1/keys", {"json": {"name": "n", "scopes": ["read"]}}),
            ):
                refused = reader.client.request(method, path, **given)
                assert refused.status_code == 503, (path, refused.text)
                assert refused.json()["error"]["code"] == "store_read_only"
                assert "https://primary.example" in refused.json()["error"]["message"]
            server.add("travel.md", TRAVEL)
            until(lambda: reader.client.post("/v1/search", json={"query": "breakfast receipt"}).json()["hits"])
    with quick_library(tmp_path / "third", store=replica.address(), read_only=True) as library:
        with pytest.raises(StoreReadOnly):
            library.add_text("text", filename="a.md")
        with pytest.raises(StoreReadOnly):
            library.set_collection("new", chunker="window")


def test_nothing_acknowledged_is_lost_when_a_replica_is_promoted_under_load(clusters: Clusters, tmp_path: Path) -> None:
    """The primary waits for its replica before it acknowledges, and is killed in the middle of writing."""
    primary = clusters.make()
    address = primary.create()
    with quick_library(tmp_path / "first", store=address) as library:
        library.add_text(HANDBOOK, filename="handbook.md")
    replica = clusters.replica(primary)
    until(lambda: _is_streaming(primary))
    primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'", name="postgres")
    primary.execute("ALTER SYSTEM SET synchronous_commit = 'on'", name="postgres")
    primary.execute("SELECT pg_reload_conf()", name="postgres")
    until(lambda: _is_streaming(primary, state="sync"))
    acknowledged: list[str] = []
    with quick_library(tmp_path / "writer", store=address) as library:
        writing = threading.Thread(target=_write, args=(library, acknowledged))
        writing.start()
        until(lambda: len(acknowledged) >= 10)
        primary.stop("immediate")
        replica.promote()
        writing.join(60)
    with quick_library(tmp_path / "after", store=replica.address()) as library:
        found = {document.id for document in library.documents()}
        assert len(acknowledged) >= 10 and set(acknowledged) <= found
        assert library.verify().ok
        assert library.add_text("After the promotion.", filename="after.md").status == "ready"


def _write(library: object, acknowledged: list[str]) -> None:
    for number in range(10_000):
        try:
            added = library.add_text(f"Entry number {number} of the log.", filename=f"{number}.md")  # type: ignore[attr-defined]
        except FootnotesError:
            return
        acknowledged.append(added.document_id)


def _is_streaming(primary: Cluster, state: str = "") -> bool:
    rows = primary.execute("SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'", name="postgres")
    return any(not state or row[0] == state for row in rows)
