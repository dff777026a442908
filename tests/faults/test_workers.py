"""Servers and workers on one PostgreSQL: what one accepts another does, and one that dies leaves nothing undone."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from postgres import PostgresServer
from serving import Running, serving, settled

TEXT = "# {name}\n\nThe number of this one is zq{number}.\n\nIt stands on the shelf by the window.\n"


@contextmanager
def worker(address: str, folder: Path, *arguments: str, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    said = {f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, "FOOTNOTES_STORE": address, "FOOTNOTES_EMBEDDER": "hashing", **said}
    command = [sys.executable, "-m", "footnotes", "worker", "--library", str(folder), *arguments]
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.terminate()
        process.wait(40)


@pytest.fixture
def pair(postgres: PostgresServer, tmp_path: Path) -> Iterator[tuple[str, Running, Running]]:
    """Two servers without workers of their own, on one database."""
    address = postgres.fresh()
    with ExitStack() as stack:
        one, other = (stack.enter_context(serving(tmp_path, store=address, serve_worker=False)) for _ in range(2))
        yield address, one, other


def upload(client: httpx.Client, number: int) -> str:
    text = TEXT.format(name=f"Document {number}", number=number)
    answer = client.post("/v1/documents", files={"file": (f"{number}.md", text.encode())})
    assert answer.status_code == 202, answer.text
    job_id: str = answer.json()["jobs"][0]["id"]
    return job_id


def test_what_one_server_accepts_a_worker_does_and_another_server_finds(
    pair: tuple[str, Running, Running], tmp_path: Path
) -> None:
    address, one, other = pair
    job = upload(one.client, 7)
    assert other.client.get(f"/v1/jobs/{job}").json()["state"] == "queued"
    with worker(address, tmp_path):
        done = settled(other.client, job)
    assert done["state"] == "ready" and done["documents"][0]["chunks"] == 1
    hits = other.client.post("/v1/search", json={"query": "zq7"}).json()["hits"]
    assert [hit["filename"] for hit in hits] == ["7.md"]
    assert one.client.get("/v1/documents").json()["documents"][0]["status"] == "ready"


@pytest.mark.parametrize("place", ["folder", "bucket"])
def test_a_worker_on_another_machine_reaches_what_was_uploaded(
    postgres: PostgresServer, tmp_path: Path, place: str
) -> None:
    """Each machine has a folder of its own; what they share is the place of the originals."""
    address, shared = postgres.fresh(), tmp_path / "shared"
    shared.mkdir()
    originals = str(shared) if place == "folder" else f"file://{shared}"
    with serving(tmp_path / "one", store=address, serve_worker=False, originals=originals) as server:
        job = upload(server.client, 7)
        with worker(address, tmp_path / "other", originals=originals):
            done = settled(server.client, job)
        assert done["state"] == "ready", done
        assert server.client.post("/v1/search", json={"query": "zq7"}).json()["hits"]
    assert not [path for path in tmp_path.rglob("spool/*") if path.is_file()]


def test_progress_reaches_the_event_stream_of_the_other_server(
    pair: tuple[str, Running, Running], tmp_path: Path
) -> None:
    address, one, other = pair
    seen: list[str] = []
    with other.client.stream("GET", "/v1/jobs/events", timeout=60) as events, worker(address, tmp_path):
        upload(one.client, 1)
        for line in events.iter_lines():
            seen.append(line)
            if '"state":"ready"' in line.replace(" ", ""):
                break
    assert any("1.md" in line for line in seen)


def test_jobs_of_a_worker_that_was_killed_are_taken_over(pair: tuple[str, Running, Running], tmp_path: Path) -> None:
    address, one, other = pair
    jobs = [upload((one, other)[number % 2].client, number) for number in range(160)]
    with worker(address, tmp_path, "--concurrency", "1") as first:
        _until(lambda: "ready" in _states(one.client, jobs))
        first.send_signal(signal.SIGKILL)
        first.wait()
    left = _states(one.client, jobs)
    assert "ready" in left and any(state != "ready" for state in left), "killed in the middle"
    with worker(address, tmp_path):
        _until(lambda: set(_states(other.client, jobs)) == {"ready"}, seconds=60)
    documents = other.client.get("/v1/documents", params={"limit": 200}).json()["documents"]
    assert sorted(document["filename"] for document in documents) == sorted(f"{number}.md" for number in range(160))
    assert {document["status"] for document in documents} == {"ready"}


def test_a_tenant_with_one_file_does_not_wait_for_one_with_many(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    with serving(tmp_path, store=address, serve_worker=False, needs_keys=True) as server:
        keys = server.app.state.keys
        many, few = (server.with_key(keys.create(name, scopes=["read", "write"])[0]) for name in ("many", "few"))
        crowd = [upload(many, number) for number in range(100)]
        alone = upload(few, 1)
        with worker(address, tmp_path, "--concurrency", "1"):
            moment = settled(few, alone)["updated_at"]
            listed = many.get("/v1/jobs", params={"limit": 200, "state": "ready"}).json()["jobs"]
        before = [job["id"] for job in listed if job["updated_at"] < moment]
        assert set(before) <= set(crowd) and len(before) <= 40, "one batch of theirs may come before it, not two"


def test_a_job_that_waits_can_be_cancelled(pair: tuple[str, Running, Running], tmp_path: Path) -> None:
    address, one, other = pair
    first, second = upload(one.client, 1), upload(one.client, 2)
    assert other.client.delete(f"/v1/jobs/{first}").status_code in (200, 204)
    with worker(address, tmp_path):
        settled(one.client, second)
    names = [document["filename"] for document in one.client.get("/v1/documents").json()["documents"]]
    assert names == ["2.md"]


def test_what_cannot_be_read_fails_once_and_can_be_tried_again(
    pair: tuple[str, Running, Running], tmp_path: Path
) -> None:
    address, one, _ = pair
    answer = one.client.post("/v1/documents", files={"file": ("broken.pdf", b"%PDF-1.7 not really")})
    job = answer.json()["jobs"][0]["id"]
    with worker(address, tmp_path):
        failed = settled(one.client, job)
        assert failed["state"] == "failed" and failed["error"]["code"] and failed["error"]["remedy"]
        assert one.client.post(f"/v1/jobs/{job}/retry").json()["state"] == "queued"
        assert settled(one.client, job)["attempts"] == 2


def test_a_server_brings_a_worker_of_its_own(postgres: PostgresServer, tmp_path: Path) -> None:
    with serving(tmp_path, store=postgres.fresh()) as server:
        assert server.add("a.md", TEXT.format(name="A", number=1))
        assert server.client.post("/v1/search", json={"query": "zq1"}).json()["hits"]


def test_keys_and_counters_are_shared(pair: tuple[str, Running, Running]) -> None:
    _, one, other = pair
    key, _ = one.app.state.keys.create("somebody", scopes=["read"])
    assert other.client.get("/v1/documents").status_code == 401, "from the first key on every request needs one"
    assert other.with_key(key).get("/v1/documents").status_code == 200
    one.app.state.answers.take("somebody")
    assert other.app.state.answers.allowance("somebody").used == 1


def _states(client: httpx.Client, jobs: list[str]) -> list[str]:
    listed: dict[str, Any] = {job["id"]: job for job in client.get("/v1/jobs", params={"limit": 200}).json()["jobs"]}
    return [listed[job]["state"] for job in jobs]


def _until(condition: Any, *, seconds: float = 180) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        time.sleep(0.1)


def test_a_name_that_no_database_can_hold_keeps_no_job_from_being_done(
    pair: tuple[str, Running, Running], tmp_path: Path
) -> None:
    address, one, _ = pair
    given = {"text": "Its name has a NUL in it.", "filename": "odd.txt", "source": "odd\x00name"}
    odd = one.client.post("/v1/documents", json=given).json()["jobs"][0]["id"]
    named = one.client.post("/v1/documents", json={"text": "So has this.", "filename": "a\x00b.txt"}).json()["jobs"][0]
    with worker(address, tmp_path):
        for job_id in (odd, named["id"], upload(one.client, 3)):
            assert settled(one.client, job_id)["state"] == "ready"


def test_jobs_beside_one_that_cannot_be_read_are_done(
    pair: tuple[str, Running, Running], postgres: PostgresServer, tmp_path: Path
) -> None:
    """As an older version queued it: where jobs are looked through for some alike, the database refuses this one."""
    address, one, _ = pair
    jobs = [upload(one.client, number) for number in range(4)]
    change = r"UPDATE footnotes_server.jobs SET request = replace(request, 'upload:2.md', 'upload:\u00002.md')"
    postgres.execute(change, address=address)
    with worker(address, tmp_path):
        states = [settled(one.client, job_id)["state"] for job_id in jobs]
    assert states[:2] + states[3:] == ["ready"] * 3


def test_a_key_that_no_database_can_look_for_is_no_key(pair: tuple[str, Running, Running]) -> None:
    """And counts as a wrong one: it must not be a way around the limit of wrong keys."""
    from websockets.sync.client import connect

    _, one, _ = pair
    one.app.state.keys.create("acme")
    with connect(f"{one.address.replace('http', 'ws', 1)}/v1/ws", proxy=None) as asked:
        asked.send(json.dumps({"type": "key", "key": "fn_\x00_x"}))
        assert json.loads(asked.recv(timeout=10))["error"]["code"] == "unauthorized"


def test_a_vector_database_that_hangs_keeps_no_thread_from_other_searches(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """It accepts and never answers. Searches that wait for it are many; one that has no use for it is answered."""
    pytest.importorskip("qdrant_client", reason="Qdrant needs the extra footnotes[qdrant]")
    address = postgres.fresh()
    with serving(tmp_path, store=address) as server:
        server.add("a.txt", "Ravens remember faces.")
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:
        listener.settimeout(15)
        index = f"qdrant://127.0.0.1:{listener.getsockname()[1]}"
        with serving(tmp_path, store=address, serve_worker=False, index=index, index_seconds=20.0) as server:
            answers: list[int] = []

            def search(mode: str) -> int:
                with httpx.Client(base_url=server.address, timeout=60, trust_env=False) as client:
                    return client.post("/v1/search", json={"query": "ravens", "mode": mode}).status_code

            waiting = [threading.Thread(target=lambda: answers.append(search("dense"))) for _ in range(6)]
            for thread in waiting:
                thread.start()
            held = [listener.accept()[0] for _ in range(6)]  # each of them has got as far as asking
            assert search("lexical") == 200
            assert not answers
            listener.close()
            for connection in held:
                connection.close()
            for thread in waiting:
                thread.join()


def test_what_is_uploaded_reaches_a_worker_of_another_machine_through_the_database(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """As documented: each machine has a folder of its own, and nothing else is shared."""
    address = postgres.fresh()
    large = "\n\n".join(f"Paragraph {number} of a large file." for number in range(30_000))
    with serving(tmp_path / "one", store=address, serve_worker=False) as server:
        jobs = [upload(server.client, 7)]
        answer = server.client.post("/v1/documents", files={"file": ("large.txt", large.encode())})
        jobs += [answer.json()["jobs"][0]["id"]]
        assert not [path for path in (tmp_path / "one").rglob("spool/*") if path.is_file()]
        with worker(address, tmp_path / "other"):
            _until(lambda: set(_states(server.client, jobs)) == {"ready"}, seconds=120)
        assert server.client.post("/v1/search", json={"query": "zq7"}).json()["hits"]
    assert not [path for path in tmp_path.rglob("spool/*") if path.is_file()]
    assert postgres.execute("SELECT count(*) FROM footnotes_server.uploads", address=address)[0][0] == 0


def test_a_worker_whose_folder_is_not_the_servers_does_not_start(postgres: PostgresServer, tmp_path: Path) -> None:
    """Two machines name a folder `/srv/shared` that is not the same one."""
    address = postgres.fresh()
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    with (
        serving(tmp_path / "one", store=address, serve_worker=False, originals=str(tmp_path / "here")),
        worker(address, tmp_path / "other", originals=str(tmp_path / "there")) as process,
    ):
        assert process.wait(30) == 1
    with (
        serving(tmp_path / "one", store=address, serve_worker=False, originals=str(tmp_path / "here")) as server,
        worker(address, tmp_path / "other", originals=str(tmp_path / "here")),
    ):
        assert settled(server.client, upload(server.client, 7))["state"] == "ready"


def test_an_upload_that_the_database_refuses_leaves_no_job(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    with serving(tmp_path, store=address, serve_worker=False) as server:
        postgres.execute("ALTER TABLE footnotes_server.uploads ADD CHECK (octet_length(content) < 5)", address=address)
        answer = server.client.post("/v1/documents", files={"file": ("a.md", b"Some text.")})
        assert answer.status_code >= 400
        assert server.client.get("/v1/jobs").json()["jobs"] == []


def test_sources_of_any_length_and_jobs_of_an_older_server_are_accepted(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """A source may be longer than what an index holds; a request may have escapes that PostgreSQL cannot read."""
    address = postgres.fresh()
    with serving(tmp_path, store=address, serve_worker=False) as server:
        given = {"text": "A long way down.", "filename": "deep.txt", "source": "\U0001f9f5" * 1_900}
        jobs = [server.client.post("/v1/documents", json=given).json()["jobs"][0]["id"]]
        jobs += [upload(server.client, number) for number in range(2)]
    older = (
        "UPDATE footnotes_server.jobs SET source = NULL, collection = NULL;"
        r"UPDATE footnotes_server.jobs SET request = replace(request, 'upload:1.md', 'upload:\udcff1.md');"
        "DELETE FROM footnotes_server.applied"
    )
    for statement in older.split(";"):
        postgres.execute(statement, address=address)
    with serving(tmp_path, store=address, serve_worker=False) as server, worker(address, tmp_path):
        assert [settled(server.client, job)["state"] for job in jobs] == ["ready"] * 3
