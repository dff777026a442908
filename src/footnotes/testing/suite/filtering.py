"""The same filter selects the same set everywhere: in lists, in both legs, and in a plain Python oracle."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footnotes import plugins
from footnotes.errors import FilterError
from footnotes.library import Library
from footnotes.store.facets import facet_text
from footnotes.testing.suite.harness import StoreHarness
from footnotes.types import AllOf, AnyOf, Condition, Filter, JsonValue, Not, Part, Piece

METADATA: list[dict[str, JsonValue]] = [
    {},
    {"year": 2019, "tag": "a"},
    {"year": 2020, "tag": ["a", "b"], "draft": True},
    {"year": 2021.5, "tag": "b", "draft": False},
    {"year": "2022", "author": {"name": "Ada", "born": 1815}},
    {"author' = 'a' OR '1'='1' --": "x", "tag": "c' OR 1=1"},
    {"date": "2024-03-01", "tag": "ü–日本"},
    {"date": "2025-01-31", "user_id": "somebody"},
    {"tag": "[a]*?\\", "year": -1e300},
    {"tag": "A.b$|(c)", "year": 0},
]
LISTS: list[dict[str, JsonValue]] = [
    {},
    {"symbols": ["validate_token", "TokenError"], "section_header": "Tokens"},
    {"symbols": "a", "entry_points": ["GET /tokens"], "imports": ["a", "x"]},
    {"symbols": ["a", 2020, ["b"], None, True], "section_header": ["a", "b"]},
    {"symbols": {"a": "b"}, "entry_points": None},
    {"symbols": [], "section_header": "c' OR 1=1"},
    {"symbols": ["ü–日本", "TokenError.a"]},
    {"other": {"symbols": ["a"]}, "entry_points": ["x"]},
    {"symbols": ["[a]*?\\"], "section": "a"},
    {"symbol": ["a"], "entry_point": "a"},
]
"""Lists in a chunk's metadata: `symbol` tests `symbols`, `entry_point` tests `entry_points`, and so on."""
TESTED_AS = {"symbols": "symbol", "entry_points": "entry_point", "section_header": "section", "imports": "imports"}
METADATA[2]["symbol"] = ["AAPL", "TokenError"]
METADATA[3]["imports"] = ["b"]
"""A document's own metadata may have a field of that name too."""
KEYS = [
    *TESTED_AS.values(),
    "year",
    "tag",
    "draft",
    "author.name",
    "author' = 'a' OR '1'='1' --",
    "date",
    "user_id",
    "filename",
    "none",
]
VALUES = [
    "validate_token",
    "TokenError",
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
    "ü–日本",
    -5,
    1e200,
]
PATTERNS = [
    "Token*",
    "*",
    "?",
    "20*",
    "*.txt",
    "a*",
    "[ab]",
    "*日*",
    "*[\\]*",
    "A.b$|(c)",
    "[[]a[]]*",
    "?.t[wx]t",
]


def flattened(number: int) -> dict[str, list[JsonValue]]:
    fields: dict[str, list[JsonValue]] = {"filename": [f"{number}.txt"]}
    for key, value in METADATA[number].items():
        if isinstance(value, dict):
            fields |= {f"{key}.{name}": [inner] for name, inner in value.items()}
        else:
            fields[key] = value if isinstance(value, list) else [value]
    for name, key in TESTED_AS.items():
        values = LISTS[number].get(name)
        texts = [one for one in (values if isinstance(values, list) else [values]) if isinstance(one, str)]
        fields[key] = [*fields.get(key, []), *(_Listed(text) for text in texts)]
    return fields


class _Listed(str):
    """A text in a chunk's list: compared only as text, without an order."""


class _Lists:
    """A chunker that makes one chunk of a text, with metadata derived from the text's number."""

    name: ClassVar[str] = "lists"
    version: ClassVar[int] = 1
    options: ClassVar[dict[str, object]] = {}

    def split(self, part: Part) -> list[Piece]:
        found = re.search(r"number(\d+)", part.text)
        return [Piece(part.start, part.end, metadata=LISTS[int(found[1])] if found else {})]


def knows_lists(find: Callable[..., object]) -> Callable[..., object]:
    """`registry.find` with the chunker above."""
    return lambda kind, name: _Lists if (kind, name) == ("chunkers", "lists") else find(kind, name)


def number_of(value: JsonValue) -> float | None:
    try:
        return float(value) if isinstance(value, (int, float, str)) and not isinstance(value, bool) else None
    except ValueError:
        return None


def passes(where: Filter, number: int) -> bool:
    """The oracle: whether a document passes a filter."""
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


def holds(where: Condition, value: JsonValue) -> bool:
    if where.operator == "eq":
        return facet_text(value) == facet_text(where.value)
    if where.operator == "in":
        assert isinstance(where.value, list)
        return facet_text(value) in [facet_text(one) for one in where.value]
    if where.operator == "glob":
        return fnmatch.fnmatchcase(facet_text(value), facet_text(where.value))
    if isinstance(value, _Listed):
        return False
    bound, own = number_of(where.value), number_of(value)
    left, right = (own, bound) if bound is not None else (facet_text(value), facet_text(where.value))
    if left is None:
        return False
    return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[where.operator]  # type: ignore[operator]


conditions = st.one_of(
    st.builds(Condition, st.sampled_from(KEYS), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]),
              st.sampled_from(VALUES)),
    st.builds(Condition, st.sampled_from(KEYS), st.just("in"), st.lists(st.sampled_from(VALUES), max_size=4)),
    st.builds(Condition, st.sampled_from(KEYS), st.just("glob"), st.sampled_from(PATTERNS)),
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
REFUSED: list[Filter] = [
    AllOf(tuple(Condition("a", "eq", n) for n in range(1_000))),
    Condition("a", "in", list(range(1_000))),
    Condition("page", "eq", "first"),
    Condition("heading", "gt", "a"),
    Condition("a", "in", "not a list"),
]
_CHECKS = [HealthCheck.differing_executors, HealthCheck.function_scoped_fixture]


class Filtering:
    """Rule 4 of the architecture: a filter is applied inside every leg, and means the same in every store."""

    @pytest.fixture
    def filterable(self, harness: StoreHarness, monkeypatch: pytest.MonkeyPatch) -> Iterator[Library]:
        monkeypatch.setattr(plugins, "find", knows_lists(plugins.find))
        with harness.open(chunker="lists") as library:
            for number, metadata in enumerate(METADATA):
                text = f"common words here and number{number} besides"
                library.add_text(text, filename=f"{number}.txt", metadata=metadata)
            yield library

    @settings(max_examples=100, deadline=None, suppress_health_check=_CHECKS)
    @given(where=filters)
    def test_filters_mean_the_same_everywhere(self, filterable: Library, where: Filter) -> None:
        expected = {f"{number}.txt" for number in range(len(METADATA)) if passes(where, number)}
        assert {document.filename for document in filterable.documents(where=where)} == expected
        for mode in ("lexical", "dense", "hybrid"):
            hits = filterable.search("common words", where=where, mode=mode, limit=50).hits
            assert {hit.filename for hit in hits} == expected, mode

    def test_filters_that_are_refused(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.add_text("common words", filename="a.txt")
            for where in REFUSED:
                with pytest.raises(FilterError):
                    library.search("common", where=where)
                with pytest.raises(FilterError):
                    library.documents(where=where)

    def test_filter_words_and_globs_of_paths(self, filterable: Library) -> None:
        paths = ["src/a.py", "src/auth/token.py", "src/auth/deep/er.py", "tests/auth/token.py", "src/auth token.py"]
        for number, path in enumerate(paths):
            library_text = f"common words of file {number}"
            filterable.add_text(
                library_text, filename=f"p{number}", metadata={"path": path, "imports": [f"m{number}.x"]}
            )
        expected = {
            "path:src/**": [0, 1, 2, 4],
            "path:src/*": [0, 4],
            "path:src/auth/**": [1, 2],
            "path:src/auth/": [1, 2],
            "path:src/auth/*": [1],
            "path:**/token.py": [1, 3],
            "path:src/**/*.py": [0, 1, 2, 4],
            "path:src/a.py": [0],
            'path:"src/auth token.py"': [4],
            "imports:m1": [1],
            "imports:m1.x path:src/**": [1],
            "imports:m": [],
            "path:src/** filename!=p0": [1, 2, 4],
        }
        for where, numbers in expected.items():
            found = [document.filename for document in filterable.documents(where=where)]
            assert found == [f"p{number}" for number in numbers], where
            hits = filterable.search("common words", where=where, limit=20).hits
            assert {hit.filename for hit in hits} == set(found), where
            inside = where if "!=" not in where else ""
            assert {hit.filename for hit in filterable.search(f"common words {inside}", limit=50).hits} >= set(found)
        assert {hit.filename for hit in filterable.search("validate symbol:validate_token").hits} == {"1.txt"}
        assert filterable.search("common title:nothing tenant:b", limit=50).hits

    def test_pages_lines_and_headings_filter_chunks(self, harness: StoreHarness) -> None:
        with harness.open(chunker="section") as library:
            library.add_text("# Book\n\n## One\n\nApples grow.\n\n## Two\n\nApples fall.\n", filename="book.md")
            for where in ("heading=Two", "heading~T?o", {"heading": ["Two", "Three"]}):
                hits = library.search("apples", where=where, per_document=5).hits
                assert [hit.headings[-1] for hit in hits] == ["Two"], where
            assert not library.search("apples", where="page=1").hits
            assert library.documents(where="heading=Two") and not library.documents(where="heading=Three")
            lines = {hit.headings[-1]: hit.lines for hit in library.search("apples", per_document=5).hits}
            assert lines["Two"] is not None
            inside = library.search("apples", where=Condition("line", "eq", lines["Two"][1]), per_document=5).hits
            assert [hit.headings[-1] for hit in inside] == ["Two"]
            assert library.search("apples", where=Condition("line", "gt", 1_000_000)).hits == ()
            assert library.search("apples", where=Condition("page", "in", [])).hits == ()
