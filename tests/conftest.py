"""Settings of all tests. A busy machine must not fail a test: no deadlines."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))

from chroma import chroma_server  # noqa: F401
from clusters import clusters  # noqa: F401
from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library, write
from postgres import postgres  # noqa: F401
from qdrant import qdrant_server  # noqa: F401

settings.register_profile("footnotes", deadline=None, max_examples=60, print_blob=True)
settings.load_profile("footnotes")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Browser tests come last: playwright's event loop runs in this thread until the end, and forbids any other."""
    items.sort(key=lambda item: "tests/page/" in item.nodeid)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads or writes the library of whoever runs it."""
    monkeypatch.setenv("FOOTNOTES_LIBRARY", str(tmp_path_factory.mktemp("home") / "library"))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    """An empty library with a quick embedder."""
    with quick_library(tmp_path / "library") as opened:
        yield opened


@pytest.fixture
def filled(library: Library, tmp_path: Path) -> Library:
    """A library with the handbook and the travel policy."""
    library.add(write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL))
    return library
