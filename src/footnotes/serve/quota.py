"""How much is allowed: a bucket of requests for each key, and answers by calendar month for each tenant."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from footnotes.errors import FootnotesError, QuotaExceeded, RateLimited
from footnotes.serve.database import ServerDatabase

_LOG = logging.getLogger("footnotes.serve")
_MOST_BUCKETS = 10_000


class Buckets:
    """A token bucket for each name: `burst` at once, refilled by `rate` a minute. Time is monotonic."""

    is_local = True  # asked in no time, on the event loop itself

    def __init__(self, rate: int, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate = max(rate, 1) / 60
        self._burst = max(burst, 1)
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._guard = threading.Lock()

    def take(self, name: str) -> None:
        """One token, or `RateLimited` that says when there is one again."""
        with self._guard:
            moment = self._clock()
            level = self._level(name, moment)
            allowed = level >= 1
            self._levels.pop(name, None)
            self._levels[name] = (level - 1 if allowed else level, moment)
            if len(self._levels) > _MOST_BUCKETS:
                self._levels.popitem(last=False)
        if not allowed:
            raise self._limited(level)

    def check(self, name: str) -> None:
        """`RateLimited` where there is no token; none is taken."""
        with self._guard:
            level = self._level(name, self._clock())
        if level < 1:
            raise self._limited(level)

    def _level(self, name: str, moment: float) -> float:
        level, before = self._levels.get(name, (float(self._burst), moment))
        return min(self._burst, level + (moment - before) * self._rate)

    def _limited(self, level: float) -> RateLimited:
        error = RateLimited(f"more than {self._rate * 60:.0f} requests a minute were made")
        error.retry_after = (1 - level) / self._rate
        return error


@dataclass(frozen=True, slots=True)
class Allowance:
    """What is left of a month's answers."""

    limit: int
    used: int
    reset: datetime = field(metadata={"json": None})

    @property
    def remaining(self) -> int:
        return max(self.limit - self.used, 0)

    @property
    def resetDate(self) -> str:  # noqa: N802 (the name that clients of other systems know)
        return self.reset.isoformat()

    def rate_limit(self) -> RateLimit:
        return RateLimit(self.limit, self.remaining, self.resetDate)


@dataclass(frozen=True, slots=True)
class RateLimit:
    """What other systems say of a quota."""

    limit: int
    remaining: int
    resetDate: str  # noqa: N815


class Answers:
    """Counts the answers of each tenant by calendar month (UTC)."""

    def __init__(self, database: ServerDatabase, limit: int) -> None:
        self._database = database
        self.limit = limit

    def take(self, tenant: str) -> Allowance:
        """Count one answer before it is made; a counter that fails does not keep anybody from asking."""
        moment = datetime.now(UTC)
        try:
            rows = self._database.rows(
                "INSERT INTO answers VALUES (?, ?, 1) ON CONFLICT (tenant, month) DO UPDATE "
                "SET used = answers.used + 1 WHERE answers.used < ? "
                "RETURNING used",
                (tenant, _month(moment), self.limit),
            ) if self.limit > 0 else []  # fmt: skip
        except FootnotesError as error:
            _LOG.error("answers cannot be counted", extra={"code": error.code, "reason": error.message})
            return Allowance(self.limit, 0, _next_month(moment))
        if not rows:
            raise OverQuota(Allowance(self.limit, self.limit, _next_month(moment)))
        return Allowance(self.limit, rows[0]["used"], _next_month(moment))

    def give_back(self, tenant: str) -> None:
        """An answer that failed is not counted."""
        with suppress(FootnotesError):
            self._database.rows(
                "UPDATE answers SET used = used - 1 WHERE tenant = ? AND month = ? AND used > 0",
                (tenant, _month(datetime.now(UTC))),
            )

    def look(self, tenant: str) -> Allowance:
        moment = datetime.now(UTC)
        values = (tenant, _month(moment))
        rows = self._database.rows("SELECT used FROM answers WHERE tenant = ? AND month = ?", values)
        return Allowance(self.limit, rows[0]["used"] if rows else 0, _next_month(moment))


class OverQuota(QuotaExceeded):
    """The month's answers are used up."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(f"all {allowance.limit:,} answers of this month are used; more from {allowance.reset:%-d %B}")
        self.allowance = allowance
        self.retry_after = math.ceil((allowance.reset - datetime.now(UTC)).total_seconds())


def _month(moment: datetime) -> str:
    return f"{moment:%Y-%m}"


def _next_month(moment: datetime) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)
