"""A full disk, no descriptors, clocks that jump: refused with a code, nothing acknowledged is lost, work goes on."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oracle import Oracle
from torture import Budget, Row
from torture.judge import SECONDS, command, environment, judge, noted

ACTIONS = ("add", "delete", "reindex", "compact", "sync")
YEAR = 365 * 24 * 3600


def full_disk(name: str, *, budget: Budget, seed: int) -> Row:
    """A writer on a disk of a few megabytes; then the disk grows, and all that was acknowledged must be there."""
    row, chance = Row(name, skipped="" if os.geteuid() == 0 else "only root mounts disks"), random.Random(seed)
    if row.skipped:
        return row
    for number in budget.rounds():
        action, kilobytes = ACTIONS[number % len(ACTIONS)], chance.randint(600, 3_000)
        with (
            noted(row, f"{action} {number}, {kilobytes} kB"),
            tempfile.TemporaryDirectory() as place,
            small_disk(Path(place) / "disk", kilobytes) as disk,
        ):
            oracle, documents = Oracle(), Path(place) / "documents"
            options = ("--rounds", 60, "--documents", documents)
            run(row, disk / "library", action, seed * 10_000 + number, oracle, *options)
            subprocess.run(["mount", "-o", "remount,size=200m", str(disk)], check=True, timeout=60)
            judge(disk / "library", oracle, number)
        row.trials += 1
    return row


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(folder)], check=True, timeout=60)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)


def no_descriptors(name: str, *, budget: Budget, seed: int) -> Row:
    """A writer that may open only a few more files."""
    row, chance = Row(name), random.Random(seed)
    for number in budget.rounds():
        action, left = ACTIONS[number % len(ACTIONS)], chance.randint(2, 16)  # two: the victim opens files of its own
        with noted(row, f"{action} {number}, {left} descriptors"), tempfile.TemporaryDirectory() as place:
            folder, oracle = Path(place) / "library", Oracle()
            run(row, folder, action, seed * 10_000 + number, oracle, "--descriptors", left)
            judge(folder, oracle, number)
        row.trials += 1
    return row


def run(row: Row, folder: Path, action: str, seed: int, oracle: Oracle, *more: object) -> None:
    """One life of a victim that is refused things; it must end by itself."""
    words = command(folder, action, seed, *more)
    ended = subprocess.run(words, env=environment(), capture_output=True, text=True, timeout=SECONDS, check=False)
    oracle.read(ended.stdout)
    if ended.returncode:
        row.note("crashed", f"{' '.join(words[3:])} ended with {ended.returncode}: {ended.stderr[-250:]}")


def clock_jumps(name: str, *, budget: Budget, seed: int) -> Row:
    """Lives of one library in years that come in no order; in each the clock jumps, and some are killed."""
    library = _libfaketime()
    row, chance = Row(name, skipped="" if library else "libfaketime is not installed"), random.Random(seed)
    if row.skipped:
        return row
    with tempfile.TemporaryDirectory() as place:
        oracle = Oracle()
        for number in budget.rounds():
            action = ACTIONS[number % len(ACTIONS)]
            with noted(row, f"{action} {number}", Path(place)):
                _live(Path(place), action, seed * 10_000 + number, oracle, chance, library)
                judge(Path(place) / "library", oracle, number)
            row.trials += 1
    return row


def _live(place: Path, action: str, seed: int, oracle: Oracle, chance: random.Random, library: str) -> None:
    clock = place / "clock"
    _set(clock, chance)
    faked = {"LD_PRELOAD": library, "FAKETIME_TIMESTAMP_FILE": str(clock), "FAKETIME_NO_CACHE": "1"}
    words = command(place / "library", action, seed, "--rounds", 8)
    settings = environment(**faked, FAKETIME_DONT_FAKE_MONOTONIC="1")
    victim = subprocess.Popen(words, env=settings, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        for _ in range(4):
            time.sleep(0.5)
            _set(clock, chance)
        if chance.random() < 0.3:
            victim.send_signal(signal.SIGKILL)
        output, _ = victim.communicate(timeout=SECONDS)
    finally:
        victim.kill()
        victim.wait()
    oracle.read(output)
    assert victim.returncode in (0, -signal.SIGKILL), f"the victim ended with {victim.returncode}"


def _set(clock: Path, chance: random.Random) -> None:
    fresh = clock.with_suffix(".new")
    fresh.write_text(f"{chance.choice((-1, 1)) * chance.randint(1, 3 * YEAR):+d}\n")
    fresh.replace(clock)


def _libfaketime() -> str:
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    return str(found[0]) if found and shutil.which("faketime") else ""
