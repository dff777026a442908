"""The same filter selects the same set: the hits of a leg are those that a plain Python oracle allows."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from footnotes.library import Library
from footnotes.retrieve.where import as_filter
from footnotes.store.facets import BUILT_IN, LISTED, facet_text
from footnotes.testing.suite.filtering import conditions, holds
from footnotes.testing.suite.index import IndexUnderTest, chunk_ids, everything
from footnotes.testing.suite.index_texts import COLLECTIONS, OTHERS, fill, put, with_pages
from footnotes.types import AllOf, AnyOf, Chunk, Condition, Document, Filter, Not

_WRITTEN: list[Any] = [
    "year>=2020", "year<0", "year=2022", "year!=2022", "draft=true", "draft", "tag=a", "tag!=a", "tag~[ab]",
    "when>=2024", "when<2024-02-29", "price>0", "price=12.5", "price<=12.5", "tags=red", "tags=3", "tags=true",
    "tags~*e*", "nested.a.b=deep", "nested.list>1", "author.name=Ada", "long", "null", "empty", "filename~1?.md",
    "filename=pages.pdf", "mime=application/pdf", "collection=books", "collection!=books", "collection~*日*",
    "metadata.collection=books", "page=2", "page>=2", "page<2", "page!=1", "page", "heading=Part 1", "heading!=Part 1",
    "heading~Part [34]", "heading", "title=Book 2", "user_id=somebody", "none", "none!=x",
    {"tags": ["red", "x y"]}, {"heading": ["Part 0", "Part 9"]}, {"page": [1, 3]}, {"a\x1fb": "c\x1fd"},
    {"quote": "'; DROP TABLE chunks; --"}, {"long": "x" * 500}, {"author' = 'a' OR '1'='1' --": "x"},
    {"$or": [{"year": {"$gt": 2019}}, {"page": 1}], "$not": {"tag": "b"}},
    {"$and": [{"collection": "default"}, {"$or": [{"heading": "Part 2"}, {"draft": True}]}]},
    {"$not": {"$not": {"tags": "red"}}}, {"$and": []}, {"$or": []},
]  # fmt: skip
"""Typical filters, some of which match nothing and some everything."""

_numbers = st.sampled_from([0, 1, 2, 2.5, 3, 4, 99, -1])
_places = st.sampled_from([*COLLECTIONS, "nowhere", "b*"])
_headings = st.sampled_from(["Part 0", "Part 1", "Part 4", "Book 2", "Part 99"])
own_conditions = st.one_of(
    st.builds(Condition, st.just("page"), st.sampled_from(["eq", "ne", "gt", "gte", "lt", "lte"]), _numbers),
    st.builds(Condition, st.just("page"), st.just("in"), st.lists(_numbers, max_size=3)),
    st.builds(Condition, st.just("heading"), st.sampled_from(["eq", "ne"]), _headings),
    st.builds(Condition, st.just("heading"), st.just("in"), st.lists(_headings, max_size=3)),
    st.builds(Condition, st.just("heading"), st.just("glob"), st.sampled_from(["Part*", "*[12]", "?", "B*"])),
    st.builds(Condition, st.sampled_from(["page", "heading", "tags", "collection"]), st.just("exists")),
    st.builds(Condition, st.just("collection"), st.sampled_from(["eq", "ne", "glob"]), _places),
    st.builds(Condition, st.just("collection"), st.just("in"), st.lists(_places, max_size=3)),
    st.builds(Condition, st.just("tags"), st.sampled_from(["eq", "ne"]), st.sampled_from(["red", "3", True, "ẞ"])),
    st.builds(Condition, st.just("price"), st.sampled_from(["gt", "gte", "lt", "lte", "eq"]),
              st.sampled_from([12.5, 0, "-0.5"])),
)  # fmt: skip
filters = st.recursive(
    st.one_of(own_conditions, conditions),
    lambda inner: st.one_of(
        st.builds(AllOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(AnyOf, st.lists(inner, max_size=3).map(tuple)),
        st.builds(Not, inner),
    ),
    max_leaves=6,
)


class Oracle:
    """The documents and chunks of a tenant, and which of them pass a filter."""

    def __init__(self, library: Library) -> None:
        self._chunks = [(document, chunk) for document in library.documents() for chunk in library.chunks(document.id)]
        self._fields = {document.id: _fields(document) for document in library.documents()}

    def passing(self, where: Filter | None) -> set[str]:
        return {chunk.id for document, chunk in self._chunks if where is None or self._passes(where, document, chunk)}

    def _passes(self, where: Filter, document: Document, chunk: Chunk) -> bool:
        if isinstance(where, AllOf):
            return all(self._passes(one, document, chunk) for one in where.filters)
        if isinstance(where, AnyOf):
            return any(self._passes(one, document, chunk) for one in where.filters)
        if isinstance(where, Not):
            return not self._passes(where.filter, document, chunk)
        if where.key == "page":
            return _on_page(where, chunk.pages)
        if where.key == "heading":
            return _under(where, chunk.headings)
        assert where.key not in LISTED or not any(name in chunk.metadata for name in LISTED.values())
        values = self._fields[document.id].get(where.key, [])
        if where.operator == "exists":
            return bool(values)
        if where.operator == "ne":
            return not any(facet_text(value) == facet_text(where.value) for value in values)
        return any(holds(where, value) for value in values)


def _fields(document: Document) -> dict[str, list[Any]]:
    own = {"collection": document.collection, "filename": document.filename, "source": document.source,
           "mime": document.mime, "document_id": document.id, "title": document.title}  # fmt: skip
    fields: dict[str, list[object]] = {key: [value] for key, value in own.items()}
    for key, value in document.metadata.items():
        _flatten(f"metadata.{key}" if key in BUILT_IN else key, value, fields)
    return fields


def _flatten(key: str, value: object, fields: dict[str, list[object]]) -> None:
    if isinstance(value, dict):
        for name, inner in value.items():
            _flatten(f"{key}.{name}", inner, fields)
    elif isinstance(value, list):
        fields.setdefault(key, []).extend(value)
    elif value is not None:
        fields.setdefault(key, []).append(value)


def _on_page(where: Condition, pages: tuple[int, int] | None) -> bool:
    if where.operator == "in":
        assert isinstance(where.value, list)
        return any(_on_page(Condition("page", "eq", value), pages) for value in where.value)
    if pages is None:
        return where.operator == "ne"
    if where.operator == "exists":
        return True
    first, last, number = *pages, float(str(where.value))
    return {"eq": first <= number <= last, "ne": not first <= number <= last, "gt": last > number,
            "gte": last >= number, "lt": first < number, "lte": first <= number}[where.operator]  # fmt: skip


def _under(where: Condition, headings: tuple[str, ...]) -> bool:
    if where.operator == "exists":
        return bool(headings)
    if where.operator == "glob":
        return any(fnmatch.fnmatchcase(heading, str(where.value)) for heading in headings)
    if where.operator == "in":
        assert isinstance(where.value, list)
        return any(heading in where.value for heading in headings)
    return (where.value in headings) == (where.operator == "eq")


class SameSet:
    """A filter has the same meaning in every index."""

    def test_a_filter_gives_the_set_it_should(self, index: IndexUnderTest, tmp_path: Path) -> None:
        for number, user in enumerate(OTHERS):
            with index.open(user, chunker="section") as other:
                put(other, 1_000 + number, metadata={"year": 2020, "tags": ["red"]})
        with index.open(chunker="section") as library:
            fill(library, tmp_path / "texts")
            library.add_text(with_pages(), filename="pages.pdf", metadata={"year": 2021})
            oracle = Oracle(library)
            assert everything(library, index.leg) == oracle.passing(None) == chunk_ids(library)
            self._check_written(index, library, oracle)
            self._check_any(index, library, oracle)
        self._check_others(index)

    @staticmethod
    def _check_written(index: IndexUnderTest, library: Library, oracle: Oracle) -> None:
        sizes = set()
        for text in _WRITTEN:
            expected = oracle.passing(as_filter(text))
            assert everything(library, index.leg, text) == expected, text
            sizes.add(len(expected))
        assert len(sizes) > 15, "the filters of this test must tell things apart"

    @staticmethod
    def _check_any(index: IndexUnderTest, library: Library, oracle: Oracle) -> None:
        @settings(max_examples=40, deadline=None, database=None)
        @given(where=filters)
        def check(where: Filter) -> None:
            assert everything(library, index.leg, where) == oracle.passing(where)

        check()

    @staticmethod
    def _check_others(index: IndexUnderTest) -> None:
        """Another tenant's documents pass the same filters, and only that tenant sees them."""
        for user in OTHERS:
            with index.open(user, chunker="section") as other:
                for where in (None, "year=2020", "tags=red", "none!=x", "user_id!=x", "heading", {"$not": {"year": 1}}):
                    found = everything(other, index.leg, where)
                    assert found == Oracle(other).passing(as_filter(where)) == chunk_ids(other), where
