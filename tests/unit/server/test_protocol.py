"""How many connections a server may have."""

from __future__ import annotations

import pytest

from footnotes.server.protocol import most_connections
from footnotes.settings import load


@pytest.mark.parametrize(
    ("settings", "descriptors", "expected"),
    [
        ({}, 65_536, (4_096, 2_048)),
        ({}, 256, (192, 96)),
        ({"serve_connections": 0}, 1_024, (768, 2_048)),
        ({"serve_address_connections": 0}, 256, (192, 0)),
    ],
)
def test_files_can_still_be_opened(settings: dict[str, int], descriptors: int, expected: tuple[int, int]) -> None:
    assert most_connections(load(None, **settings), descriptors) == expected
