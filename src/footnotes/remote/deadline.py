"""A moment by which everything must be over."""

from __future__ import annotations

import time
from collections.abc import Callable


class Deadline:
    """Counts down on the monotonic clock; None never ends."""

    def __init__(self, seconds: float | None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds

    def remaining(self, most: float) -> float:
        """The seconds left, at most so many, never below zero."""
        return most if self._end is None else max(0.0, min(most, self._end - self._clock()))

    @property
    def over(self) -> bool:
        return self._end is not None and self._clock() >= self._end
