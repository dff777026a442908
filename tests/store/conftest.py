"""The same documents in a folder and in PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library, words
from postgres import PostgresServer

TEXTS: dict[str, str | bytes] = {
    "handbook.md": HANDBOOK,
    "travel.txt": TRAVEL,
    "utf16.txt": "Ünicode in sixteen bits, 日本語も。".encode("utf-16"),
    "latin.txt": "Déjà vu à la carte, in an old encoding.".encode("latin-1"),
    "broken.txt": b"broken \xff\xfe\xfa bytes, and a NUL \x00 in between, about trains",
    "surrogate.txt": "a lone \ud800 surrogate, about hotels".encode("utf-8", "surrogatepass"),
    "long.txt": "\n\n".join(words(number) for number in range(40)),
    "code.py": "def train(hotel):\n    return hotel.leave\n",
}


@pytest.fixture(scope="module")
def both(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Library, Library]]:
    folder = tmp_path_factory.mktemp("both")
    with (
        quick_library(folder / "embedded") as embedded,
        quick_library(folder / "shared", store=postgres.fresh()) as shared,
    ):
        for number, (name, text) in enumerate(TEXTS.items()):
            said: Any = {"number": number, "name\x00": "va\x00lue", "tags": [name, "all"]}
            added = [library.add_text(text, filename=name, metadata=said) for library in (embedded, shared)]
            assert added[0] == added[1]
        yield embedded, shared
