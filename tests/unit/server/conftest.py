"""One server for the tests that only read, and one for each test that changes things."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from libraries import HANDBOOK, TRAVEL
from serving import Running, serving


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library") as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the handbook and the travel policy."""
    with serving(tmp_path_factory.mktemp("serve") / "library") as running:
        running.add("handbook.md", HANDBOOK)
        running.add("travel.txt", TRAVEL, collection="trips")
        yield running
