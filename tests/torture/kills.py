"""A writer is killed (SIGKILL) at a random event of its files, over many lives of one library."""

from __future__ import annotations

import random
import shutil
import tempfile
from pathlib import Path

from killing import IS_LINUX, run_until_file
from oracle import Oracle
from torture import Budget, Row
from torture.judge import command, environment, judge, noted
from torture.victim import ACTIONS

_LIVES = 12  # of one library, before a new one begins


def kills(name: str, *, budget: Budget, seed: int, actions: tuple[str, ...] = ACTIONS) -> Row:
    """Every action in turn, killed at a random creation, deletion, renaming or writing of a file."""
    row = Row(name, skipped="" if IS_LINUX else "inotify is needed to see files change")
    if row.skipped:
        return row
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        lives = {action: _Lives(Path(place) / action, action, chance) for action in actions}
        for number in budget.rounds():
            lives[actions[number % len(actions)]].next(number + seed * 10_000, row)
    return row


class _Lives:
    """One library of one action, and what its victims acknowledged."""

    def __init__(self, place: Path, action: str, chance: random.Random) -> None:
        self._place, self._action, self._chance = place, action, chance
        self._oracle, self._lives = Oracle(), 0
        self._events = 150  # how many a life has, corrected when one is not killed

    def next(self, number: int, row: Row) -> None:
        if self._lives == _LIVES:
            self._begin_anew()
        self._lives += 1
        folder, at, before = self._place / "library", self._chance.randrange(self._events), len(row.cases)
        with noted(row, f"{self._action} {number}, killed at event {at}", self._place):
            words = command(folder, self._action, number)
            ended = run_until_file(words, folder, "", skip=at, writes=True, env=environment())
            self._events = max(self._events, at + 50) if ended.killed else max(ended.events, 20)
            assert ended.killed or ended.status == 0, f"the victim ended with {ended.status}"
            row.trials += ended.killed
            self._oracle.read(ended.output)
            judge(folder, self._oracle, number)
        if len(row.cases) != before:
            self._begin_anew()

    def _begin_anew(self) -> None:
        shutil.rmtree(self._place, ignore_errors=True)
        self._oracle, self._lives = Oracle(), 0
