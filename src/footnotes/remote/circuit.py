"""A circuit breaker: after repeated failures, calls to a dead provider fail at once until it may be back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from footnotes.errors import FootnotesError, ProviderUnavailable

FAILURES = 5
COOLING_SECONDS = 30.0


class Circuit:
    """Closed: calls pass. Open: they fail at once. After cooling, one call is let through to try."""

    def __init__(
        self,
        provider: str,
        *,
        failures: int = FAILURES,
        cooling: float = COOLING_SECONDS,
        error: type[FootnotesError] = ProviderUnavailable,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._provider, self._allowed, self._cooling, self._clock = provider, failures, cooling, clock
        self._error = error
        self._failed = 0
        self._cause = ""
        self._cools = cooling
        self._until = 0.0
        self._lock = threading.Lock()

    def enter(self) -> None:
        """Let a call pass, or raise while the circuit is open."""
        with self._lock:
            if self._failed < self._allowed:
                return
            wait = self._until - self._clock()
            if wait > 0:
                cause = self._cause or f"{self._provider} failed {self._failed} times in a row"
                raise self._error(f"{cause}; the next attempt is in {wait:.0f} s")
            self._until = self._clock() + self._cools

    def succeeded(self) -> None:
        with self._lock:
            self._failed = 0

    def failed(self, cause: str = "", *, cooling: float | None = None) -> None:
        """Count a failed call. While the circuit is open, for `cooling` seconds, calls raise with this cause."""
        with self._lock:
            self._cause = cause
            self._cools = self._cooling if cooling is None else cooling
            self._failed += 1
            if self._failed >= self._allowed:
                self._until = self._clock() + self._cools
