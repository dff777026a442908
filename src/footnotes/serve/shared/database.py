"""The server's own tables in PostgreSQL, in a schema of their own beside the documents."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from footnotes.serve.database import SCHEMA
from footnotes.store.postgres.database import Connection, Database

NAME = "footnotes_server"
_LOCK = 4607_0002
_TYPES = (
    ("INTEGER PRIMARY KEY AUTOINCREMENT", "bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY"),
    ("INTEGER", "bigint"),
    ("BLOB", "bytea"),
    (") STRICT", ")"),
)
_MORE = r"""
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS bytes bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS stage text;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS done bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS total bigint NOT NULL DEFAULT 0;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS token bigint;
ALTER TABLE jobs ADD COLUMN IF NOT EXISTS holder integer;
CREATE TABLE IF NOT EXISTS buckets (
    name text PRIMARY KEY, level double precision NOT NULL, filled_at timestamptz NOT NULL);
CREATE SEQUENCE IF NOT EXISTS holders AS integer CYCLE;
CREATE OR REPLACE VIEW living AS SELECT objid::integer AS holder FROM pg_locks
    WHERE locktype = 'advisory' AND classid = 4610 AND objsubid = 2
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database());
-- A job, unless too many wait or too many bytes do: one at a time for a tenant, whichever server is asked.
CREATE OR REPLACE FUNCTION accept_job(
    new_id text, owner text, what text, label text, said text, file text, size bigint, moment text,
    most_waiting bigint, since text, room bigint) RETURNS SETOF jobs LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(4612, hashtext(owner));
    RETURN QUERY INSERT INTO jobs (id, tenant, kind, name, request, spool, bytes, state, created_at, updated_at)
    SELECT new_id, owner, what, label, said, file, size, 'queued', moment, moment
    WHERE (SELECT count(*) FROM jobs j WHERE j.tenant = owner AND j.state IN ('queued', 'running')) < most_waiting
    AND (room < 0 OR size + (SELECT coalesce(sum(j.bytes), 0) FROM jobs j WHERE j.tenant = owner
                             AND (j.spool IS NOT NULL OR j.updated_at >= since)) <= room)
    RETURNING *;
END $$;
-- What a job is about, as it is written in its request: one that is not valid JSON must not keep others from theirs.
CREATE OR REPLACE VIEW job_places AS SELECT id, number, tenant, kind, state,
    substring(request FROM '"collection": (null|"(?:[^"\\]|\\.)*")') AS collection,
    substring(request FROM '"(?:source|url)": ("(?:[^"\\]|\\.)*")') AS source FROM jobs;
-- Jobs that no earlier one of the same source holds back.
CREATE OR REPLACE VIEW jobs_in_turn AS SELECT * FROM (
    SELECT *, row_number() OVER (PARTITION BY tenant, collection, source ORDER BY number) AS turn
    FROM job_places WHERE state IN ('queued', 'running')) unfinished WHERE turn = 1 OR source IS NULL;
CREATE INDEX IF NOT EXISTS jobs_unfinished ON jobs (updated_at) WHERE state IN ('queued', 'running');
"""


class SharedDatabase:
    """As `ServerDatabase`, for any number of servers: the same statements, in PostgreSQL's spelling."""

    def __init__(self, address: str) -> None:
        self.pool = Database(address, role=None, path=NAME, most=8)
        try:
            with self.pool.owning() as connection:
                _make_schema(connection)
            self.pool.open()
        except BaseException:
            self.pool.close()
            raise

    def rows(self, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
        """Run one statement; its rows by the names of their columns."""
        with self.pool.reading("") as connection:
            return [dict(row) for row in connection.fetch(spelled(sql), *values)]

    def mark_keyed(self) -> None:
        """Keys are in the database that holds the documents: without it there is nothing to serve."""

    def checkpoint(self) -> None:
        """What the log of a PostgreSQL keeps is its owner's business."""

    def close(self) -> None:
        self.pool.close()


@lru_cache(maxsize=256)
def spelled(sql: str) -> str:
    """A statement written for SQLite, as PostgreSQL reads it."""
    numbers = itertools.count(1)
    sql = re.sub(r"\bifnull\(", "coalesce(", sql)
    return re.sub(r"\?", lambda _: f"${next(numbers)}", sql)


def _make_schema(connection: Connection) -> None:
    script = SCHEMA
    for theirs, ours in _TYPES:
        script = script.replace(theirs, ours)
    connection.execute("SELECT pg_advisory_lock($1)", _LOCK)  # several servers may start at once
    try:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {NAME}; SET search_path TO {NAME};\n{script}\n{_MORE}")
    finally:
        connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)
