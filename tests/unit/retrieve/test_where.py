from __future__ import annotations

import pytest

from footnotes.errors import FilterError
from footnotes.retrieve.where import as_filter, from_json, parse_condition
from footnotes.types import AllOf, AnyOf, Condition, Not


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("year=2020", Condition("year", "eq", "2020")),
        ("year >= 2020", Condition("year", "gte", "2020")),
        ("year<2020", Condition("year", "lt", "2020")),
        ("tag!=draft", Condition("tag", "ne", "draft")),
        ("filename~*.md", Condition("filename", "glob", "*.md")),
        ("author", Condition("author", "exists")),
        ("formula=a=b", Condition("formula", "eq", "a=b")),
        ("empty=", Condition("empty", "eq", "")),
    ],
)
def test_conditions_as_written(written: str, expected: Condition) -> None:
    assert parse_condition(written) == expected


def test_several_conditions_must_all_hold() -> None:
    assert as_filter(["a=1", "b=2"]) == AllOf((Condition("a", "eq", "1"), Condition("b", "eq", "2")))
    assert as_filter([]) is None


def test_json_filters() -> None:
    found = from_json({"year": {"$gte": 2020, "$lt": 2024}, "$or": [{"tag": "a"}, {"tag": ["b", "c"]}]})
    assert found == AllOf(
        (
            AllOf((Condition("year", "gte", 2020), Condition("year", "lt", 2024))),
            AnyOf((Condition("tag", "eq", "a"), Condition("tag", "in", ["b", "c"]))),
        )
    )
    assert from_json({"$not": {"tag": "a"}}) == Not(Condition("tag", "eq", "a"))


@pytest.mark.parametrize(
    "wrong",
    [
        {"$where": 1},
        {"a": {"$regex": "x"}},
        {"a": None},
        {"a": {}},
        {"$or": {"a": 1}},
        {"a": {"$in": "x"}},
        {"a": [["nested"]]},
        {"": 1},
        {"x" * 300: 1},
    ],
)
def test_what_is_not_a_filter_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(FilterError):
        from_json(wrong)


def test_deep_nesting_is_refused() -> None:
    nested: dict[str, object] = {"a": 1}
    for _ in range(500):
        nested = {"$not": nested}
    with pytest.raises(FilterError):
        from_json(nested)
