"""Arrays in JSON files are read one element at a time."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.errors import ImportFormatError
from footnotes.ingest.importing import json_file
from footnotes.library import Library
from libraries import quick_library

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(json_values, max_size=6), st.integers(1, 7), st.sampled_from([None, 1]), st.booleans())
def test_arrays_are_read_as_the_whole_would_be(
    values: list[Any], block: int, indent: int | None, ascii_only: bool
) -> None:
    text = json.dumps(values, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_file, "BLOCK", block)
        decoded = io.StringIO(text.decode("utf-8", "surrogatepass"))
        assert list(json_file.array_elements(decoded)) == json.loads(text.decode("utf-8", "surrogatepass"))


@given(st.lists(st.dictionaries(st.text(max_size=4), json_values, max_size=2), min_size=1, max_size=4), st.data())
def test_an_array_that_is_cut_off_anywhere_is_broken(values: list[Any], data: st.DataObject) -> None:
    text = json.dumps(values)
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    with pytest.raises(ImportFormatError, match="is not JSON"):
        list(json_file.array_elements(io.StringIO(cut)))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with quick_library(tmp_path / "library") as opened:
        yield opened


def test_a_line_without_end_is_not_read_to_its_end(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_file, "LONGEST", 1_000)
    (tmp_path / "records.jsonl").write_text('{"text": "' + "x" * 5_000 + '"}\n', encoding="utf-8")
    with pytest.raises(ImportFormatError, match="longer than"):
        library.import_from(f"json:{tmp_path / 'records.jsonl'}", collection="c")
