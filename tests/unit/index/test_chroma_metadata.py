from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.index.chroma.metadata import flattened, restored
from footnotes.types import JsonValue

pytestmark = pytest.mark.slow

TEXTS = st.text(st.characters(codec=None, categories=["L", "N", "P", "S", "Z", "C"]), max_size=8)
NAMES = TEXTS | st.sampled_from(["", ".", "a.b", "~", "~1", "#", "$and", "_seq", "chroma:document", "json:", "~002e"])
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS
    | st.sampled_from(["json:null", "json:", "", "null", "1", "\ud800"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def alike(one: object, other: object) -> bool:
    """Equal, and of the same kinds: 1, 1.0 and True are three things."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(alike, one, other))
    return one == other


@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_nothing_is_lost(metadata: dict[str, JsonValue]) -> None:
    flat = flattened(metadata)
    assert alike(restored(flat), metadata)
    for name, value in flat.items():
        assert name and not name.startswith(("#", "$", "_", "chroma:"))
        name.encode()
        assert isinstance(value, (str, int, float))
        assert not isinstance(value, int) or -(2**63) <= value < 2**63
        assert not isinstance(value, str) or value.encode() is not None


def test_it_stays_readable() -> None:
    metadata: dict[str, JsonValue] = {
        "title": "Leave",
        "year": 24,
        "by": {"name": "Ada"},
        "tags": ["a", "b"],
        "x": {},
    }
    assert flattened(metadata) == {
        "title": "Leave",
        "year": 24,
        "by.name": "Ada",
        "tags": 'json:["a", "b"]',
        "x": "json:{}",
    }


@pytest.mark.parametrize("value", [float("nan"), float("inf"), [float("nan")], {"a": {"b": [float("-inf")]}}])
def test_what_is_no_json_is_refused(value: JsonValue) -> None:
    with pytest.raises(ValueError, match="JSON"):
        flattened({"a": value})


def test_our_own_names_are_left_out() -> None:
    assert restored({"_document": 1, "_seq": 2, "_facets": ["a"], "a": 1}) == {"a": 1}
