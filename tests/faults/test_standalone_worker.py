"""A worker of a shared database, in this process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from footnotes.errors import FootnotesError
from postgres import PostgresServer
from serving import serving, settled
from workers import CUT_WORKERS, until, worker


def test_a_worker_that_always_loses_its_lease_leaves_no_job_in_the_queue_for_ever(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Each attempt is cut off in the middle: after a bounded number the job has failed, and says why."""
    from footnotes.server.standalone import Worker
    from footnotes.settings import load

    address = postgres.fresh()
    with serving(tmp_path, store=address, serve_worker=False) as server:
        job = server.client.post("/v1/documents", files={"file": ("a.md", b"Some text.")}).json()["jobs"][0]["id"]
        cut = Worker(tmp_path, load(tmp_path, store=address, embedder="hashing", worker_retry_seconds=0.01))
        try:

            def lose() -> bool:
                postgres.execute(CUT_WORKERS, address=address)
                time.sleep(0.2)
                return False

            deadline = time.monotonic() + 180
            while time.monotonic() < deadline:  # some tries do not even get to claim it
                with suppress(FootnotesError):
                    cut.work_once(lose)
                cut.heal()
                if server.client.get(f"/v1/jobs/{job}").json()["state"] == "failed":
                    break
        finally:
            cut.close()
        done = server.client.get(f"/v1/jobs/{job}").json()
        assert done["state"] == "failed" and "lost" in done["error"]["message"] and done["attempts"] == 5
        assert server.client.post(f"/v1/jobs/{job}/retry").json()["state"] == "queued"
        with worker(address, tmp_path):
            assert settled(server.client, job)["state"] == "ready"


def test_a_server_is_ready_when_the_schema_is_there_and_a_worker_lives(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    from footnotes.server.postgres import PostgresDatabase

    address = postgres.empty()
    PostgresDatabase(address).close()  # its own tables are there, those of the documents are not
    with serving(tmp_path, store=address, serve_worker=False, migrate=False) as server:
        answer = server.client.get("/readyz")
        assert answer.status_code == 503
        assert not answer.json()["checks"]["schema"] and not answer.json()["checks"]["workers"]
        migrated = {**os.environ, "FOOTNOTES_STORE": address}
        subprocess.run([sys.executable, "-m", "footnotes", "migrate"], env=migrated, check=True)
        until(lambda: server.client.get("/readyz").json()["checks"]["schema"])
        assert server.client.get("/readyz").status_code == 503
        with worker(address, tmp_path) as process:
            until(lambda: server.client.get("/readyz").status_code == 200)
            process.kill()
            until(lambda: server.client.get("/readyz").status_code == 503)
