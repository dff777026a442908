"""The events of an answer that is being written, as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import provider as fake
from asked import opened
from footnotes.wire import to_json
from provider import ScriptedProvider


def test_events_have_a_shape_each_and_end_in_the_answer(tmp_path: Path, provider: ScriptedProvider) -> None:
    provider.default = fake.says("The cook is Maria Rossi [1]. Rent is free.")
    with opened(tmp_path, provider) as library:
        events = list(library.ask_stream("Who is the cook?", deep=True))
        shapes = [to_json(event) for event in events]
    assert {shape["type"] for shape in shapes} == {"step", "hits", "token", "citation", "usage", "done"}
    assert json.loads(json.dumps(shapes[-1]))["answer"]["unsupported"] == [[25, 38]]
    assert "".join(shape["text"] for shape in shapes if shape["type"] == "token") == shapes[-1]["answer"]["answer"]
