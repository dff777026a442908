"""A document that is replaced again and again while its indexes cannot be written."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError, StoreUnavailable
from libraries import quick_library


def test_a_version_that_was_never_shown_gives_way_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise StoreUnavailable("an index could not be written (Too many open files)")

    with quick_library(tmp_path / "library") as library:
        library.add_text("The heron of the first edition.", filename="heron.txt", source="heron")
        with monkeypatch.context() as broken:
            broken.setattr(library._store._indexes, "_bring_up_to_date", refused)
            for edition in ("second", "third"):
                with suppress(StoreUnavailable):
                    library.add_text(f"The heron of the {edition} edition.", filename="heron.txt", source="heron")
    with quick_library(tmp_path / "library") as library:
        with suppress(FootnotesError):
            library.resume()
        (document,) = library.documents()
        assert library.text(document.id) == "The heron of the third edition." and document.status == "ready"
        assert [hit.text for hit in library.search("heron edition").hits] == ["The heron of the third edition."]
        assert not library.search("second", mode="lexical").hits and library.verify().ok
