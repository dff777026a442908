"""How the server does under load: many clients at once, and searches while documents are taken in.

    python benchmarks/serving.py --chunks 100000 --clients 64 [--keep FOLDER] [--json]

The server is `footnotes serve`, a process of its own on loopback; this one holds the clients. The library holds the
texts of `library.py`, with vectors that are given but signed as the embedder's: every question is embedded by the real
model, and so is everything that is handed over during the second part. Clients wait for their answer before they ask
again. First all of them at once, as fast as they can; then a few, with a pause between questions, while nothing else is
done and while a large upload is taken in.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine
import numpy as np

from footnotes.embed.make import make_embedder
from footnotes.library import Library
from footnotes.settings import Settings

QUESTIONS_FILE = "questions.json"
PAUSE_SECONDS = 0.05


# ── the library


def build(folder: Path, chunks: int) -> list[str]:
    """A library of so many chunks, and questions for it; one that is there already is used again."""
    written = folder / QUESTIONS_FILE
    if written.exists():
        found: list[str] = json.loads(written.read_text())
        return found
    rng = np.random.default_rng(7)
    vectors, queries = engine.make_vectors(chunks, rng)
    texts = folder / "texts"
    texts.mkdir(parents=True)
    questions = engine.write_documents(texts, chunks, rng)
    real = make_embedder(Settings())

    class Signed(engine.GivenVectors):
        """Given vectors that the server takes for those of its own embedder."""

        name, fingerprint = real.name, real.fingerprint

    settings = Settings(chunker="rules", chunker_options={"tokens": 200, "overlap": 0})
    with Library(folder / "library", settings=settings, embedder=Signed(vectors, queries)) as library:
        library.add(texts, metadata=engine.bucket_of)
        library.settle()
    written.write_text(json.dumps(questions))
    return questions


def upload_texts(count: int) -> list[tuple[str, bytes]]:
    """New documents of 20 paragraphs, of the same words as those of the library."""
    rng = np.random.default_rng(11)
    with tempfile.TemporaryDirectory() as folder:
        engine.write_documents(Path(folder), count * engine.PER_DOCUMENT, rng)
        return [(f"new-{path.name}", path.read_bytes()) for path in sorted(Path(folder).iterdir())]


# ── the server


@dataclass(frozen=True)
class Served:
    port: int
    pid: int

    def memory_mb(self) -> int:
        """What the server and the processes it started hold, pages shared between them counted once each."""
        return sum(_resident(pid) for pid in [self.pid, *_children(self.pid)])

    def cpu_seconds(self) -> float:
        """Processor time of the server itself, which other work on the machine changes little."""
        found = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(found[11]) + int(found[12])) / os.sysconf("SC_CLK_TCK")

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=60) as answer:
            return json.load(answer)


def _resident(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("RssAnon:")) // 1024


def _children(pid: int) -> list[int]:
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == pid:
            child = int(path.parent.name)
            found += [child, *_children(child)]
    return found


@contextmanager
def server(library: Path, **settings: str) -> Iterator[Served]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {**os.environ, **{f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}}
    words = [sys.executable, "-m", "footnotes", "serve", "--library", str(library), "--port", str(port)]
    process = subprocess.Popen(words, env=environment, stderr=subprocess.DEVNULL)
    served = Served(port, process.pid)
    try:
        for _ in range(600):
            try:
                served.get("/readyz")
                break
            except OSError:
                time.sleep(0.05)
        yield served
    finally:
        process.terminate()
        process.wait(60)


# ── clients


@dataclass
class Seen:
    """Latencies in milliseconds, and what went wrong."""

    took: list[float] = field(default_factory=list)
    errors: int = 0
    seconds: float = 0.0

    def at(self, share: float) -> float:
        return round(float(np.percentile(self.took, share)), 1) if self.took else 0.0


def _request(question: str) -> bytes:
    body = json.dumps({"query": question}).encode()
    head = (
        f"POST /v1/search HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    )
    return head.encode() + b"\r\n\r\n" + body


async def _answered(reader: asyncio.StreamReader) -> bool:
    head = await reader.readuntil(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
    body = await reader.readexactly(length)
    return head.startswith(b"HTTP/1.1 200") and b'"degraded":' in body


async def _client(
    port: int, requests: Sequence[bytes], first: int, seen: Seen, goes_on: Callable[[], bool], pause: float
) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    number = first
    while goes_on():
        began = time.perf_counter()
        writer.write(requests[number % len(requests)])
        try:
            seen.errors += not await _answered(reader)
        except (OSError, asyncio.IncompleteReadError):
            seen.errors += 1
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        seen.took.append((time.perf_counter() - began) * 1000)
        number += 1
        await asyncio.sleep(pause)
    writer.close()


async def asked(
    port: int, questions: Sequence[str], clients: int, goes_on: Callable[[], bool], pause: float = 0.0
) -> Seen:
    """What so many clients see as long as it goes on."""
    requests, seen, began = [_request(question) for question in questions], Seen(), time.perf_counter()
    await asyncio.gather(*(_client(port, requests, n * 37, seen, goes_on, pause) for n in range(clients)))
    seen.seconds = time.perf_counter() - began
    return seen


def until(seconds: float) -> Callable[[], bool]:
    end = time.monotonic() + seconds
    return lambda: time.monotonic() < end


# ── the two parts


def many_clients(served: Served, questions: Sequence[str], clients: int, seconds: float) -> dict[str, Any]:
    asyncio.run(asked(served.port, questions, clients, until(seconds / 4)))  # every thread has its connection by now
    memory, cpu = [served.memory_mb()], served.cpu_seconds()
    seen: list[Seen] = []
    for _ in range(2):
        seen.append(asyncio.run(asked(served.port, questions, clients, until(seconds / 2))))
        memory.append(served.memory_mb())
    took = [each for part in seen for each in part.took]
    whole = Seen(took, sum(part.errors for part in seen), sum(part.seconds for part in seen))
    return {
        "clients": clients,
        "requests_per_s": round(len(took) / whole.seconds),
        "p50_ms": whole.at(50),
        "p99_ms": whole.at(99),
        "cpu_ms_per_search": round((served.cpu_seconds() - cpu) / len(took) * 1000, 2),
        "errors": whole.errors,
        "memory_mb": memory,
    }


def _hand_over(served: Served, documents: Sequence[tuple[str, bytes]]) -> None:
    boundary, parts = "part", []
    for name, content in documents:
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        parts.append(head.encode() + content + b"\r\n")
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    address = f"http://127.0.0.1:{served.port}/v1/documents"
    urllib.request.urlopen(urllib.request.Request(address, body, kind), timeout=120).close()


def _queue(served: Served) -> int:
    states = [served.get(f"/v1/jobs?state={state}&limit=1000")["jobs"] for state in ("queued", "running")]
    return sum(map(len, states))


def during_ingest(
    served: Served, questions: Sequence[str], documents: int, clients: int, seconds: float
) -> dict[str, Any]:
    """The p99 of a few clients while a large upload is taken in, and before and after it."""
    new = upload_texts(documents)
    before = asyncio.run(asked(served.port, questions, clients, until(seconds), PAUSE_SECONDS))

    async def both() -> tuple[Seen, float]:
        began, left = time.monotonic(), [1]

        async def watch() -> None:
            for start in range(0, len(new), 50):
                await asyncio.to_thread(_hand_over, served, new[start : start + 50])
            while left[0] and time.monotonic() - began < seconds * 3:
                await asyncio.sleep(2)
                left[0] = await asyncio.to_thread(_queue, served)
            left[0] = 0

        watching = asyncio.create_task(watch())
        seen = await asked(served.port, questions, clients, lambda: left[0] > 0, PAUSE_SECONDS)
        await watching
        return seen, time.monotonic() - began

    seen, took = asyncio.run(both())
    left = _queue(served)
    while _queue(served):
        time.sleep(1)
    after = asyncio.run(asked(served.port, questions, clients, until(seconds), PAUSE_SECONDS))
    idle = Seen(before.took + after.took)
    return {
        "clients": clients,
        "idle_p50_ms": idle.at(50),
        "idle_p99_ms": idle.at(99),
        "ingest_p50_ms": seen.at(50),
        "ingest_p99_ms": seen.at(99),
        "ratio": round(seen.at(99) / idle.at(99), 2),
        "longest_ms": seen.at(100),
        "searches": len(seen.took),
        "errors": before.errors + seen.errors + after.errors,
        "documents": documents - left,
        "seconds": round(took, 1),
    }


def run(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    questions = build(folder, arguments.chunks)
    result: dict[str, Any] = {"chunks": arguments.chunks}
    served_from = folder / "served"
    shutil.rmtree(served_from, ignore_errors=True)
    shutil.copytree(folder / "library", served_from)  # what is handed over must not be there the next time
    with server(
        served_from, serve_rate="100000000", chunker="rules", chunker_options="{tokens=200, overlap=0}"
    ) as served:
        asyncio.run(asked(served.port, questions, 4, until(2)))
        if arguments.clients:
            result["many_clients"] = many_clients(served, questions, arguments.clients, arguments.seconds)
        if arguments.documents:
            result["ingest"] = during_ingest(served, questions, arguments.documents, 4, arguments.seconds)
    shutil.rmtree(served_from, ignore_errors=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64, help="0 leaves the first part out")
    parser.add_argument(
        "--documents", type=int, default=200, help="documents of the upload; 0 leaves the second part out"
    )
    parser.add_argument("--seconds", type=float, default=20.0, help="how long each part is measured")
    parser.add_argument("--keep", type=Path, help="a folder to build the library in, and to find it again")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    folder = arguments.keep or Path(tempfile.mkdtemp(prefix="footnotes-serving-"))
    try:
        result = run(arguments, folder)
    finally:
        if not arguments.keep:
            shutil.rmtree(folder, ignore_errors=True)
    print(json.dumps(result) if arguments.json else json.dumps(result, indent=2))


if __name__ == "__main__":
    sys.exit(main())
