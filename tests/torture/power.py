"""Power cuts: what was acknowledged before the cut is on the disk after it.

The control is the same with `PRAGMA synchronous = OFF`: it must lose, or the campaign shows nothing.
"""

from __future__ import annotations

import importlib.util
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from oracle import Oracle
from torture import Budget, Row
from torture.judge import SECONDS, command, environment, judge, noted

MEGABYTES = 96
ACTIONS = ("add", "delete", "reindex", "compact", "sync")
CONTROLS = 12  # cuts without syncs; one of them must lose
MODES = ("none", "all", "prefix", "some", "shuffle")  # of torture.disk, which imports what may not be there


def power_cuts(name: str, *, budget: Budget, seed: int) -> Row:
    """Cut the power of a disk under every kind of writer, after random times."""
    row = Row(name, skipped=missing())
    if row.skipped:
        return row
    chance = random.Random(seed)
    controls, lost = control(chance, seed)
    row.name = f"{name} (without syncs {lost} of {controls} lost)"
    if not lost:
        row.note("wrong", f"none of {controls} cuts without syncs lost anything: the campaign shows nothing")
    for number in budget.rounds():
        action, mode = ACTIONS[number % len(ACTIONS)], chance.choice(MODES)
        with noted(row, f"{action} {number}, {mode}"), tempfile.TemporaryDirectory() as place:
            cut(Path(place), action, mode, seed * 10_000 + number, chance)
        row.trials += 1
    return row


def control(chance: random.Random, seed: int) -> tuple[int, int]:
    """Cuts without syncs until one loses: how many, and how many lost."""
    for number in range(CONTROLS):
        row = Row("control")
        with noted(row, "control"), tempfile.TemporaryDirectory() as place:
            cut(Path(place), "add", "none", seed * 10_000 + number, chance, "--unsynced")
        if row.lost or row.wrong:
            return number + 1, 1
    return CONTROLS, 0


def missing() -> str:
    """What this machine lacks."""
    if os.geteuid() != 0:
        return "only root mounts disks"
    if importlib.util.find_spec("mfusepy") is None:
        return "mfusepy is not installed: pip install 'footnotes[torture]'"
    for tool in ("fusermount3", "mkfs.ext4", "losetup"):
        if shutil.which(tool) is None:
            return f"{tool} is not installed"
    lacking = [device for device in ("/dev/fuse", "/dev/loop-control") if not Path(device).exists()]
    return f"there is no {lacking[0]}" if lacking else ""


def cut(place: Path, action: str, mode: str, seed: int, chance: random.Random, *more: str) -> None:
    """One writer, one cut, one look at what the disk holds."""
    image, oracle = place / "after.img", Oracle()
    with disk(place / "fuse") as volatile, mounted(volatile / "disk.img", place / "before") as before:
        words = [*command(before / "library", action, seed, "--rounds", 1_000), *more]
        with (place / "said").open("wb") as said:
            victim = subprocess.Popen(words, env=environment(), stdout=said, stderr=subprocess.DEVNULL)
        try:
            _await_acknowledgement(victim, place / "said")
            time.sleep(2 * chance.random())
            victim.send_signal(signal.SIGSTOP)
            os.waitpid(victim.pid, os.WUNTRACED)  # what it says after this is not from before the cut
            oracle.read((place / "said").read_text().rpartition("\n")[0])
            _write(volatile / "cut", f"{mode} {seed} {image}")
        finally:
            victim.kill()
            victim.wait()
    # At the same place: a sync knows its files by their paths.
    with mounted(image, place / "before") as after:
        judge(after / "library", oracle, seed)


def _await_acknowledgement(victim: subprocess.Popen[bytes], said: Path) -> None:
    end = time.monotonic() + SECONDS
    while "+ " not in said.read_text():
        if victim.poll() is not None or time.monotonic() > end:
            raise TimeoutError(f"the victim acknowledged nothing and ended with {victim.returncode}")
        time.sleep(0.02)


def _write(path: Path, order: str) -> None:
    file = os.open(path, os.O_WRONLY)
    try:
        os.write(file, order.encode())
    finally:
        os.close(file)


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    """A disk with a volatile cache, with an empty file system on it."""
    folder.mkdir()
    words = [sys.executable, "-m", "torture.disk", str(MEGABYTES), str(folder)]
    process = subprocess.Popen(words, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(500):
            if (folder / "disk.img").exists():
                break
            time.sleep(0.02)
        _run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0", str(folder / "disk.img"))
        yield folder
    finally:
        subprocess.run(["fusermount3", "-u", "-z", str(folder)], check=False, capture_output=True)
        process.kill()
        process.wait()


@contextmanager
def mounted(image: Path, folder: Path) -> Iterator[Path]:
    """A file system in an image. Unmounting may fail, as it does when the power is gone."""
    folder.mkdir(exist_ok=True)
    _run("mount", "-o", "loop", str(image), str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)


def _run(*words: str) -> None:
    subprocess.run(words, check=True, capture_output=True, timeout=60)
