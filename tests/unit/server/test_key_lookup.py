"""Keys are looked up beside the event loop, and what is remembered of them does not outlive their revocation."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from serving import Running, serving


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library", needs_keys=True) as running:
        yield running


@pytest.mark.parametrize("needs_keys", [True, False])
def test_the_event_loop_never_waits_for_a_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, needs_keys: bool
) -> None:
    asked: list[tuple[str, str]] = []
    with serving(tmp_path / "library", needs_keys=needs_keys) as running:
        key, _ = running.app.state.keys.create("a", scopes=("read",)) if needs_keys else ("", None)
        read = running.app.state.database.all

        def recorded(query: str, **values: Any) -> Any:
            asked.append((threading.current_thread().name, query))
            return read(query, **values)

        monkeypatch.setattr(running.app.state.database, "all", recorded)
        client = running.with_key(key) if needs_keys else running.client
        for _ in range(3):
            assert client.post("/v1/search", json={"query": "storks"}).status_code == 200
        if needs_keys:
            assert running.with_key("fn_wrong_key").get("/v1/status").status_code == 401
        monkeypatch.undo()
    assert asked and not [query for thread, query in asked if thread.endswith("(_run)")]
    lookups = [query for _, query in asked if query == "find_key"]
    assert not needs_keys or len(lookups) < 4, "a key that was just looked up is known"


def test_a_key_revoked_here_is_refused_at_once(keyed: Running) -> None:
    key, kept = keyed.app.state.keys.create("a")
    client = keyed.with_key(key)
    assert client.get("/v1/status").status_code == 200
    keyed.app.state.keys.revoke(kept.id)
    assert client.get("/v1/status").status_code == 401
