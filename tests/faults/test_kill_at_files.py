"""Promise A at the system's own steps: killed the moment a named file appears, a library goes on as before."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from killing import IS_LINUX, run_until_file
from libraries import quick_library
from oracle import Oracle

VICTIM = Path(__file__).with_name("victim.py")
pytestmark = pytest.mark.skipif(not IS_LINUX, reason="inotify is needed to see files appear")

STEPS = {
    "tombstones of a tantivy commit": r"^\+.*\.del$",
    "a segment's terms": r"^\+.*\.term$",
    "tantivy's list of segments": r"^\+meta\.json$",
    "tantivy's list of files": r"^\+\.managed\.json$",
    "a segment that was merged away": r"^-.*\.store$",
    "the manifest of an index": r"^\+manifest\.json$",
    "keys of the dense index": r"^\+.*\.keys$",
}


@pytest.mark.parametrize("step", STEPS)
def test_killed_when_a_file_appears_a_library_is_written_again(step: str, tmp_path: Path) -> None:
    folder, oracle, kills = tmp_path / "library", Oracle(), 0
    for life in range(3):
        command = [sys.executable, str(VICTIM), str(folder), "25", str(40 + life)]
        ended = run_until_file(command, folder, STEPS[step], skip=3 * life)
        oracle.read(ended.output)
        kills += ended.killed
        with quick_library(folder) as library:
            oracle.check(library)
            oracle.check_resumed(library)
            added = library.add_text(f"zebra{life} was here", filename=f"z{life}.txt", source=f"z{life}")
            assert added.status == "ready"
            library.delete(str(added.document_id))
    assert kills, "nothing was killed: the step has another name now"


def test_what_a_kill_left_in_an_index_is_swept_before_it_is_written(tmp_path: Path) -> None:
    """The file by which a library could never be written again, put there by hand: every tombstone to come."""
    folder = tmp_path / "library"
    with quick_library(folder) as library:
        kept = library.add_text("walrus stays", filename="a.txt", source="a")
        gone = library.add_text("otter goes", filename="b.txt", source="b")
    _leave_tombstones(folder)
    with quick_library(folder) as library:
        library.delete(str(gone.document_id))
        assert library.search("walrus").hits[0].document_id == kept.document_id
        assert not any("otter" in hit.text for hit in library.search("otter").hits)
        assert library.add_text("badger comes", filename="c.txt", source="c").status == "ready"
        assert library.verify(repair=True).ok
        assert not library.verify().repaired, "an index that has files too many need not be rebuilt"


def _leave_tombstones(folder: Path) -> None:
    import json

    lexical = next(folder.glob("index/*/*/lexical"))
    meta = json.loads((lexical / "meta.json").read_text())
    for segment in meta["segments"]:
        name = segment["segment_id"].replace("-", "")
        for opstamp in range(meta["opstamp"], meta["opstamp"] + 20):
            path = lexical / f"{name}.{opstamp}.del"
            if not path.exists():
                path.write_bytes(b"cut off")
