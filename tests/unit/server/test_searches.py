"""Searches in processes of their own give what searches in the server give, also when a process dies."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from libraries import HANDBOOK
from serving import Running, serving


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("searched") / "library", needs_keys=True, serve_workers=2) as running:
        wait_for_processes(running)
        yield running


def wait_for_processes(running: Running) -> list[int]:
    """The processes, once both have started."""
    until = time.monotonic() + 120
    while len(pids := running.app.state.searches.pids) < 2:
        assert time.monotonic() < until, pids
        time.sleep(0.05)
    return list(pids)


@pytest.fixture
def client(running: Running, request: pytest.FixtureRequest) -> httpx.Client:
    """A tenant of the test's own."""
    key, _ = running.app.state.keys.create(request.node.name[:40], scopes=("read", "write"))
    return running.with_key(key)


def names(client: httpx.Client, query: str) -> list[str]:
    answer = client.post("/v1/search", json={"query": query})
    assert answer.status_code == 200, answer.text
    return [hit["filename"] for hit in answer.json()["hits"]]


def test_they_see_what_is_added_and_deleted_and_nothing_of_other_tenants(
    running: Running, client: httpx.Client
) -> None:
    other, _ = running.app.state.keys.create("other", scopes=("read",))
    assert names(client, "notice period") == []
    made = running.add("handbook.md", HANDBOOK, client)
    for _ in range(4):  # each of the processes is asked
        assert names(client, "notice period") == ["handbook.md"]
        assert names(running.with_key(other), "notice period") == []
    assert client.delete(f"/v1/documents/{made}").status_code == 200
    for _ in range(4):
        assert names(client, "notice period") == []


def test_a_process_that_is_killed_is_replaced(running: Running, client: httpx.Client) -> None:
    running.add("handbook.md", HANDBOOK, client)
    before = wait_for_processes(running)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    for _ in range(4):
        assert names(client, "notice period") == ["handbook.md"], "the server searches meanwhile"
    after = wait_for_processes(running)
    assert not set(before) & set(after)
    assert names(client, "notice period") == ["handbook.md"]


def test_errors_come_as_they_are(client: httpx.Client) -> None:
    assert client.post("/v1/search", json={"query": " "}).json()["error"]["code"] == "query_empty"


def test_searches_are_counted(running: Running, client: httpx.Client) -> None:
    """What a process embeds and how long it searches is in the metrics of the server."""
    metrics = running.app.state.metrics.registry
    read = metrics.get_sample_value
    before = read("footnotes_search_seconds_count") or 0
    running.add("handbook.md", HANDBOOK, client)
    names(client, "notice period in the metrics")
    assert (read("footnotes_search_seconds_count") or 0) == before + 1


def test_without_processes_the_server_searches_itself(tmp_path: Path) -> None:
    with serving(tmp_path / "library") as running:
        running.add("handbook.md", HANDBOOK)
        assert running.app.state.searches.pids == []
        assert names(running.client, "notice period") == ["handbook.md"]
