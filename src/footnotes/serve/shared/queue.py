"""The queue of jobs: procrastinate, in the same PostgreSQL."""

from __future__ import annotations

import logging
from typing import Any

from footnotes.errors import MissingExtra, StoreUnavailable
from footnotes.serve.shared.database import NAME, SharedDatabase
from footnotes.store.postgres.database import Connection

_LOG = logging.getLogger("footnotes.serve")
TASK = "footnotes.take_in"
QUEUE = "footnotes"
_LOWEST_PRIORITY = -30_000
_LOCK = 4607_0003
CONNECT_SECONDS = 5


def make_app(address: str, *, waiting: bool) -> Any:
    """procrastinate's application: one that waits for its answers, for servers, or an asynchronous one, for workers."""
    try:
        import procrastinate
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"PostgreSQL needs the package {error.name!r}, which is not installed",
            remedy='pip install "footnotes[postgres]"',
        ) from error
    made = procrastinate.SyncPsycopgConnector if waiting else procrastinate.PsycopgConnector
    options = {"options": f"-csearch_path={NAME}", "connect_timeout": CONNECT_SECONDS}
    return procrastinate.App(connector=made(conninfo=address, kwargs=options, timeout=CONNECT_SECONDS))


def make_queue_schema(database: SharedDatabase, *, migrate: bool = True) -> None:
    """procrastinate's tables, once."""
    from procrastinate.schema import SchemaManager

    with database.pool.owning() as connection:
        if has_queue_schema(connection):
            return
        if not migrate:
            raise StoreUnavailable("the queue has no tables in this database", remedy="Run `footnotes migrate`.")
        connection.execute("SELECT pg_advisory_lock($1)", _LOCK)
        try:
            if not has_queue_schema(connection):
                connection.execute(f"BEGIN; SET LOCAL search_path TO {NAME};\n{SchemaManager.get_schema()};\nCOMMIT;")
        finally:
            connection.execute("SELECT pg_advisory_unlock($1)", _LOCK)


def has_queue_schema(connection: Connection) -> bool:
    return connection.value("SELECT to_regclass($1)", f"{NAME}.procrastinate_jobs") is not None


class Queue:
    """Where servers put jobs for any worker to take."""

    def __init__(self, address: str, database: SharedDatabase, *, migrate: bool = True) -> None:
        make_queue_schema(database, migrate=migrate)
        self._database = database
        self._app = make_app(address, waiting=True)
        self._app.open()

    def put(self, job_id: str, tenant: str) -> None:
        """Queue a job. The more of a tenant's jobs wait, the later its next one comes: nobody starves anybody.

        Where the queue cannot be reached the job is kept nevertheless: workers look for jobs that are not in it.
        """
        from procrastinate.exceptions import ConnectorException

        try:
            self._database.rows("UPDATE jobs SET token = ? WHERE id = ?", (self._defer(job_id, tenant), job_id))
        except (ConnectorException, StoreUnavailable) as error:
            _LOG.warning("a job waits outside of the queue", extra={"job": job_id, "reason": type(error).__name__})

    def _defer(self, job_id: str, tenant: str) -> int:
        sql = "SELECT count(*) AS n FROM jobs WHERE tenant = ? AND state IN ('queued', 'running')"
        behind = int(self._database.rows(sql, (tenant,))[0]["n"])
        task = self._app.configure_task(name=TASK, queue=QUEUE, priority=max(1 - behind, _LOWEST_PRIORITY))
        return int(task.defer(job_id=job_id))

    def cancel(self, job_id: str) -> None:
        """Take a job from the queue; a worker that is at it breaks off soon."""
        rows = self._database.rows("SELECT token FROM jobs WHERE id = ? AND token IS NOT NULL", (job_id,))
        for row in rows:
            self._app.job_manager.cancel_job_by_id(row["token"], abort=True)

    def close(self) -> None:
        self._app.close()
