"""Concurrent threads and processes, and a writer that dies in the middle."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.strings import HANDBOOK, TRAVEL, numbered

THREADS = 8
_ADD = """
import json, sys
added = [library.add_text(sys.argv[1], filename="same.txt", source=sys.argv[2] + str(n)) for n in range(3)]
print(json.dumps([[item.document_id, item.status, library.embedder().texts] for item in added]))
library.close()
"""
_DIE = """
import os, signal
from footnotes.library import Library
group = type(getattr(library._store, {group!r}))
original = group.save
def die(self, *args, **kwargs):
    if {after!r}:
        original(self, *args, **kwargs)
    os.kill(os.getpid(), signal.SIGKILL)
group.save = die
library.add_text({text!r}, filename="victim.txt", source="victim")
"""


class Together:
    """Promises C, D and E: one document, one bill, equal answers; and dead writers leave nothing behind."""

    def test_identical_uploads_at_once_are_one_document_and_one_bill(self, harness: StoreHarness) -> None:
        embedder = HashingEmbedder()
        with harness.open(embedder=embedder) as library, ThreadPoolExecutor(THREADS) as pool:
            added = list(pool.map(lambda n: library.add_text(HANDBOOK, filename="h.md", source=f"s{n}"), range(16)))
            assert len({item.document_id for item in added}) == 1
            assert sorted({item.status for item in added}) == ["deduplicated", "ready"]
            assert [item.status for item in added].count("ready") == 1
            (document,) = library.documents()
            assert document.status == "ready" and embedder.texts == document.chunks
            assert {item.chunks for item in added} == {document.chunks} and library.verify().ok

    def test_identical_uploads_from_several_processes(self, harness: StoreHarness) -> None:
        with harness.open():
            pass
        code = harness.interpreter_lines(lock_seconds=240.0) + _ADD  # each waits for the others
        words = [sys.executable, "-c", code, TRAVEL]
        running = [subprocess.Popen([*words, f"p{n}-"], stdout=subprocess.PIPE, text=True) for n in range(3)]  # noqa: S603
        outputs = [json.loads(process.communicate(timeout=300)[0]) for process in running]
        results = [tuple(item) for one in outputs for item in one]
        assert len({document for document, _, _ in results}) == 1
        assert [status for _, status, _ in results].count("ready") == 1
        assert sum(one[-1][2] for one in outputs) == 1  # texts embedded, by all of them together
        with harness.open() as library:
            assert len(library.documents()) == 1 and library.verify().ok

    def test_different_documents_at_once_are_all_there(self, harness: StoreHarness) -> None:
        with harness.open() as library, ThreadPoolExecutor(4) as pool:
            added = list(pool.map(lambda n: library.add_text(numbered(n), filename=f"{n}.txt"), range(12)))
            assert {item.status for item in added} == {"ready"} and len({item.document_id for item in added}) == 12
            assert {document.status for document in library.documents()} == {"ready"}
            assert library.search("marker7", mode="lexical").hits[0].filename == "7.txt"
            assert library.verify().ok

    def test_versions_of_one_source_at_once_leave_one(self, harness: StoreHarness) -> None:
        with harness.open() as library, ThreadPoolExecutor(4) as pool:
            library.add_text(numbered(0), filename="a.txt", source="s")

            def add(number: int) -> str:
                return library.add_text(numbered(number), filename="a.txt", source="s").status

            assert set(pool.map(add, range(1, 6))) <= {"ready", "replaced", "failed"}
            served = [document for document in library.documents() if document.status == "ready"]
            assert served and library.verify().ok

    def test_deleting_beside_adding_and_searching(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            ids = [str(library.add_text(numbered(n), filename=f"{n}.txt").document_id) for n in range(5)]
            gone: set[str] = set()
            wrong: list[str] = []
            done = threading.Event()

            def search() -> None:
                while not done.is_set():
                    before = set(gone)
                    found = {hit.document_id for hit in library.search("word31 word38 word45", limit=50).hits}
                    wrong.extend(found & before)

            searcher = threading.Thread(target=search)
            searcher.start()
            for number, document in enumerate(ids):
                library.delete(document)
                gone.add(document)
                library.add_text(numbered(100 + number), filename=f"n{number}.txt")
            done.set()
            searcher.join()
            assert not wrong and len(library.documents()) == 5 and library.verify().ok

    def test_a_writer_that_dies_leaves_nothing_half_done(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.add_text(TRAVEL, filename="kept.txt")
        steps = [("documents", False), ("documents", True), ("vectors", False), ("vectors", True)]
        for number, (group, after) in enumerate(steps):
            code = harness.interpreter_lines() + _DIE.format(group=group, after=after, text=numbered(number, 300))
            words = [sys.executable, "-c", code]
            died = subprocess.run(words, capture_output=True, check=False, timeout=60)  # noqa: S603
            assert died.returncode == -9, died.stderr.decode()
            with harness.open() as library:
                library.resume()
                assert {document.status for document in library.documents()} <= {"ready", "failed"}
                assert library.verify().ok
                added = library.add_text(numbered(number, 300), filename="victim.txt", source="victim")
                assert added.status in ("ready", "replaced", "deduplicated") and library.verify().ok
        assert not list(Path(harness.folder).glob("incoming/*"))
