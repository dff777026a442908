"""Bodies are counted before they are read, and large ones are read beside the event loop."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import RequestInvalid
from footnotes.server import strict
from serving import serving

JSON = {"Content-Type": "application/json"}


def test_large_bodies_are_read_beside_the_event_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, set[str]] = {}
    loads = json.loads

    def recorded(text: Any, **options: Any) -> Any:
        seen.setdefault(len(text), set()).add(threading.current_thread().name)
        return loads(text, **options)

    with serving(tmp_path / "library") as running:
        monkeypatch.setattr(strict.json, "loads", recorded)
        small, large = json.dumps({"query": "a"}), json.dumps({"query": "a" * 20_000, "where": {"a": ["b"] * 20_000}})
        running.client.post("/v1/search", content=small, headers=JSON)
        running.client.post("/v1/search", content=large, headers=JSON)
        monkeypatch.undo()
    loops = [name for name in seen[len(small)] if name.endswith("(_run)")]
    assert loops, "a small body needs no thread"
    assert seen[len(large)] and not any(name.endswith("(_run)") for name in seen[len(large)])


@pytest.mark.parametrize(
    ("written", "nodes"),
    [
        (b"1", 1),
        (b"[]", 1),
        (b"[1, 2]", 3),
        (b'{"a": 1, "b": [1, {}]}', 7),
        (b'"a,b,[c]"', 1),
        (b'["\\",", "\\\\", ","]', 4),
        (b'"' + b'\\"' * 100_000, 1),
        (b'"\\', 1),
    ],
)
def test_values_are_counted_without_reading_them(written: bytes, nodes: int) -> None:
    """An upper bound that is exact outside of strings, in time that grows with the length alone."""
    strict.check_nodes(written, nodes + 1)
    if nodes > 1:
        with pytest.raises(RequestInvalid):
            strict.check_nodes(written, nodes - 2)
