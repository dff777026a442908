from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.library import Library
from footnotes.settings import settings_from
from footnotes.testing.embedder import HashingEmbedder


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def counted(tmp_path: Path, embedder: HashingEmbedder) -> Iterator[Library]:
    with Library(tmp_path / "library", settings=settings_from({}), embedder=embedder) as library:
        yield library
