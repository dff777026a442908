"""Quotas: a bucket of requests and a budget for each key, and answers by month for each tenant."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import UTC, datetime

from footnotes.errors import FootnotesError, QuotaExceeded, RateLimited, StoreError
from footnotes.server.database import ServerDatabase, one
from footnotes.types import Usage

_LOG = logging.getLogger("footnotes.server")
_MOST_BUCKETS = 10_000
_MICROS = 1_000_000
"""Money is stored in whole millionths of a dollar."""
KEY: ContextVar[str] = ContextVar("key", default="")
"""The id of the key of a request; empty if the server has no keys."""


class Buckets:
    """A token bucket for each name: `burst` at once, refilled by `rate` a minute. Time is monotonic.

    With a database all servers share the buckets.
    """

    def __init__(
        self,
        rate: int,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        *,
        database: ServerDatabase | None = None,
    ) -> None:
        self._rate = max(rate, 1) / 60
        self._burst = max(burst, 1)
        self._clock = clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._guard = threading.Lock()
        self._database = database
        if database is not None:
            database.change("forget_tokens")

    @property
    def is_local(self) -> bool:
        """Whether it is fast enough for the event loop."""
        return self._database is None

    def take(self, name: str) -> None:
        """Take one token; raise `RateLimited` with the time of the next if there is none."""
        if self._database is not None:
            try:
                self._take_shared(self._database, name)
                return
            except StoreError as error:  # each server counts for itself in the meantime
                _LOG.error("requests cannot be counted together", extra={"code": error.code, "reason": error.message})
        with self._guard:
            moment = self._clock()
            level = self._level(name, moment)
            allowed = level >= 1
            self._levels.pop(name, None)
            self._levels[name] = (level - 1 if allowed else level, moment)
            if len(self._levels) > _MOST_BUCKETS:
                self._levels.popitem(last=False)
        if not allowed:
            raise self._rate_error(level)

    def check(self, name: str) -> None:
        """Raise `RateLimited` if there is no token; take none."""
        level = self._shared_level(self._database, name) if self._database is not None else None
        if level is None:
            with self._guard:
                level = self._level(name, self._clock())
        if level < 1:
            raise self._rate_error(level)

    def _level(self, name: str, moment: float) -> float:
        level, before = self._levels.get(name, (float(self._burst), moment))
        return min(self._burst, level + (moment - before) * self._rate)

    def _take_shared(self, database: ServerDatabase, name: str) -> None:
        if not database.change("take_token", name=name, burst=float(self._burst), rate=self._rate):
            raise self._rate_error(self._shared_level(database, name) or 0.0)

    def _shared_level(self, database: ServerDatabase, name: str) -> float | None:
        """Return the number of tokens; None if the database fails."""
        try:
            row = one(database.all("token_level", name=name, burst=float(self._burst), rate=self._rate))
        except StoreError:
            return None
        return float(row["level"]) if row else float(self._burst)

    def _rate_error(self, level: float) -> RateLimited:
        error = RateLimited(f"more than {self._rate * 60:.0f} requests a minute were made")
        error.retry_after = (1 - level) / self._rate
        return error


@dataclass(frozen=True, slots=True)
class Allowance:
    """The remaining answers of a month."""

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
    """A quota as clients of other systems read it."""

    limit: int
    remaining: int
    resetDate: str  # noqa: N815


class Answers:
    """Counts the answers of each tenant by calendar month (UTC)."""

    def __init__(self, database: ServerDatabase, limit: int, budget: float = 0.0) -> None:
        self._database = database
        self.limit = limit
        self.budget = budget

    def take(self, tenant: str) -> Allowance:
        """Count one answer before it is made. A counter that fails does not stop the answer."""
        moment = datetime.now(UTC)
        self._check_budget(moment)
        try:
            month = {"tenant": tenant, "month": _month(moment)}
            rows = self._database.change("count_answer", **month, limit=self.limit) if self.limit > 0 else []
        except FootnotesError as error:
            _LOG.error("answers cannot be counted", extra={"code": error.code, "reason": error.message})
            return Allowance(self.limit, 0, _next_month(moment))
        if not rows:
            raise OverQuota(Allowance(self.limit, self.limit, _next_month(moment)))
        return Allowance(self.limit, rows[0]["used"], _next_month(moment))

    def refund(self, tenant: str) -> None:
        """Uncount an answer that failed."""
        with suppress(FootnotesError):
            self._database.change("uncount_answer", tenant=tenant, month=_month(datetime.now(UTC)))

    def _check_budget(self, moment: datetime) -> None:
        """Raise if the key of this request has spent its budget. A counter that fails does not stop the answer."""
        if not self.budget:
            return
        with suppress(StoreError):
            if self.spent(KEY.get()) >= self.budget:
                reset = _next_month(moment)
                error = QuotaExceeded(
                    f"this key has spent its ${self.budget:,.2f} for models this month; it resets on {reset:%-d %B}",
                    remedy="Wait for that date, use another key, or raise serve_key_budget in the settings.",
                )
                error.retry_after = math.ceil((reset - moment).total_seconds())
                raise error

    def spend(self, key: str, usage: Usage) -> None:
        """Count the cost of an answer, if known."""
        if not usage.cost_usd:
            return
        with suppress(FootnotesError):
            micros = math.ceil(usage.cost_usd * _MICROS)
            self._database.change("spend", key_id=key, month=_month(datetime.now(UTC)), micros=micros)

    def spent(self, key: str) -> float:
        """Return the US dollars that a key has spent this month."""
        row = one(self._database.all("spent", key_id=key, month=_month(datetime.now(UTC))))
        return row["micros"] / _MICROS if row else 0.0

    def allowance(self, tenant: str) -> Allowance:
        moment = datetime.now(UTC)
        row = one(self._database.all("answers_of", tenant=tenant, month=_month(moment)))
        return Allowance(self.limit, row["used"] if row else 0, _next_month(moment))


class OverQuota(QuotaExceeded):
    """The month's answers are used up."""

    def __init__(self, allowance: Allowance) -> None:
        super().__init__(
            f"all {allowance.limit:,} answers of this month are used; the quota resets on {allowance.reset:%-d %B}"
        )
        self.allowance = allowance
        self.retry_after = math.ceil((allowance.reset - datetime.now(UTC)).total_seconds())


def _month(moment: datetime) -> str:
    return f"{moment:%Y-%m}"


def _next_month(moment: datetime) -> datetime:
    year, month = divmod(moment.year * 12 + moment.month, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)
