"""What is read of JSON that is damaged or made to take time."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.parametrize("number", ["1e99999999999999999999999", "1E-9999999999999999999999999"])
def test_a_number_that_cannot_be_read_is_damage(parse: Any, number: str) -> None:
    parsed = parse("a.json", f'[{{"name": "lamp"}}, {{"name": {number}}}]'.encode())
    assert parsed.text == "name: lamp"
    assert "damaged" in str(parsed.report.warnings)


def test_a_long_key_is_not_repeated_in_full(parse: Any) -> None:
    text = parse("a.json", json.dumps({"k" * 20_000: [1] * 1_000}).encode()).text
    assert text.startswith("kkk") and len(text) < 600_000


def test_long_keys_around_each_other_are_not_repeated_in_full(parse: Any) -> None:
    values: object = [1] * 1_000
    for _ in range(90):
        values = {"k" * 400: values}
    text = parse("a.json", json.dumps(values).encode()).text
    assert text.endswith("k: 1") and len(text) < 1_100_000
