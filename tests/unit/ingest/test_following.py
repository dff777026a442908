"""The passes of a watch."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError
from footnotes.ingest.following import Following, SyncOptions
from footnotes.types import Synced
from libraries import HANDBOOK, TRAVEL, quick_library, write


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL)


def test_a_library_inside_the_folder_does_not_wake_the_watch(documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Writing to the library must not look like a change of the folder, or it would never rest."""
    stop = threading.Event()
    calls: list[str | Path] = []
    sync = Following.sync

    def counted(self: Following, folder: str | Path, options: SyncOptions) -> Synced:
        calls.append(folder)
        return sync(self, folder, options)

    monkeypatch.setattr(Following, "sync", counted)
    passes: list[Synced | FootnotesError] = []
    with quick_library(documents / "library") as library:
        for result in library.watch(documents, stop=stop):
            passes.append(result)
            threading.Timer(2.5, stop.set).start()
    assert len(passes) == 1 and 1 <= len(calls) <= 2
