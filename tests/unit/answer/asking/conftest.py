from __future__ import annotations

from collections.abc import Iterator

import pytest

from provider import ScriptedProvider


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running
