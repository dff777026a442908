from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.library import Library
from footnotes.settings import Settings
from golden_sample import DOCUMENTS


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    documents = tmp_path / "documents"
    documents.mkdir()
    for name, text in DOCUMENTS.items():
        (documents / name).write_text(text)
    settings = Settings(library=str(tmp_path / "library"), embedder="hashing:64")
    with Library(tmp_path / "library", settings=settings) as opened:
        opened.add(documents)
        opened.settle()
        yield opened
