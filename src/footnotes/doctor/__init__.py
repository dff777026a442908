"""Checks everything on a machine that can keep Footnotes from working, and says what to do about each problem."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from footnotes.errors import FootnotesError

State = Literal["ok", "warning", "problem", "skipped"]


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at: what was found, and what to do where that is not as it should be."""

    name: str
    state: State
    found: str
    remedy: str = ""


Checks = Iterator[Check]


def guard(name: str, checks: Callable[[], Checks]) -> Checks:
    """Run checks of one topic. One that breaks is a problem of its own and stops no other topic."""
    try:
        yield from checks()
    except FootnotesError as error:
        yield Check(name, "problem", error.message, error.remedy)
    except Exception as error:
        yield Check(name, "problem", f"{type(error).__name__}: {error}", "Please report this; it should not happen.")
