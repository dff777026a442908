"""Versions of a source become visible in the order they were accepted, whatever dies, breaks off or fails between."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from footnotes.errors import RequestInvalid
from footnotes.server.database import FolderDatabase
from footnotes.server.intake import Intake
from footnotes.server.jobs import Jobs, ServerJob
from footnotes.server.lane import FolderWork
from footnotes.server.metrics import Metrics
from footnotes.server.spool import Spool
from footnotes.server.tenants import Tenants
from footnotes.settings import load
from postgres import PostgresServer
from serving import serving, settled

STEP = st.sampled_from(["accept", "accept", "begin", "begin", "finish", "die", "break_off", "fail", "retry"])
SOURCE = st.sampled_from(["a", "a", "b", "https://example.org/"])
COLLECTION = st.sampled_from(["x", "x", "y"])
STEPS = st.lists(st.tuples(STEP, SOURCE, COLLECTION, st.integers(0, 3)), min_size=5, max_size=60)


class Model:
    """Accepts versions, hands batches to workers, and checks what becomes visible."""

    def __init__(self, jobs: Jobs, intake: Intake, take: Callable[[int], list[ServerJob]], workers: int) -> None:
        self.jobs, self.intake, self.take = jobs, intake, take
        self.running: dict[int, list[ServerJob]] = {worker: [] for worker in range(workers)}
        self.seen: dict[tuple[str, str], int] = {}
        self.version = 0

    def step(self, step: str, source: str, collection: str, worker: int) -> None:
        worker %= len(self.running)
        if step == "accept":
            self.version += 1
            is_page = "://" in source
            request = {"collection": collection, "url" if is_page else "source": source, "version": self.version}
            self.jobs.add("t", "url" if is_page else "upload", source, request, None)
        elif step == "begin" and not self.running[worker]:
            self.running[worker] = self.take(worker)
        elif step == "retry":
            for job in self.jobs.all("t", state="failed"):
                try:
                    self.intake.retry("t", job.id)
                except RequestInvalid:
                    continue
        elif self.running[worker] and step != "begin":
            self._end(step, worker)

    def _end(self, step: str, worker: int) -> None:
        jobs, self.running[worker] = self.running[worker], []
        for job in jobs:
            if step == "finish":
                place = (job.request["collection"], job.request.get("source") or job.request["url"])
                assert job.request["version"] > self.seen.get(place, 0), f"an older version of {place} came later"
                self.seen[place] = job.request["version"]
                self.jobs.change(job, state="ready")
            elif step == "fail":
                self.jobs.change(job, state="failed")
            elif step == "die":  # as after a crash: the attempt counts
                self.jobs.change(job, state="queued")
            else:
                self.jobs.change(job, state="queued", attempts=job.attempts - 1)

    def finish(self) -> None:
        """Nothing is held back for ever."""
        for worker in self.running:
            self.step("finish", "", "", worker)
        for _ in range(1_000):
            if not self.jobs.waiting("t"):
                return
            self.step("begin", "", "", 0)
            self.step("finish", "", "", 0)
        raise AssertionError("jobs wait for ever")


@pytest.fixture
def folder_jobs(tmp_path: Path) -> Iterator[Jobs]:
    database = FolderDatabase(tmp_path)
    database._writing.connection.pragma("synchronous", "off")
    yield Jobs(database, 1_000)
    database.close()


def intake_of(folder: Path, jobs: Jobs) -> Intake:
    chosen = load(None, embedder="hashing", serve_worker=False)
    tenants, spool = Tenants(folder, chosen), Spool(folder, chosen, jobs._database)
    return Intake(tenants, jobs, FolderWork(jobs, tenants, Metrics(), chosen, spool), spool, chosen)


@given(STEPS, st.integers(1, 6), st.sets(st.integers(0, 8)))
@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_a_folder(
    folder_jobs: Jobs, tmp_path: Path, steps: list[tuple[str, str, str, int]], most: int, later: set[int]
) -> None:
    jobs = folder_jobs
    jobs.remove(jobs.all("t", limit=1_000))

    def take(_: int) -> list[ServerJob]:
        for job in jobs.all("t", state="queued", limit=1_000):  # their texts are in already
            jobs.change(job, made_way=int(job.request["version"] in later))
        return jobs.claim(most)

    model = Model(jobs, intake_of(tmp_path, jobs), take, workers=1)
    for step in steps:
        model.step(*step)
    model.finish()


@given(STEPS, st.randoms(use_true_random=False))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_in_postgresql(
    postgres_jobs: Jobs, tmp_path: Path, steps: list[tuple[str, str, str, int]], chance: random.Random
) -> None:
    jobs = postgres_jobs
    jobs.remove(jobs.all("t", limit=1_000))

    def take(worker: int) -> list[ServerJob]:
        """Turns are taken by how many wait, not by age: any order must do."""
        with jobs._database._pool.transaction("") as connection:  # type: ignore[attr-defined]
            for job in jobs.all("t", state="queued", limit=1_000):
                connection.execute("UPDATE jobs SET turn = $1 WHERE id = $2", chance.randrange(9), job.id)
        return jobs.claim(4, holder=worker + 1)

    model = Model(jobs, intake_of(tmp_path, jobs), take, workers=3)
    for step in steps:
        model.step(*step)
    model.finish()


@pytest.fixture
def postgres_jobs(postgres: PostgresServer) -> Iterator[Jobs]:
    from footnotes.server.postgres import Lease, PostgresDatabase

    database = PostgresDatabase(postgres.fresh())
    leases = [Lease(database) for _ in range(3)]
    for lease in leases:
        lease.renew()
    assert [lease.number for lease in leases] == [1, 2, 3]
    yield Jobs(database, 1_000)
    for lease in leases:
        lease.close()
    database.close()


def test_a_newer_upload_outlives_a_crash(tmp_path: Path) -> None:
    """As a kill leaves it: the older version of a source was tried once, something else and the newer one never."""
    folder = tmp_path / "library"
    uploads = (("z.txt", "zebra", 0), ("a.txt", "older", 1), ("a.txt", "newer", 0))
    database = FolderDatabase(folder)
    (folder / "spool").mkdir()
    jobs = []
    for name, text, attempts in uploads:
        (folder / "spool" / text).write_text(f"The text is {text}.")
        request = {"filename": name, "source": f"upload:{name}", "collection": "default", "metadata": {}}
        job = Jobs(database, 10).add("local", "upload", name, request, text)
        Jobs(database, 10).change(job, attempts=attempts)
        jobs.append(job.id)
    database.close()
    with serving(folder) as running:
        for job in jobs:
            settled(running.client, job)
        hits = running.client.post("/v1/search", json={"query": "text"}).json()["hits"]
        assert sorted(hit["text"] for hit in hits) == ["The text is newer.", "The text is zebra."], json.dumps(hits)
