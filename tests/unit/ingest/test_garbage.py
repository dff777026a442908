from __future__ import annotations

import gc
from pathlib import Path

from footnotes.ingest.garbage import OBJECTS, fewer_collections
from libraries import quick_library


def test_many_documents_leave_the_collector_as_it_was(tmp_path: Path) -> None:
    before = gc.get_threshold()
    with quick_library(tmp_path / "library") as library:
        library.add_texts([f"note {number} about tides" for number in range(300)])
    assert gc.get_threshold() == before


def test_who_has_switched_it_off_decides() -> None:
    before = gc.get_threshold()
    try:
        for chosen in (0, 2 * OBJECTS):
            gc.set_threshold(chosen, *before[1:])
            with fewer_collections():
                assert gc.get_threshold()[0] == chosen
    finally:
        gc.set_threshold(*before)
