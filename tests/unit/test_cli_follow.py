"""`footnotes sync`, `watch` and `show --original` as a user meets them. `--json` shapes are a contract."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pytest

import footnotes
from command_line import run
from footnotes.types import Synced
from libraries import HANDBOOK, TRAVEL, quick_library, write

DOCUMENT = {"path", "document_id", "status", "chunks", "renamed_from", "error", "warnings"}
COUNTS = {"added", "changed", "renamed", "deleted", "unchanged", "skipped", "failed"}


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL)


def test_sync_prints_its_contract(tmp_path: Path, documents: Path) -> None:
    arguments = ("sync", str(documents), "--library", str(tmp_path / "l"), "--json")
    planned = json.loads(run(*arguments, "--dry-run").stdout)
    assert planned["dry_run"] and planned["counts"]["added"] == 2
    result = run(*arguments)
    shape = json.loads(result.stdout)
    assert result.exit_code == 0
    assert set(shape) == {"folder", "documents", "counts", "dry_run", "took_ms"}
    assert set(shape["counts"]) == COUNTS and shape["counts"]["added"] == 2
    assert all(set(one) == DOCUMENT for one in shape["documents"])
    (documents / "travel.txt").rename(documents / "trips.txt")
    (documents / "empty.txt").write_text("")
    result = run(*arguments)
    by_name = {Path(one["path"]).name: one for one in json.loads(result.stdout)["documents"]}
    assert result.exit_code == 3
    assert by_name["trips.txt"]["renamed_from"] == str(documents / "travel.txt")
    assert set(by_name["empty.txt"]["error"]) == {"code", "message", "remedy"}
    assert "handbook.md" not in by_name, "what is unchanged is counted only"


def test_sync_tells_people_what_it_did(tmp_path: Path, documents: Path) -> None:
    arguments = ("sync", str(documents), "--library", str(tmp_path / "l"))
    assert "2 added" in run(*arguments).output
    (documents / "travel.txt").rename(documents / "trips.txt")
    output = run(*arguments).output
    assert "renamed" in output and "travel.txt" in output and "1 renamed, 1 unchanged" in output
    (documents / "handbook.md").unlink()
    (documents / "trips.txt").unlink()
    refused = run(*arguments)
    assert refused.exit_code == 1 and "sync_refused" in refused.output and "--delete-all" in refused.output
    missing = run("sync", str(tmp_path / "nowhere"), "--library", str(tmp_path / "l"), "--json")
    assert missing.exit_code == 1 and json.loads(missing.stdout)["error"]["code"] == "source_unreadable"
    assert "2 deleted" in run(*arguments, "--delete-all").output


def test_the_original_is_written_back(tmp_path: Path, documents: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_KEEP_ORIGINALS", "true")
    library = str(tmp_path / "l")
    shape = json.loads(run("add", str(documents / "handbook.md"), "-l", library, "--json").stdout)
    identity, target = shape["documents"][0]["document_id"], tmp_path / "back.md"
    assert run("show", identity, "--original", str(target), "-l", library).exit_code == 0
    assert target.read_text() == HANDBOOK
    again = run("show", identity, "--original", str(target), "-l", library)
    assert again.exit_code == 1 and "option_invalid" in again.output, "nothing is overwritten"
    assert run("show", identity, "--original", "-", "-l", library).stdout_bytes == HANDBOOK.encode()


class Watcher:
    """A `footnotes watch` in a process of its own, and the lines it prints."""

    def __init__(self, folder: Path, library: Path, *options: str) -> None:
        arguments = [sys.executable, "-m", "footnotes", "watch", str(folder), "--library", str(library), *options]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        self.process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
        )
        self.lines: list[str] = []
        self._threads = [
            threading.Thread(target=self._read, args=(stream,), daemon=True)
            for stream in (self.process.stdout, self.process.stderr)
        ]
        for thread in self._threads:
            thread.start()

    def _read(self, stream: IO[str]) -> None:
        for line in stream:
            self.lines.append(line.rstrip("\n"))

    def wait_for(self, text: str) -> str:
        end = time.monotonic() + 30
        while time.monotonic() < end:
            if found := [line for line in self.lines if text in line]:
                return found[-1]
            time.sleep(0.05)
        raise AssertionError(f"{text!r} was not printed: {self.lines}")

    def end(self, number: int = signal.SIGINT) -> int:
        self.process.send_signal(number)
        code = self.process.wait(timeout=30)
        for thread in self._threads:
            thread.join(timeout=5)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()
        return code


@pytest.fixture
def watching(tmp_path: Path, documents: Path) -> Iterator[Watcher]:
    watcher = Watcher(documents, tmp_path / "library")
    yield watcher
    if watcher.process.poll() is None:
        watcher.end(signal.SIGKILL)


def test_watch_follows_until_it_is_stopped(watching: Watcher, tmp_path: Path, documents: Path) -> None:
    watching.wait_for("2 added")
    (documents / "note.txt").write_text("A note about gravel.")
    watching.wait_for("note.txt  1 chunk")
    (documents / "broken.pdf").write_bytes(b"%PDF-1.4 nothing else")
    watching.wait_for("broken.pdf")
    (documents / "note.txt").rename(documents / "gravel.txt")
    assert "note.txt" in watching.wait_for("renamed ")
    (documents / "gravel.txt").unlink()
    watching.wait_for("deleted ")
    assert watching.end() == 0
    assert watching.lines[-1] == "stopped" and not any("Traceback" in line for line in watching.lines)
    assert not any("\x1b" in line or "\r" in line for line in watching.lines), "plain lines off a terminal"
    with quick_library(tmp_path / "library") as library:
        ready = [document.filename for document in library.documents() if document.status == "ready"]
        assert ready == ["handbook.md", "travel.txt"] and library.verify().ok


def test_watch_survives_the_loss_of_its_folder(watching: Watcher, tmp_path: Path, documents: Path) -> None:
    watching.wait_for("2 added")
    documents.rename(tmp_path / "away")
    watching.wait_for("source_unreadable")
    with quick_library(tmp_path / "library") as library:
        assert len(library.documents()) == 2
    (tmp_path / "away" / "late.txt").write_text("Written while it was away.")
    (tmp_path / "away").rename(documents)
    watching.wait_for("late.txt")
    assert watching.end(signal.SIGTERM) == 0


def test_watch_prints_a_line_of_json_for_every_pass(tmp_path: Path, documents: Path) -> None:
    watcher = Watcher(documents, tmp_path / "library", "--json")
    try:
        first = json.loads(watcher.wait_for('"counts"'))
        assert set(first) == {"folder", "documents", "counts", "dry_run", "took_ms"} and first["counts"]["added"] == 2
        (documents / "note.txt").write_text("A note.")
        assert json.loads(watcher.wait_for("note.txt"))["counts"]["added"] == 1
    finally:
        assert watcher.end() == 0


def test_the_async_twin_syncs_and_watches(tmp_path: Path, documents: Path) -> None:
    async def follow() -> list[int]:
        added = []
        async with footnotes.connect(tmp_path / "library", embedder="hashing") as library:
            added.append((await library.sync(documents)).counts["added"])
            async for result in library.watch(documents):
                assert isinstance(result, Synced)
                added.append(result.counts["added"])
                if len(added) == 3:
                    break
                (documents / "more.txt").write_text("One more.")
        return added

    assert asyncio.run(follow()) == [2, 0, 1]
