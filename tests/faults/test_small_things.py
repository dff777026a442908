"""Odd filters, far cells, open folders."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter

from footnotes.errors import FilterError
from libraries import quick_library


@pytest.mark.parametrize("where", [5, [1], [None], 2.5, {1: 2}, object(), {"a": object()}, ({"a": 1},)])
def test_a_filter_of_a_wrong_type_is_a_clear_error(tmp_path: Path, where: Any) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("something", filename="a.txt")
        with pytest.raises(FilterError):
            library.search("something", where=where)
        with pytest.raises(FilterError):
            library.documents(where=where)


def test_a_sheet_with_cells_in_far_corners_is_refused_clearly(tmp_path: Path) -> None:
    workbook = xlsxwriter.Workbook(str(tmp_path / "far.xlsx"))
    sheet = workbook.add_worksheet()
    sheet.write("A1", "near")
    sheet.write("XFD1048576", "far")
    workbook.close()
    with quick_library(tmp_path / "library") as library:
        (added,) = library.add(tmp_path / "far.xlsx")
        assert added.status == "failed" and added.error is not None and added.error.code == "parse_limit"
        assert "1,048,576 rows" in added.error.message


def test_what_is_kept_in_an_open_folder_is_not_open(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    folder.mkdir(mode=0o755)
    (folder / "index").mkdir(mode=0o755)
    with quick_library(folder, keep_originals=True) as library:
        library.add_text("something private", filename="a.txt")
        for path in folder.iterdir():
            assert not stat.S_IMODE(path.stat().st_mode) & 0o077, path.name
