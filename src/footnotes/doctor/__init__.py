"""Checks of everything on a machine that can break Footnotes, with a remedy for each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from footnotes.errors import FootnotesError

State = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check: its result, and what to do about a problem."""

    name: str
    state: State
    found: str
    remedy: str = ""


Checks = Iterator[Check]


def guard(name: str, checks: Callable[[], Checks]) -> Checks:
    """Run the checks of one topic. An error is reported as a problem; other topics continue."""
    try:
        yield from checks()
    except FootnotesError as error:
        yield Check(name, "problem", error.message, error.remedy)
    except Exception as error:
        yield Check(name, "problem", f"{type(error).__name__}: {error}", "Please report this error.")
