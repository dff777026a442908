"""Writers and workers that are killed (SIGKILL) at a random system call, or whose system calls are slow.

`strace` does it, from the outside: the n-th write, sync, rename or send of a process is its last, or takes a while.
So a kill also comes inside a commit of a native library and between two messages to a database.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from libraries import quick_library
from oracle import Oracle
from postgres import PostgresServer
from serving import serving
from torture import Budget, Row
from torture.judge import SECONDS, command, environment, judge, noted
from torture.victim import text

FILE_CALLS = "pwrite64,write,fdatasync,fsync,rename,unlink,ftruncate"
NETWORK_CALLS = "sendto,sendmsg,write,writev"
_LIVES = 12  # of one library, before a new one begins
_ACTIONS = ("add", "delete", "reindex", "compact", "sync")
_SLOW_EVERY = 5
NOTHING_TO_DO = "! not_found"
"""What a library without documents says to a reindex."""
Settings = dict[str, str]


def strace(fault: str, calls: str, words: list[str]) -> list[str]:
    """A command whose system calls have a fault: `signal=SIGKILL:when=7`, `delay_enter=2000`."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={calls}", "-e", f"inject={calls}:{fault}", *words]


@dataclass
class _Library:
    """A library that victims write to, one life after the other, and what they acknowledged."""

    folder: Path
    settings: Settings
    oracle: Oracle = field(default_factory=Oracle)
    lives: int = 0


def kills_at_calls(name: str, *, budget: Budget, seed: int, made: Callable[[], Any]) -> Row:
    """Every action in turn, killed at a random call; `made` gives a place where libraries are made."""
    return _lives(name, budget, seed, made, lambda chance: f"signal=SIGKILL:when={1 + int(chance.expovariate(1 / 60))}")


def slow_calls(name: str, *, budget: Budget, seed: int, made: Callable[[], Any]) -> Row:
    """Every action in turn; every fifth call takes up to 30 ms. Nothing is killed: all must end well."""
    return _lives(
        name, budget, seed, made, lambda chance: f"delay_enter={chance.randrange(1_000, 30_000)}:when=1+{_SLOW_EVERY}"
    )


def _lives(
    name: str, budget: Budget, seed: int, made: Callable[[], Any], fault_of: Callable[[random.Random], str]
) -> Row:
    row = Row(name, skipped="" if shutil.which("strace") else "strace is not installed")
    if row.skipped:
        return row
    chance = random.Random(seed)
    with made() as new_library:
        libraries = {action: new_library(action) for action in _ACTIONS}
        for number in budget.rounds():
            action = _ACTIONS[number % len(_ACTIONS)]
            library, before, fault = libraries[action], len(row.cases), fault_of(chance)
            with noted(row, f"{action} {number}, {fault}", library.folder):
                _one_life(library, action, number + seed * 10_000, fault)
                row.trials += 1
            if library.lives >= _LIVES or len(row.cases) != before:
                libraries[action] = new_library(action)
    return row


def _one_life(library: _Library, action: str, number: int, fault: str) -> None:
    library.lives += 1
    given = [word for key, value in library.settings.items() for word in ("--setting", f"{key}={value}")]
    calls = f"{FILE_CALLS},{NETWORK_CALLS}" if library.settings else FILE_CALLS
    words = strace(fault, calls, command(library.folder, action, number, *given))
    ended = subprocess.run(
        words, env=environment(), capture_output=True, text=True, timeout=2 * SECONDS, check=False, errors="replace"
    )
    is_killed = ended.returncode in (-9, 137)
    assert is_killed or ended.returncode == 0, f"the victim ended with {ended.returncode}: {ended.stderr[-300:]}"
    refused = [line for line in ended.stdout.splitlines() if line.startswith("!") and line != NOTHING_TO_DO]
    assert is_killed or "SIGKILL" in fault or not refused, f"refused: {refused}"
    library.oracle.read(ended.stdout)
    judge(library.folder, library.oracle, number, **library.settings)


@contextmanager
def places(*, postgres: bool = False, qdrant: bool = False) -> Iterator[Callable[[str], _Library]]:
    """Makes libraries, each in a folder of its own, on databases that run meanwhile."""
    with ExitStack() as stack:
        top = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        database = PostgresServer(top / "database") if postgres else None
        if database is not None:
            stack.callback(database.stop)
        remote: Settings = {}
        if qdrant:
            from qdrant import running

            remote = {"index": stack.enter_context(running()).address}

        def new_library(action: str) -> _Library:
            folder = Path(tempfile.mkdtemp(prefix=f"{action}-", dir=top)) / "library"
            store = {"store": database.fresh()} if database else {}
            index = {key: f"{address}/{folder.parent.name}" for key, address in remote.items()}
            return _Library(folder, store | index, Oracle(lists_interrupted=bool(database)))

        yield new_library


def workers(name: str, *, budget: Budget, seed: int) -> Row:
    """A server on PostgreSQL takes uploads; its worker is killed at a random call, and another one ends the work."""
    row = Row(name, skipped="" if shutil.which("strace") else "strace is not installed")
    if row.skipped:
        return row
    chance = random.Random(seed)
    with places(postgres=True) as new_library:
        for number in budget.rounds():
            library = new_library("worker")
            with (
                noted(row, f"worker {number}"),
                serving(library.folder, serve_worker=False, serve_rate=10**6, **library.settings) as running,
            ):
                jobs = {}
                for each in range(6):
                    body = {"text": text(f"n{each}", each), "filename": f"n{each}.txt", "source": f"n{each}"}
                    answer = running.client.post("/v1/documents", json=body)
                    assert answer.status_code == 202, answer.text
                    jobs[f"n{each}"] = answer.json()["jobs"][0]["id"]
                for _ in range(2):
                    _kill_worker(library, 1 + int(chance.expovariate(1 / 80)))
                _finish(library, running.client, jobs)
                _check_uploads(library, list(jobs))
                row.trials += 1
    return row


@contextmanager
def _worker(library: _Library, *more: str, fault: str = "") -> Iterator[subprocess.Popen[bytes]]:
    words = [sys.executable, "-m", "footnotes", "worker", "--library", str(library.folder), *more]
    said = {f"FOOTNOTES_{key.upper()}": value for key, value in library.settings.items()}
    process = subprocess.Popen(
        strace(fault, NETWORK_CALLS, words) if fault else words,
        env=environment(FOOTNOTES_EMBEDDER="hashing", **said),
        stderr=subprocess.DEVNULL,
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait(40)


def _kill_worker(library: _Library, at: int) -> None:
    with _worker(library, "--once", fault=f"signal=SIGKILL:when={at}") as process:
        process.wait(SECONDS)


def _finish(library: _Library, client: httpx.Client, jobs: dict[str, str]) -> None:
    """A worker that lives sees in time that another has died, and does its jobs."""
    end = time.monotonic() + SECONDS
    with _worker(library):
        while time.monotonic() < end:
            states = {source: client.get(f"/v1/jobs/{job}").json()["state"] for source, job in jobs.items()}
            assert "failed" not in states.values(), f"jobs are {states}"
            if set(states.values()) == {"ready"}:
                return
            time.sleep(0.2)
    raise TimeoutError(f"jobs are {states}")


def _check_uploads(library: _Library, sources: list[str]) -> None:
    with quick_library(library.folder, **library.settings) as opened:
        found = sorted(document.source for document in opened.documents())
        assert found == sources, f"{found} were acknowledged was {sources}"
        assert opened.verify().ok
