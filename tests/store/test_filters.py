"""The same filter gives the same set everywhere: in SQL, in both legs, and to a plain Python oracle."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footnotes.engine import Library
from footnotes.errors import FilterError
from footnotes.store.facets import facet_text
from footnotes.types import AllOf, AnyOf, Condition, Filter, Not
from libraries import quick_library

METADATA: list[dict[str, Any]] = [
    {},
    {"year": 2019, "tag": "a"},
    {"year": 2020, "tag": ["a", "b"], "draft": True},
    {"year": 2021.5, "tag": "b", "draft": False},
    {"year": "2022", "author": {"name": "Ada", "born": 1815}},
    {"author' = 'a' OR '1'='1' --": "x", "tag": "c' OR 1=1"},
    {"date": "2024-03-01", "tag": "ü–日本"},
    {"date": "2025-01-31", "user_id": "somebody"},
]
KEYS = ["year", "tag", "draft", "author.name", "author' = 'a' OR '1'='1' --", "date", "user_id", "filename", "none"]
VALUES = [
    "a",
    "b",
    2019,
    2020,
    "2020",
    2021.5,
    True,
    False,
    "true",
    "Ada",
    "x",
    "c' OR 1=1",
    "2024-06-01",
    "3.txt",
    "%",
]


@pytest.fixture(scope="module")
def shelf(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Library]:
    with quick_library(tmp_path_factory.mktemp("shelf") / "library") as library:
        for number, metadata in enumerate(METADATA):
            text = f"common words here and number{number} besides"
            library.add_text(text, filename=f"{number}.txt", metadata=metadata)
        yield library


def flattened(number: int) -> dict[str, list[Any]]:
    fields: dict[str, list[Any]] = {"filename": [f"{number}.txt"]}
    for key, value in METADATA[number].items():
        if isinstance(value, dict):
            fields |= {f"{key}.{name}": [inner] for name, inner in value.items()}
        else:
            fields[key] = value if isinstance(value, list) else [value]
    return fields


def number_of(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except ValueError:
        return None


def passes(where: Filter, number: int) -> bool:
    if isinstance(where, AllOf):
        return all(passes(one, number) for one in where.filters)
    if isinstance(where, AnyOf):
        return any(passes(one, number) for one in where.filters)
    if isinstance(where, Not):
        return not passes(where.filter, number)
    values = flattened(number).get(where.key, [])
    if where.operator == "exists":
        return bool(values)
    if where.operator == "ne":
        return not any(facet_text(v) == facet_text(where.value) for v in values)
    return any(holds(where, value) for value in values)


def holds(where: Condition, value: Any) -> bool:
    if where.operator == "eq":
        return facet_text(value) == facet_text(where.value)
    if where.operator == "in":
        assert isinstance(where.value, list)
        return facet_text(value) in [facet_text(one) for one in where.value]
    if where.operator == "glob":
        return fnmatch.fnmatchcase(facet_text(value), facet_text(where.value))
    bound, own = number_of(where.value), number_of(value)
    left, right = (own, bound) if bound is not None else (facet_text(value), facet_text(where.value))
    if left is None:
        return False
    return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[where.operator]  # type: ignore[operator]


conditions = st.one_of(
    st.builds(Condition, st.sampled_from(KEYS), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]),
              st.sampled_from(VALUES)),
    st.builds(Condition, st.sampled_from(KEYS), st.just("in"), st.lists(st.sampled_from(VALUES), max_size=4)),
    st.builds(Condition, st.sampled_from(KEYS), st.just("glob"), st.sampled_from(["*", "?", "20*", "*.txt", "a*"])),
    st.builds(Condition, st.sampled_from(KEYS), st.just("exists")),
)  # fmt: skip
filters = st.recursive(
    conditions,
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


@settings(max_examples=150)
@given(where=filters)
def test_filters_mean_the_same_everywhere(shelf: Library, where: Filter) -> None:
    expected = {f"{number}.txt" for number in range(len(METADATA)) if passes(where, number)}
    assert {document.filename for document in shelf.documents(where=where)} == expected
    for mode in ("lexical", "dense", "hybrid"):
        hits = shelf.search("common words", where=where, mode=mode, limit=50).hits
        assert {hit.filename for hit in hits} == expected, mode


@pytest.mark.parametrize(
    "where",
    [
        AllOf(tuple(Condition("a", "eq", n) for n in range(1_000))),
        Condition("a", "in", list(range(1_000))),
        Condition("page", "eq", "first"),
        Condition("heading", "gt", "a"),
    ],
)
def test_filters_that_are_refused(shelf: Library, where: Filter) -> None:
    with pytest.raises(FilterError):
        shelf.search("common", where=where)


def test_pages_and_headings_filter_chunks(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library", chunker="section") as library:
        library.add_text("# Book\n\n## One\n\nApples grow.\n\n## Two\n\nApples fall.\n", filename="book.md")
        hits = library.search("apples", where="heading=Two", per_document=5).hits
        assert [hit.headings[-1] for hit in hits] == ["Two"]
        assert not library.search("apples", where="page=1").hits
