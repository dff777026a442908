"""A Chroma in a folder: several processes and threads, and what is left of what was removed."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chroma_indexes import Places, changes, scope, vectors
from footnotes.errors import IndexFailed, IndexUnavailable

pytestmark = pytest.mark.slow

pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")
ANOTHER = """
import json, sys
sys.path[:0] = json.loads(sys.argv[1])
from chroma_indexes import Places, changes, scope, vectors
from pathlib import Path
places = Places(Path(sys.argv[2]))
index = places.database().index(scope())
rows = vectors(4_000)
for line in sys.stdin:
    first, last, seq = json.loads(line)
    index.refresh()
    if seq:
        index.apply(changes(rows[first - 1 : last], seq=seq, first=first), position=seq)
    found = [key for key in range(1, last + 1, 41) if index.search(rows[key - 1], 1).keys == [key]]
    print(json.dumps([index.position, len(index.keys()), len(found), len(range(1, last + 1, 41))]), flush=True)
places.close()
"""


@pytest.fixture
def places(tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path / "chroma")
    yield made
    made.close()


class Another:
    """Another process with the same folder."""

    def __init__(self, folder: Path) -> None:
        paths = json.dumps([str(Path(__file__).parents[2])])
        self._process = subprocess.Popen(
            [sys.executable, "-c", ANOTHER, paths, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def ask(self, first: int, last: int, seq: int = 0) -> list[int]:
        """Let it apply some rows, and tell its seq, its keys, how many rows it finds, and how many it should."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps([first, last, seq]).encode() + b"\n")
        self._process.stdin.flush()
        answer: list[int] = json.loads(self._process.stdout.readline())
        return answer

    def end(self) -> None:
        self._process.communicate(timeout=30)


def test_processes_that_take_turns_lose_nothing(places: Places, tmp_path: Path) -> None:
    rows = vectors(4_000)
    index = places.database().index(scope())
    index.apply(changes(rows[:900], seq=1), position=1)
    other = Another(tmp_path / "chroma")
    try:
        assert other.ask(1, 900) == [1, 900, 22, 22]
        assert other.ask(901, 2_500, seq=2) == [2, 2_500, 61, 61]
        assert index.refresh() == 2
        assert all(index.search(rows[key - 1], 1).keys == [key] for key in range(1, 2_501, 41))
        index.apply(changes(rows[2_500:], seq=3, first=2_501), position=3)
        assert other.ask(1, 4_000) == [3, 4_000, 98, 98]
    finally:
        other.end()
    places.close()
    again = places.database().index(scope())
    assert again.refresh() == 3 and len(again.keys()) == 4_000
    assert all(again.search(rows[key - 1], 1).keys == [key] for key in range(1, 4_001, 41))


def test_processes_that_only_read_do_not_disturb_each_other(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = vectors(100)
    places.database().index(scope()).apply(changes(rows), position=1)
    one, two = places.database(), places.database()
    opened: list[Any] = []
    for database in (one, two):
        plain = database._connection._open  # type: ignore[attr-defined]
        monkeypatch.setattr(database._connection, "_open", lambda plain=plain: opened.append(plain()))
    for _ in range(3):
        for database in (one, two):
            assert len(database.index(scope()).search(rows[0], 5).keys) == 5
    assert len(opened) == 2


def test_threads_search_while_one_writes(places: Places) -> None:
    rows = vectors(1_500)
    database = places.database(index_options={"batch": 50})
    database.index(scope()).apply(changes(rows[:300]), position=1)
    failures: list[BaseException] = []
    done = threading.Event()

    def search() -> None:
        index = database.index(scope())
        try:
            while not done.wait(0.002):
                assert len(index.search(rows[5], 5).keys) == 5
        except BaseException as failure:
            failures.append(failure)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        database.index(scope()).apply(changes(rows[300:], seq=2, first=301), position=2)
        database.index(scope("bob")).apply(changes(rows[:50]), position=1)
        database.index(scope()).compact()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert not failures
    assert len(database.index(scope()).keys()) == 1_500


def test_who_wants_to_write_is_not_kept_waiting_by_those_who_read(places: Places) -> None:
    rows = vectors(200)
    readers = places.database()
    readers.index(scope()).apply(changes(rows[:100]), position=1)
    done = threading.Event()

    def search() -> None:
        index = readers.index(scope())
        while not done.is_set():
            index.search(rows[5], 50)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    try:
        places.database(index_seconds=5.0).index(scope()).apply(changes(rows[100:], seq=2, first=101), position=2)
    finally:
        done.set()
        for thread in threads:
            thread.join()
    assert readers.index(scope()).refresh() == 2


def test_a_folder_that_another_process_holds_is_not_waited_for_forever(places: Places) -> None:
    rows = vectors(10)
    holder = places.database()
    holder.index(scope()).apply(changes(rows), position=1)
    waiting = places.database(index_seconds=0.1).index(scope())
    with (
        holder._connection.writing("x"),
        pytest.raises(IndexUnavailable, match="another process") as caught,
    ):
        waiting.search(rows[0], 1)
    assert "chroma run" in caught.value.remedy
    assert waiting.search(rows[0], 1).keys == [1]


def test_the_folder_is_ours_alone_and_may_come_back_empty(places: Places, tmp_path: Path) -> None:
    import shutil

    index = places.database().index(scope())
    index.apply(changes(vectors(10)), position=1)
    folder = tmp_path / "chroma"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    places.close()
    shutil.rmtree(folder)
    assert places.database().index(scope()).refresh() == 0


def test_files_that_are_damaged(places: Places, tmp_path: Path) -> None:
    places.database().index(scope()).apply(changes(vectors(10)), position=1)
    places.close()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"no database " * 1_000)
    with pytest.raises(IndexFailed, match="are damaged") as caught:
        places.database().index(scope()).refresh()
    assert caught.value.remedy.startswith("Delete them, unless others use them too")


# ── what is left
