"""Workers that lose their connections: they open them again, or say so and end. No job is tried for ever."""

from __future__ import annotations

import socket
import time
import urllib.error
import urllib.request
from pathlib import Path

from clusters import Cluster, Clusters
from postgres import PostgresServer
from serving import serving
from workers import CUT_WORKERS, until, worker

_LIVE = "SELECT count(*) FROM footnotes_server.workers WHERE heartbeat_at > now() - interval '15 seconds'"


def is_alive(server: PostgresServer | Cluster, address: str) -> bool:
    try:
        if isinstance(server, Cluster):
            return server.execute(_LIVE)[0][0] > 0
        return bool(server.execute(_LIVE, address=address)[0][0] > 0)
    except Exception:
        return False


def test_a_worker_whose_connections_are_cut_works_on(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    with serving(tmp_path, store=address, serve_worker=False) as server, worker(address, tmp_path) as process:
        assert server.add("before.md", "Before zq1.")
        for number in range(3):
            assert postgres.execute(CUT_WORKERS, address=address), "its connections are known by their name"
            assert server.add(f"after{number}.md", f"After zq{number}.")
        assert process.poll() is None


def test_a_worker_outlives_a_restart_of_the_database(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.make()
    address = cluster.create()
    with serving(tmp_path, store=address, serve_worker=False) as server, worker(address, tmp_path) as process:
        assert server.add("before.md", "Before zq1.")
        for number in range(2):
            cluster.stop()
            time.sleep(2)
            cluster.start()
            until(lambda: server.client.get("/v1/documents").status_code == 200)
            assert server.add(f"after{number}.md", f"After zq{number}.")
        assert process.poll() is None


def test_a_worker_that_cannot_heal_ends_and_says_why(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.make()
    address = cluster.create()
    with worker(address, tmp_path, worker_heal_seconds="4") as process:
        until(lambda: is_alive(cluster, address))
        cluster.stop()
        assert process.wait(60) not in (0, None)
    log = (tmp_path / "worker.log").read_text()
    assert "store_unavailable" in log and "cannot be reached" in log


def test_a_job_whose_cause_stays_fails_with_it_after_a_bounded_number_of_attempts(
    postgres: PostgresServer, tmp_path: Path
) -> None:
    """Its vectors cannot be made: nothing listens where the embedder should be."""
    address = postgres.fresh()
    settings = {"embedder": "openai:absent", "openai_base_url": "http://127.0.0.1:9/v1", "openai_api_key": "k"}
    chosen = {**settings, "worker_retry_seconds": "0.2", "embedder_dimensions": "8"}
    with serving(tmp_path, store=address, serve_worker=False, **settings) as server:
        answer = server.client.post("/v1/documents", files={"file": ("a.md", b"Some text.")})
        job = answer.json()["jobs"][0]["id"]
        with worker(address, tmp_path, **chosen):
            until(lambda: server.client.get(f"/v1/jobs/{job}").json()["state"] == "failed", seconds=120)
        done = server.client.get(f"/v1/jobs/{job}").json()
    assert done["state"] == "failed" and done["error"]["code"] and done["attempts"] == 5


def test_who_waits_for_a_text_is_told_when_no_worker_is_alive(postgres: PostgresServer, tmp_path: Path) -> None:
    with serving(tmp_path, store=postgres.fresh(), serve_worker=False) as server:
        began = time.monotonic()
        answer = server.client.post("/rag/index", json={"filename": "a.md", "content": "Text."}, timeout=60)
        assert answer.status_code == 503 and "no worker" in answer.json()["error"]["message"], answer.text
        assert time.monotonic() - began < 30


def test_a_worker_says_over_http_whether_it_can_work(clusters: Clusters, tmp_path: Path) -> None:
    cluster = clusters.make()
    address = cluster.create()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]

    def asked(path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    with worker(address, tmp_path, worker_port=str(port)):
        until(lambda: asked("/readyz")[0] == 200)
        assert asked("/livez")[0] == 200 and asked("/else")[0] == 404
        assert "footnotes_documents" in asked("/metrics")[1]
        cluster.stop()
        until(lambda: asked("/readyz")[0] == 503)
        assert "store_unavailable" in asked("/readyz")[1] and asked("/livez")[0] == 200
        cluster.start()
        until(lambda: asked("/readyz")[0] == 200)
