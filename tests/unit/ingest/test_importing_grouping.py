"""Records to documents: order, spans, pages, headings, and what is said of whom."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footnotes.ingest.importing import importer
from footnotes.ingest.importing.fields import filename_of, group_of, headings_of, order_of, text_and_metadata
from footnotes.ingest.importing.importer import BETWEEN, GroupedPart, Outline, group_records, outline_records
from footnotes.ingest.importing.records import SourceRecord
from footnotes.ingest.importing.spool import NewRecord, Spool, SpooledDocument
from footnotes.text.tokens import count_tokens

Made = list[tuple[SpooledDocument, Outline, list[GroupedPart]]]


def made_of(records: list[tuple[str, dict[str, Any]]], group_by: str = "") -> Made:
    """Records through the spool, as an import sends them."""
    with tempfile.TemporaryDirectory() as folder, Spool(Path(folder)) as spool:
        for number, (text, metadata) in enumerate(records):
            packed = json.dumps(metadata, sort_keys=True)
            group, order = group_of(metadata, group_by), order_of(metadata)
            spool.put(NewRecord(f"r{number}", text, packed, count_tokens(text), group, order))
        spool.complete()
        found: Made = []
        for document in spool.documents():
            outline = outline_records(spool.records_of(document), document.group)
            found.append((document, outline, list(group_records(spool.records_of(document), outline))))
        return found


def texts_in_order(records: list[tuple[str, dict[str, Any]]], group_by: str = "") -> list[list[str]]:
    return [[record.text for part in parts for _, record in part.chunks] for _, _, parts in made_of(records, group_by)]


texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
metadatas = st.fixed_dictionaries(
    {},
    optional={
        "source": st.sampled_from(["a.md", "b/c.pdf", "https://example.com/x/", ""]),
        "page": st.integers(0, 3),
        "chunk_index": st.integers(0, 5) | st.just("3"),
        "start_index": st.integers(0, 100),
        "k": st.sampled_from([1, True, 1.0, None, "1", [1], {"deep": 1}]),
        "Header 1": st.text(max_size=5),
    },
)


@given(st.lists(st.tuples(texts, metadatas), min_size=1, max_size=12), st.integers(1, 60))
@settings(max_examples=80)
def test_every_record_is_exactly_one_chunk_of_one_document(
    records: list[tuple[str, dict[str, Any]]], part_characters: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importer, "PART_CHARACTERS", part_characters)
        documents = made_of(records)
    expected = sorted((text, json.dumps(metadata, sort_keys=True)) for text, metadata in records)
    found = []
    for document, outline, parts in documents:
        canonical = "".join(part.part.text for part in parts)
        chunks = [pair for part in parts for pair in part.chunks]
        assert canonical == BETWEEN.join(record.text for _, record in chunks)
        assert len(canonical) == outline.characters and len(canonical.encode()) == outline.size
        at = 0
        for part in parts:  # parts follow each other without gap, and no chunk crosses one
            assert part.part.start == at
            assert all(at <= chunk.start and chunk.end <= part.part.end for chunk, _ in part.chunks)
            at = part.part.end
        for place, (chunk, record) in enumerate(chunks):
            assert chunk.index == place and canonical[chunk.start : chunk.end] == record.text
            restored = {**outline.shared, **chunk.metadata}
            found.append((record.text, json.dumps(restored, sort_keys=True)))
        assert len({chunk.id for chunk, _ in chunks}) == len(chunks) == outline.records
        assert document.group is not None or outline.records == 1
    assert sorted(found) == expected


@given(st.lists(st.tuples(texts, metadatas), min_size=1, max_size=8))
@settings(max_examples=40)
def test_ids_are_functions_of_content(records: list[tuple[str, dict[str, Any]]]) -> None:
    first, again = made_of(records), made_of(records)
    assert [outline for _, outline, _ in first] == [outline for _, outline, _ in again]
    other = made_of([(records[0][0] + "x", records[0][1]), *records[1:]])
    assert {outline.file_hash for _, outline, _ in first} != {outline.file_hash for _, outline, _ in other}


@pytest.mark.parametrize(
    "places",
    [
        [{"chunk_index": number} for number in (2, 0, 11, 1)],
        [{"chunk_index": str(number)} for number in (2, 0, 11, 1)],
        [{"page": page, "start_index": start} for page, start in ((1, 5), (0, 9), (2, 0), (1, 1))],
        [{"loc": {"pageNumber": p, "lines": {"from": n}}} for p, n in ((2, 7), (1, 90), (3, 1), (2, 3))],
        [{"loc": {"lines": {"from": number, "to": number + 2}}} for number in (20, 3, 100, 9)],
        [{"_node_content": json.dumps({"start_char_idx": number, "text": ""})} for number in (20, 3, 100, 9)],
    ],
)
def test_records_stand_in_the_order_their_metadata_tells(places: list[dict[str, Any]]) -> None:
    given_in = ["third", "first", "fourth", "second"]
    found = [SourceRecord("", {"source": "a", **place}, text) for text, place in zip(given_in, places, strict=True)]
    read = [text_and_metadata(one) for one in found]
    records = [(text or "", metadata) for text, metadata in read]
    assert texts_in_order(records) == [["first", "second", "third", "fourth"]]


def test_what_only_some_records_say_orders_nothing() -> None:
    some = [("b", {"source": "s", "chunk_index": 9}), ("a", {"source": "s"}), ("c", {"source": "s", "chunk_index": 1})]
    assert texts_in_order(some) == [["b", "a", "c"]]
    # Offsets count from the beginning of a page; without knowing which page they mean nothing.
    labelled = [("x", {"source": "s", "page_label": "iv", "start_index": 9}), ("y", {"source": "s", "start_index": 1})]
    assert texts_in_order(labelled) == [["x", "y"]]


def test_documents_stand_in_the_order_of_their_first_records() -> None:
    records = [("1", {"source": "b"}), ("2", {}), ("3", {"source": "a"}), ("4", {"source": "b"})]
    assert texts_in_order(records) == [["1", "4"], ["2"], ["3"]]
    assert texts_in_order(records, "-") == [["1"], ["2"], ["3"], ["4"]]


@pytest.mark.parametrize(
    ("metadata", "group"),
    [
        ({"file_path": "/a/b.md", "file_name": "b.md", "doc_id": "x"}, "/a/b.md"),
        ({"url": "https://example.com/a"}, "https://example.com/a"),
        ({"document_id": 7}, "7"),
        ({"ref_doc_id": "None", "doc_id": "None"}, None),
        ({"source": "blob", "blobType": ""}, None),
        ({"source": ["a"]}, None),
        ({"source": True}, None),
    ],
)
def test_the_document_a_record_says_it_is_of(metadata: dict[str, Any], group: str | None) -> None:
    assert group_of(metadata) == group


def test_a_field_can_be_named_to_group_by() -> None:
    assert group_of({"source": "a", "case": {"number": 12}}, "case.number") == "12"
    assert group_of({"source": "a"}, "case.number") is None


@pytest.mark.parametrize(
    ("metadatas", "pages"),
    [
        ([{"page": 0}, {"page": 1}], [1, 2]),  # LangChain in Python counts from 0
        ([{"page": 4, "page_label": "1"}, {"page": 5, "page_label": "2"}], [5, 6]),
        ([{"page": 1}, {"page": 2}], [1, 2]),
        ([{"page_number": 3}, {"page_number": 4}], [3, 4]),
        ([{"page_label": "7"}, {"page_label": "8"}], [7, 8]),
        ([{"loc": {"pageNumber": 2}}, {"loc": {"pageNumber": 3}}], [2, 3]),
        ([{"page": "cover"}, {"page": 2**40}], [None, None]),
        ([{"page": True}, {"page": -1}], [None, None]),
    ],
)
def test_pages_count_from_one(metadatas: list[dict[str, Any]], pages: list[int | None]) -> None:
    ((_, outline, parts),) = made_of([("t", {"source": "s", **metadata}) for metadata in metadatas])
    chunks = [chunk for part in parts for chunk, _ in part.chunks]
    assert [chunk.pages and chunk.pages[0] for chunk in chunks] == pages
    assert outline.pages == (max(filter(None, pages)) if any(pages) else None)


def test_headings_as_tools_write_them() -> None:
    assert headings_of({"Header 2": "Leave", "Header 1": "Handbook"}) == ("Handbook", "Leave")
    assert headings_of({"header_path": "/Handbook/Leave/"}) == ("Handbook", "Leave")
    assert headings_of({"headings": ["A", 3, "B"]}) == ("A", "B")
    assert headings_of({"dl_meta": {"headings": ["A"]}}) == ("A",)
    assert headings_of({"section": " One\nline "}) == ("One line",)
    assert headings_of({"Header 1": "", "header": "no"}) == ()


def test_names_of_documents() -> None:
    assert filename_of({}, "/docs/a b.pdf", "r") == "a b.pdf"
    assert filename_of({}, r"C:\docs\a.pdf", "r") == "a.pdf"
    assert filename_of({}, "https://example.com/guide/first%20steps/?q=1", "r") == "first steps"
    assert filename_of({}, "https://example.com", "r") == "example.com"
    assert filename_of({"file_name": "x/../y.md"}, "id-7", "r") == "y.md"
    assert filename_of({}, None, "r7") == "r7"
