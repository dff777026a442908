"""Promise E and two processes: many identical uploads are one document; one writes at a time; readers see commits."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from footnotes.errors import StoreLocked
from footnotes.library import Library
from libraries import TRAVEL, quick_library, words

HOLDER = """
import sys, time, footnotes
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    with library._store.writing("local", "holding the lock for a test"):
        print("held", flush=True)
        sys.stdin.readline()
"""


def test_identical_uploads_at_once_are_one_document_and_one_bill(library: Library) -> None:
    embedded: list[str] = []
    original = type(library.embedder()).embed

    def counted(self: object, texts: list[str], *, role: str) -> object:
        embedded.extend(texts)
        return original(self, texts, role=role)

    type(library.embedder()).embed = counted  # type: ignore[method-assign]
    try:
        with ThreadPoolExecutor(16) as pool:
            added = list(pool.map(lambda n: library.add_text(TRAVEL, filename="travel.txt", source=f"s{n}"), range(32)))
    finally:
        type(library.embedder()).embed = original  # type: ignore[method-assign]
    assert len({item.document_id for item in added}) == 1
    assert sorted(item.status for item in added).count("ready") == 1
    assert len(library.documents()) == 1 and len(embedded) == library.documents()[0].chunks
    assert library.verify().ok


def test_identical_uploads_from_several_processes(tmp_path: Path) -> None:
    code = """
import sys, footnotes
with footnotes.open(sys.argv[1], embedder="hashing", lock_seconds=60) as library:
    print(library.add_text(sys.argv[2], filename="same.txt").document_id)
"""
    command = [sys.executable, "-c", code, str(tmp_path / "library"), TRAVEL]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    ids = {process.communicate(timeout=120)[0].strip() for process in processes}
    assert len(ids) == 1 and ids != {""}
    with quick_library(tmp_path / "library") as library:
        assert len(library.documents()) == 1 and library.verify().ok


def test_a_second_writer_is_told_who_holds_the_library(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library", lock_seconds=0.2) as library:
        library.add_text(TRAVEL, filename="travel.txt")
        holder = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(tmp_path / "library")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(StoreLocked, match=f"process {holder.pid}, holding the lock for a test"):
            library.add_text("More.", filename="more.txt")
        assert library.search("hotels").hits, "readers are not held up"
        holder.communicate("\n", timeout=30)
        assert library.add_text("More than before.", filename="more.txt").status == "ready"


def test_a_writer_that_waits_long_enough_gets_its_turn(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library", lock_seconds=30) as library:
        entered, leave = threading.Event(), threading.Event()

        def hold() -> None:
            with library._store.writing("local", "holding"):
                entered.set()
                leave.wait(10)

        holder = threading.Thread(target=hold)
        holder.start()
        entered.wait(10)
        threading.Timer(0.3, leave.set).start()
        assert library.add_text(TRAVEL, filename="travel.txt").status == "ready"
        holder.join()


def test_readers_see_what_another_process_committed(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as reader:
        assert reader.search("hotels").hits == ()
        code = """
import sys, footnotes
with footnotes.open(sys.argv[1], embedder="hashing") as library:
    if sys.argv[2] == "add":
        library.add_text(sys.argv[3], filename="travel.txt")
    else:
        library.delete(library.documents()[0].id)
"""
        run = [sys.executable, "-c", code, str(tmp_path / "library")]
        subprocess.run([*run, "add", TRAVEL], check=True)
        assert reader.search("hotels").hits[0].filename == "travel.txt"
        subprocess.run([*run, "delete", ""], check=True)
        assert reader.search("hotels").hits == ()


def test_searches_while_documents_come_and_go_never_show_half_of_one(tmp_path: Path) -> None:
    """Each document is one word repeated in every chunk; a search must never see chunks of two versions."""
    with quick_library(tmp_path / "library", chunker="window", chunker_options={"size": 100, "overlap": 0}) as library:
        stop = threading.Event()
        seen: list[str] = []

        def look() -> None:
            while not stop.is_set():
                hits = library.search("common", mode="lexical", limit=100, per_document=100).hits
                versions = {word for hit in hits for word in hit.text.split() if word.startswith("version")}
                if len(versions) > 1:
                    seen.append(str(versions))

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for version in range(12):
                text = f"common version{version} " * 30
                library.add_text(text, filename="v.txt", source="v")
        finally:
            stop.set()
            thread.join()
        assert not seen
        assert library.verify().ok


def test_reindexing_never_interrupts_searches(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        for number in range(20):
            library.add_text(words(number), filename=f"{number}.txt")
        stop, misses = threading.Event(), list[int]()

        def look() -> None:
            number = 0
            while not stop.is_set():
                number = (number + 1) % 20
                hits = library.search(f"marker{number}", mode="lexical").hits
                if not hits or hits[0].filename != f"{number}.txt":
                    misses.append(number)

        thread = threading.Thread(target=look)
        thread.start()
        try:
            for chunker in ("window", "rules", "sentence"):
                library.reindex(chunker=chunker)
        finally:
            stop.set()
            thread.join()
        assert not misses
