"""What an operator relies on: probes, logs of one shape, children that end with their parent, rates across servers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from command_line import run
from postgres import PostgresServer
from serving import Running, serving, settled
from starting import started


def eventually(check: Callable[[], object], seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end
        time.sleep(0.05)


# ── probes


def test_three_probes(server: Running) -> None:
    for path in ("/livez", "/readyz", "/startupz", "/healthz"):
        assert server.client.get(path).status_code == 200
    server.app.state.intake.stop()
    eventually(lambda: server.client.get("/readyz").status_code == 503)
    assert server.client.get("/startupz").json()["checks"] == {"intake": False}
    assert server.client.get("/livez").status_code == 200, "it is alive: another start would help nobody"


# ── logs

SCRIPT = """
import logging, threading, warnings, asyncio
from footnotes.server.logs import set_up_logs
from footnotes.tracing import JOB_ID, REQUEST_ID

set_up_logs()
REQUEST_ID.set("request-1")
JOB_ID.set("job-1")
logging.getLogger("some.driver").warning("a connection was %s", "lost")
logging.getLogger("some.driver").info("chatter")
logging.getLogger("footnotes.server").info("said")
warnings.warn("deprecated")
logging.getLogger("asyncio").error("Task exception was never retrieved", exc_info=ValueError("quoted text"))
thread = threading.Thread(target=lambda: 1 / 0)
thread.start()
thread.join()
raise KeyError("quoted text")
"""


def test_every_line_is_json_with_the_ids_of_request_and_job() -> None:
    ended = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert ended.returncode == 1
    lines = [json.loads(line) for line in ended.stderr.splitlines()]
    assert [line["logger"] for line in lines] == [
        *("some.driver", "footnotes.server", "py.warnings", "asyncio", "footnotes", "footnotes")
    ]
    assert {line["request_id"] for line in lines[:4]} == {"request-1"} and lines[0]["job"] == "job-1"
    assert "ZeroDivisionError" in lines[4]["trace"] and "KeyError" in lines[5]["trace"]
    assert "quoted text" not in ended.stderr


# ── children


def children(process: int) -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == process:
            found.add(int(folder.name))
    return found


def is_alive(process: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


@pytest.mark.parametrize("kind", ["folder", "postgresql"])
def test_children_end_with_a_server_that_is_killed(tmp_path: Path, kind: str, request: pytest.FixtureRequest) -> None:
    store = {}
    if kind == "postgresql":
        server: PostgresServer = request.getfixturevalue("postgres")
        store = {"store": server.fresh()}
    with started(tmp_path / "library", **store) as (process, client):
        client.post("/v1/documents", files={"file": ("long.txt", b"Storks winter in Africa. " * 20_000)})
        eventually(lambda: children(process.pid))
        left = children(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        eventually(lambda: not any(map(is_alive, left)))


# ── rates


def test_three_servers_allow_no_more_than_one(tmp_path: Path, postgres: PostgresServer) -> None:
    address, limits = postgres.fresh(), {"serve_rate": 1, "serve_burst": 10, "serve_worker": False}
    with ExitStack() as stack:
        servers = [
            stack.enter_context(serving(tmp_path / str(n), needs_keys=True, store=address, **limits)) for n in range(3)
        ]
        key = servers[0].app.state.keys.create("a")[0]
        clients = [server.with_key(key) for server in servers]
        answers = [client.get("/v1/jobs") for _ in range(10) for client in clients]
        allowed = [answer.status_code for answer in answers].count(200)
        assert allowed <= 11 and allowed >= 10, "one more may have been filled up meanwhile"
        limited = [answer for answer in answers if answer.status_code == 429]
        assert limited and all(int(answer.headers["retry-after"]) >= 1 for answer in limited)
        wrong = [client.with_key("fn_wrong_key").get("/v1/jobs").status_code for _ in range(5) for client in servers]
        assert wrong.count(401) <= 11 and wrong.count(429) >= 4


# ── a folder of several tenants, seen on the command line


def test_commands_count_the_work_of_their_tenant_and_name_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    folder = str(tmp_path / "library")
    with serving(tmp_path / "library", needs_keys=True, serve_worker=False) as made:
        for tenant, text in (("local", "Ravens remember faces."), ("acme", "")):
            client = made.with_key(made.app.state.keys.create(tenant, scopes=("read", "write"))[0])
            added = client.post("/v1/documents", files={"file": (f"{tenant}.txt", text.encode())})
            settled(client, added.json()["jobs"][0]["id"])
        added = client.post("/v1/documents", json={"text": "Cats sleep.", "filename": "cats.txt"})
        settled(client, added.json()["jobs"][0]["id"])
    status = run("status", "-l", folder).output
    assert "0 queued, 0 running, 0 failed; other tenants: 1 failed" in " ".join(status.split())
    assert "acme has data here too: choose one with FOOTNOTES_USER=NAME" in status
    assert json.loads(run("status", "-l", folder, "--json").output)["queue"]["others"]["failed"] == 1
    assert "no running, pending or failed jobs\nother tenants: 1 failed" in run("jobs", "-l", folder).output
    assert "Checked the tenant local only: acme has data here too" in run("verify", "-l", folder).output
    assert "0 failed; other tenants: 1 failed" in run("doctor", "-l", folder).output
    monkeypatch.setenv("FOOTNOTES_USER", "acme")
    assert "1 failed" in run("status", "-l", folder).output and "empty_document" in run("jobs", "-l", folder).output
