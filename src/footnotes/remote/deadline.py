"""Deadlines, and the time to wait before a retry."""

from __future__ import annotations

import random
import time


class Deadline:
    """Counts down on the monotonic clock; None never ends."""

    def __init__(self, seconds: float | None) -> None:
        self._end = None if seconds is None else time.monotonic() + seconds

    def remaining(self, most: float) -> float:
        """The seconds left, between 0 and `most`."""
        return most if self._end is None else max(0.0, min(most, self._end - time.monotonic()))

    @property
    def over(self) -> bool:
        return self._end is not None and time.monotonic() >= self._end


def backoff(attempt: int, *, retry_after: float | None = None, first: float = 0.5, longest: float = 30.0) -> float:
    """Return the seconds to wait after an attempt, counted from 1: as the server asked, else doubling with full jitter.

    Full jitter: Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
    """
    if retry_after is not None:
        return retry_after
    return random.uniform(0, min(longest, first * 2.0 ** (attempt - 1)))
