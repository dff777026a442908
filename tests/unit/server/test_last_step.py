"""The last step of a job: its bytes go only after it is written down that they are not needed any more."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import StoreFull
from footnotes.server.jobs import Jobs
from serving import serving, settled


def test_a_server_that_dies_at_the_end_of_a_job_finds_its_bytes_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, died = Jobs.change, []

    def dying(self: Jobs, job: Any, **fields: Any) -> Any:
        if fields.get("state") == "ready":
            died.append(job.id)
            raise RuntimeError("as a kill would end it")
        return change(self, job, **fields)

    monkeypatch.setattr(Jobs, "change", dying)
    with serving(tmp_path) as server:
        answer = server.client.post("/v1/documents", files={"file": ("a.md", b"# A\n\nThe lantern is lit at dusk.\n")})
        job = answer.json()["jobs"][0]["id"]
        for _ in range(400):
            if died:
                break
            time.sleep(0.05)
        assert died, "the moment came"
        assert list((tmp_path / "spool").iterdir()), "its bytes are there for another try"
    monkeypatch.undo()
    with serving(tmp_path) as server:
        done = settled(server.client, job)
        assert done["state"] == "ready", done
        assert len(server.client.get("/v1/documents").json()["documents"]) == 1
        assert not list((tmp_path / "spool").iterdir())


def test_jobs_go_on_after_a_disk_that_was_full_for_a_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What became of them could not be written down: they are neither lost nor running for ever."""
    change, refused = Jobs.change, []

    def full(self: Jobs, job: Any, **fields: Any) -> Any:
        if fields.get("state") in ("ready", "failed", "queued") and len(refused) < 3:
            refused.append(job.id)
            raise StoreFull("the disk is full")
        return change(self, job, **fields)

    monkeypatch.setattr(Jobs, "change", full)
    with serving(tmp_path) as server:
        files = [("file", (f"{n}.md", f"The lantern {n} is lit at dusk.".encode())) for n in range(4)]
        jobs = [job["id"] for job in server.client.post("/v1/documents", files=files).json()["jobs"]]
        assert {settled(server.client, job)["state"] for job in jobs} == {"ready"} and len(refused) == 3
        assert len(server.client.get("/v1/documents").json()["documents"]) == 4
