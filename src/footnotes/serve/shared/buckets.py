"""How many requests are allowed, on all servers of a database together."""

from __future__ import annotations

import logging

from footnotes.errors import FootnotesError
from footnotes.serve.quota import Buckets
from footnotes.serve.shared.database import SharedDatabase

_LOG = logging.getLogger("footnotes.serve")
_TAKE = """
INSERT INTO buckets AS b (name, level, filled_at) VALUES ($1, $2::double precision - 1, clock_timestamp())
ON CONFLICT (name) DO UPDATE SET filled_at = clock_timestamp(), level = least($2,
    b.level + extract(epoch FROM clock_timestamp() - b.filled_at) * $3::double precision) - 1
WHERE b.level + extract(epoch FROM clock_timestamp() - b.filled_at) * $3 >= 1 RETURNING level
"""
_LEVEL = """
SELECT least($2::double precision, level + extract(epoch FROM clock_timestamp() - filled_at) * $3::double precision)
    AS level FROM buckets WHERE name = $1
"""
_FORGET = "DELETE FROM buckets WHERE filled_at < now() - interval '1 day'"


class SharedBuckets(Buckets):
    """As `Buckets`, in the database: a request is counted by whichever server it reaches."""

    is_local = False

    def __init__(self, database: SharedDatabase, rate: int, burst: int) -> None:
        super().__init__(rate, burst)
        self._database = database
        database.rows(_FORGET)

    def take(self, name: str) -> None:
        try:
            taken = self._database.rows(_TAKE, (name, float(self._burst), self._rate))
        except FootnotesError as error:  # each server counts for itself meanwhile
            _LOG.error("requests cannot be counted together", extra={"code": error.code, "reason": error.message})
            super().take(name)
            return
        if not taken:
            raise self._limited(self._stored(name))

    def check(self, name: str) -> None:
        try:
            level = self._stored(name)
        except FootnotesError:
            super().check(name)
            return
        if level < 1:
            raise self._limited(level)

    def _stored(self, name: str) -> float:
        rows = self._database.rows(_LEVEL, (name, float(self._burst), self._rate))
        return float(rows[0]["level"]) if rows else float(self._burst)
