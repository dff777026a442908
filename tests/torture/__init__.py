"""Long campaigns against a running product. Each gives one row of a table; all but its trials should be zero.

`python -m torture` (with `tests` on the path) runs those of this package; each is a function that gives a `Row`.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from footnotes.index import dense

FEW_ROWS = 2_000
if "pytest" not in sys.modules:  # there a fixture does it, and takes it back for the tests that come after
    dense.SCANNED_ROWS = FEW_ROWS  # libraries here are small, and are to have a graph all the same


@dataclass
class Row:
    """What came of one campaign, and of what went wrong the first few cases."""

    name: str
    trials: int = 0
    lost: int = 0
    wrong: int = 0
    leaked: int = 0
    crashed: int = 0
    stuck: int = 0
    cases: list[str] = field(default_factory=list)
    skipped: str = ""  # why the campaign cannot run here

    def note(self, kind: str, case: str) -> None:
        setattr(self, kind, getattr(self, kind) + 1)
        if len(self.cases) < 20:
            self.cases.append(f"{kind}: {case}"[:400])

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.wrong or self.leaked or self.crashed or self.stuck)


@dataclass(frozen=True, slots=True)
class Budget:
    """A campaign ends after so many trials or so many seconds, whichever comes first."""

    trials: int
    seconds: float = math.inf

    def rounds(self) -> Iterator[int]:
        end = time.monotonic() + self.seconds
        for number in range(self.trials):
            if number and time.monotonic() >= end:
                return
            yield number


COLUMNS = ("trials", "lost", "wrong", "leaked", "crashed", "stuck")


def table(rows: list[Row]) -> str:
    """The rows as Markdown."""
    lines = ["| campaign | " + " | ".join(COLUMNS) + " |", "| --- |" + " ---: |" * len(COLUMNS)]
    for row in rows:
        name = f"{row.name} (skipped: {row.skipped})" if row.skipped else row.name
        lines.append(f"| {name} | " + " | ".join(f"{getattr(row, column):,}" for column in COLUMNS) + " |")
    return "\n".join(lines)
