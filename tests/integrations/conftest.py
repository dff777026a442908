"""These tests need LangChain, LlamaIndex and Haystack: `make try-integrations` installs them beside and runs them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

import pytest

from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library

collect_ignore_glob = [] if find_spec("langchain_tests") else ["test_*.py"]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    """The handbook and the travel policy, to be read."""
    with quick_library(tmp_path_factory.mktemp("integrations") / "library") as opened:
        opened.add_text(HANDBOOK, filename="handbook.md", metadata={"year": 2024})
        opened.add_text(TRAVEL, filename="travel.txt", collection="trips", metadata={"year": 2025})
        opened.add_text("Bees dance to say where flowers are.", filename="bees.txt", collection="trips")
        yield opened
