"""The events of an answer that is being written, as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing import provider as fake
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.provider import ScriptedProvider
from footnotes.wire import to_json

HANDBOOK = (
    "# Work\n\n## Notice\n\nThe notice period is three months.\n\n## Holidays\n\nStaff have 28 days of paid holiday.\n"
)


CANTEEN = "The canteen opens at noon. The cook is Maria Rossi. Maria Rossi was born in Bologna in 1971.\n"


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running


def opened(folder: Path, provider: ScriptedProvider | None = None, **changes: Any) -> Library:
    if provider is not None:
        changes = {"model": "openai:test", "openai_base_url": provider.base_url} | changes
    library = Library(folder / "library", settings=Settings(**changes), embedder=HashingEmbedder())
    library.add_text(HANDBOOK, filename="handbook.md")
    library.add_text(CANTEEN, filename="canteen.txt")
    return library


def test_events_have_a_shape_each_and_end_in_the_answer(tmp_path: Path, provider: ScriptedProvider) -> None:
    provider.default = fake.says("The cook is Maria Rossi [1]. Rent is free.")
    with opened(tmp_path, provider) as library:
        events = list(library.ask_stream("Who is the cook?", deep=True))
        shapes = [to_json(event) for event in events]
    assert {shape["type"] for shape in shapes} == {"step", "hits", "token", "citation", "usage", "done"}
    assert json.loads(json.dumps(shapes[-1]))["answer"]["unsupported"] == [[25, 38]]
    assert "".join(shape["text"] for shape in shapes if shape["type"] == "token") == shapes[-1]["answer"]["answer"]
