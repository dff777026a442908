"""Searches a second over HTTP, measured with `wrk`, beside a plain FastAPI route that returns a constant as large.

    python benchmarks/requests.py --chunks 100000 [--workers 2] [--clients 64] [--keep FOLDER]

`cached` asks a few hundred questions again and again, so that their vectors are remembered; `uncached` adds a number to
each, so that the model runs for every one. The library is that of serving.py, and `--keep` finds it again. Processor
time is that of the server and its processes; memory is what they hold before the first question.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from serving import Served, _children, build, server

PLAIN = """
import sys, uvicorn
from fastapi import FastAPI, Response
from pydantic import BaseModel
class Question(BaseModel):
    query: str
app, constant = FastAPI(), open(sys.argv[1], "rb").read()
@app.post("/v1/search")
async def search(question: Question):
    return Response(constant, media_type="application/json")
@app.get("/readyz")
async def ready():
    return {}
uvicorn.run(app, port=int(sys.argv[2]), log_level="error", access_log=False)
"""
ASK = """
local questions, threads = {%s}, 0
function setup(thread) threads = threads + 1; thread:set("id", threads) end
local number = 0
request = function()
  number = number + 1
  local asked = questions[(number * 7 + id * 31) %% #questions + 1] .. string.format(%s, id * 100000000 + number)
  return wrk.format("POST", "/v1/search", {["Content-Type"] = "application/json"}, '{"query": "' .. asked .. '"}')
end
"""


def cpu_seconds(pid: int) -> float:
    """Processor time of a process and those it started."""
    spent = 0
    for each in [pid, *_children(pid)]:
        found = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
        spent += int(found[11]) + int(found[12])
    return spent / os.sysconf("SC_CLK_TCK")


def asked(served: Served, script: Path, clients: int, seconds: int) -> dict[str, Any]:
    """What wrk sees of a server."""
    before = cpu_seconds(served.pid)
    words = ["wrk", "-t2", f"-c{clients}", f"-d{seconds}s", "--latency", "--timeout", "10s", "-s", str(script)]
    address = f"http://127.0.0.1:{served.port}"
    said = subprocess.run([*words, address], capture_output=True, text=True, check=True).stdout
    requests = int(re.search(r"(\d+) requests in", said)[1])  # type: ignore[index]
    found = {share: re.search(rf"(?m)^\s+{share}%\s+(\S+)", said)[1] for share in (50, 99)}  # type: ignore[index]
    failed = re.search(r"Non-2xx or 3xx responses: (\d+)", said)
    return {
        "requests_per_s": float(re.search(r"Requests/sec:\s+(\S+)", said)[1]),  # type: ignore[index]
        "p50": found[50],
        "p99": found[99],
        "cpu_ms": round((cpu_seconds(served.pid) - before) / requests * 1000, 2),
        "failed": int(failed[1]) if failed else 0,
    }


def write_scripts(folder: Path, questions: Sequence[str]) -> dict[str, Path]:
    listed = ", ".join(json.dumps(question) for question in questions)
    made = {"cached": '""', "uncached": '" %d"'}
    for name, form in made.items():
        (folder / f"{name}.lua").write_text(ASK % (listed, form))
    return {name: folder / f"{name}.lua" for name in made}


def plain(folder: Path, constant: bytes, script: Path, clients: int, seconds: int) -> dict[str, Any]:
    """The same questions to a route that does nothing with them."""
    (folder / "plain.py").write_text(PLAIN)
    (folder / "constant.json").write_bytes(constant)
    port = 8799
    words = [sys.executable, str(folder / "plain.py"), str(folder / "constant.json"), str(port)]
    process = subprocess.Popen(words)
    served = Served(port, process.pid)
    try:
        for _ in range(200):
            try:
                served.get("/readyz")
                break
            except OSError:
                time.sleep(0.05)
        return asked(served, script, clients, seconds)
    finally:
        process.terminate()
        process.wait(30)


def run(folder: Path, given: argparse.Namespace) -> dict[str, Any]:
    questions = build(folder, given.chunks)
    scripts = write_scripts(folder, questions)
    settings = {"serve_rate": "100000000", "serve_workers": str(given.workers)}
    result: dict[str, Any] = {"chunks": given.chunks, "workers": given.workers}
    with server(folder / "library", **settings) as served:
        time.sleep(3)
        result["idle_mb"] = served.memory_mb()
        body = json.dumps({"query": questions[0]}).encode()
        address = f"http://127.0.0.1:{served.port}/v1/search"
        request = urllib.request.Request(address, body, {"Content-Type": "application/json"})
        constant = urllib.request.urlopen(request, timeout=60).read()
        asked(served, scripts["cached"], given.clients, given.seconds)  # every thread has its connection by now
        for name, script in scripts.items():
            result[name] = asked(served, script, given.clients, given.seconds)
        result["used_mb"] = served.memory_mb()
    beside = plain(folder, constant, scripts["cached"], given.clients, given.seconds)
    result["plain"] = {"bytes": len(constant), **beside}
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--keep", type=Path)
    given = parser.parse_args()
    folder = given.keep or Path(tempfile.mkdtemp(prefix="footnotes-requests-"))
    try:
        print(json.dumps(run(folder, given), indent=2))
    finally:
        if not given.keep:
            shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
