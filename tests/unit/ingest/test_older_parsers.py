"""Documents of an older parser."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.library import Library
from footnotes.parse.html import HtmlParser
from footnotes.settings import load


def test_a_document_of_an_older_parser_is_parsed_again_from_the_file_it_was_added_from(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, gone, changed = (tmp_path / f"{name}.html" for name in ("page", "gone", "changed"))
    for file in (page, gone, changed):
        file.write_text(f"<h1>{file.stem}</h1><p>The bridge of {file.stem} was built in 1974.</p>")
    with Library(tmp_path / "library", settings=load(tmp_path / "library", embedder="hashing")) as library:
        monkeypatch.setattr(HtmlParser, "version", HtmlParser.version - 1)
        library.add(page, gone, changed)
        monkeypatch.undo()
        gone.unlink()
        changed.write_text("<p>Something else.</p>")
        assert library.count_outdated() == 3
        assert library.reindex(outdated=True)["documents"] == 0 and library.count_outdated() == 3
        done = library.reindex(outdated=True, from_files=True)
        assert done["documents"] == 1 and [one.filename for one in library.outdated()] == ["gone.html", "changed.html"]
        assert library.reindex(outdated=True, from_files=True)["documents"] == 0
        assert len(library.documents()) == 3 and library.verify().ok
        (again,) = (one for one in library.documents() if one.filename == "page.html")
        assert again.version == 2 and "built in 1974" in library.text(again.id)
