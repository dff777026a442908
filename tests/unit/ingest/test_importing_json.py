"""`import --from json:FILE`: every shape LangChain writes, and files that are none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import ImportFormatError, OptionError, SourceUnreadable
from footnotes.library import Library
from footnotes.types import Chunk

RECORDS: list[dict[str, Any]] = [
    {"pageContent": "Trips under four hours are made by train.", "metadata": {"source": "travel.txt", "team": "all"}},
    {"pageContent": "Hotels may cost up to 140 euros.", "metadata": {"source": "travel.txt", "team": "all", "n": 2}},
]


def written(folder: Path, value: Any, name: str = "records.json") -> str:
    file = folder / name
    file.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return f"json:{file}"


def as_python(record: dict[str, Any]) -> dict[str, Any]:
    return {"id": None, "page_content": record["pageContent"], "metadata": record["metadata"], "type": "Document"}


def as_serialised(record: dict[str, Any]) -> dict[str, Any]:
    said = {"page_content": record["pageContent"], "metadata": record["metadata"], "type": "Document"}
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "document", "Document"], "kwargs": said}


def as_plain(record: dict[str, Any]) -> dict[str, Any]:
    return {"text": record["pageContent"], **record["metadata"]}


def chunks_of(library: Library) -> list[Chunk]:
    return [chunk for document in library.documents() for chunk in library.chunks(document.id)]


@pytest.mark.parametrize("as_lines", [False, True], ids=["array", "lines"])
@pytest.mark.parametrize("shape", [dict, as_python, as_serialised, as_plain])
def test_every_shape_gives_the_same_document(library: Library, tmp_path: Path, shape: Any, as_lines: bool) -> None:
    records = [shape(record) for record in RECORDS]
    lines = "\n".join(json.dumps(record) for record in records) + "\n\n"
    done = library.import_from(written(tmp_path, lines if as_lines else records))
    assert (done.records, done.added, done.chunks, dict(done.left_out)) == (2, 1, 2, {})
    (document,) = library.documents()
    assert document.filename == "travel.txt" and document.status == "ready"
    assert library.text(document.id) == "Trips under four hours are made by train.\n\nHotels may cost up to 140 euros."
    assert document.metadata["source"] == "travel.txt" and document.metadata["team"] == "all"
    of_file = {"mime", "checksum", "ingested_at"}  # every chunk says these of its file
    own = [{key: chunk.metadata[key] for key in chunk.metadata if key not in of_file} for chunk in chunks_of(library)]
    assert own == [{}, {"n": 2}]
    assert document.file_hash == HASH_OF_RECORDS
    assert library.verify().ok


HASH_OF_RECORDS = "8749d3fc6bedacfd312822d81fd9fb6e02871236bb173c8198d4916a71b3ed97"
"""Of the names, texts and metadata above: another value would take the same records over once more."""


def test_a_byte_order_mark_and_white_space_before_the_first_record_mean_nothing(
    library: Library, tmp_path: Path
) -> None:
    assert library.import_from(written(tmp_path, "\ufeff\n  " + json.dumps(RECORDS))).added == 1
    assert library.import_from(written(tmp_path, "\ufeff" + json.dumps(RECORDS[0]))).added == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "empty"),
        (" \n ", "empty"),
        ('[{"text": "one"}, {"text": "two"}, {"text" 3}]', "record 3"),
        ('[{"text": "one"}, {"text": "two"', "record 2"),
        ('[{"text": "one"}] and more', "record 2"),
        ('[{"text": "one"}, 7]', "record 2 is not an object"),
        ('{"text": "one"}\n\n{"text": \n', "line 3"),
        ('{"text": "one", "score": NaN}\n', "line 1"),
        ('{"text": "one"}\n"two"\n', "record 2 is not an object"),
        ("[" * 100_000, "record 1"),
        ('{"a":' * 100_000, "line 1"),
        ("text, but no JSON", "line 1"),
        ('{"type": "footnotes-export", "version": 1}\n', "export of Footnotes"),
    ],
)
def test_broken_files_name_the_place_and_leave_nothing(
    library: Library, tmp_path: Path, content: str, said: str
) -> None:
    with pytest.raises(ImportFormatError, match=said):
        library.import_from(written(tmp_path, content))
    assert library.documents() == []
    assert not (library.folder / "incoming").exists()


def test_bytes_that_are_not_unicode_are_refused(library: Library, tmp_path: Path) -> None:
    for content in (b'[{"text": "one"}, {"text": "\xff"}]', b'{"text": "one"}\n{"text": "\xff"}'):
        (tmp_path / "bytes.json").write_bytes(content)
        with pytest.raises(ImportFormatError, match=r"record 2|line 2"):
            library.import_from(f"json:{tmp_path / 'bytes.json'}")


def test_files_and_words_that_name_nothing(library: Library, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        library.import_from(f"json:{tmp_path / 'none.json'}")
    with pytest.raises(SourceUnreadable):
        library.import_from(f"json:{tmp_path}")
    for source in (
        "records.json",
        "json:",
        "chroma:",
        "mysql://host/name",
        "qdrant:name",
        "qdrant:///name",
        "http://a/b",
    ):
        with pytest.raises(OptionError):
            library.import_from(source)


def test_an_empty_array_is_no_mistake(library: Library, tmp_path: Path) -> None:
    done = library.import_from(written(tmp_path, "[]"))
    assert (done.records, done.added, done.skipped) == (0, 0, 0)


def test_records_without_text_are_counted_and_the_reason_is_said(library: Library, tmp_path: Path) -> None:
    records = [*RECORDS, {"metadata": {"a": 1}}, {"text": "  \n"}, {"text": 5}]
    done = library.import_from(written(tmp_path, records))
    assert done.records == 5 and done.chunks == 2
    ((reason, count),) = done.left_out.items()
    assert count == 3 and "pageContent" in reason


def test_where_no_record_has_text_the_fields_that_are_there_are_named(library: Library, tmp_path: Path) -> None:
    source = written(tmp_path, [{"headline": "Apples are red.", "metadata": {"source": "a"}}])
    with pytest.raises(ImportFormatError, match="headline, metadata") as caught:
        library.import_from(source)
    assert "--text-field" in caught.value.remedy
    done = library.import_from(source, text_field="headline")
    assert done.added == 1 and library.text(library.documents()[0].id) == "Apples are red."


def test_the_text_may_lie_deeper_and_nothing_beside_it_is_lost(library: Library, tmp_path: Path) -> None:
    record = {"doc": {"body": "Pears are green.", "lang": "en"}, "metadata": {"doc": "hidden otherwise"}, "k": None}
    library.import_from(written(tmp_path, [record]), text_field="doc.body")
    (document,) = library.documents()
    expected = {"doc": {"lang": "en"}, "metadata": {"doc": "hidden otherwise"}, "k": None}
    assert {name: document.metadata[name] for name in expected} == expected


def test_metadata_that_no_store_can_hold_keeps_its_record_out_with_the_reason(library: Library, tmp_path: Path) -> None:
    records = [{"text": "small"}, {"text": "large", "metadata": {"x": "y" * 200_000}}]
    done = library.import_from(written(tmp_path, records))
    assert done.chunks == 1 and list(done.left_out.values()) == [1]
    assert list(done.left_out) == ["the metadata has more than 100,000 characters"]


def test_characters_no_store_can_hold_are_replaced_one_by_one(library: Library, tmp_path: Path) -> None:
    line = '{"text": "a\\u0000b\\ud800c", "metadata": {"name\\ud800": "x\\udfff"}}\n'
    library.import_from(written(tmp_path, line))
    (document,) = library.documents()
    assert library.text(document.id) == "a\ufffdb\ufffdc"
    assert document.metadata["name\ufffd"] == "x\ufffd"
    assert library.verify().ok
