"""Footnotes beside the engines people would pick instead: the same texts, questions and vectors, in turns, one table.

    python benchmarks/peers.py --sizes 1000 10000 [--engines footnotes lancedb txtai] [--rounds 3]

Makes a virtual environment for each engine (kept in `--environments`, outside of the project). The texts are abstracts
of SciFact, one file each; beyond its 5,183 a half of one and a half of another. No model runs: vectors are given. Each
engine runs in a process of its own for each step, and all take turns in each round: a busy moment is everybody's;
figures are medians of rounds. `busy` is a search beside two processes that do nothing but count; `processor ms a
document` tells from one size to the next how the work grows. `after kill` is how many documents are there after the
process was killed the moment it had said that all were in. Every figure of an engine stands beside its ratio to that of
Footnotes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "retrieval" / "scifact"
ENGINE = Path(__file__).with_name("peer_engines.py")
QUESTIONS, DIMENSIONS, TABLE = 100, 384, 65_536
BUSY_PROCESSES = 2
PACKAGES = {
    "lancedb": ["lancedb==0.40.0", "pyarrow"],
    "txtai": ["torch==2.13.0", "txtai==9.14.0"],
    "langchain": ["langchain-chroma==1.1.0", "langchain-community", "rank-bm25"],
    "chroma": ["chromadb==1.5.9"],
    "haystack": ["haystack-ai==3.4.0"],
    "llamaindex": ["llama-index-core==0.14.25"],
}


def python_of(engine: str, environments: Path) -> str:
    """The interpreter of an engine; its environment is made where there is none yet."""
    if engine == "footnotes":
        return sys.executable
    folder = environments / engine
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", *PACKAGES[engine]], check=True)
    return str(folder / "bin" / "python")


def make_work(folder: Path, count: int) -> None:
    """What all engines are given."""
    rows = [json.loads(line) for line in (DATA / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    questions = [json.loads(line)["text"] for line in (DATA / "queries.jsonl").read_text(encoding="utf-8").splitlines()]
    (folder / "texts").mkdir(parents=True)
    for number in range(count):
        row, again = rows[number % len(rows)], number // len(rows)
        own, other = row["text"], rows[(number * 7 + again) % len(rows)]["text"]
        body = own if not again else f"{own[: len(own) // 2]} {other[len(other) // 2 :]}"
        text = f"{row['title']}\n\n{body}"
        (folder / "texts" / f"text{number:06}.txt").write_text(text, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions[:QUESTIONS]))
    table = np.random.default_rng(1).standard_normal((TABLE, DIMENSIONS)).astype(np.float32)
    np.save(folder / "vectors.npy", table / np.linalg.norm(table, axis=1, keepdims=True))


def step(python: str, engine: str, what: str, work: Path, folder: Path, *, kill: bool = False) -> dict[str, Any]:
    """One step in a process of its own; `cold` is the time until it said something, `kill` ends it at that moment."""
    began = time.perf_counter()
    command = [python, str(ENGINE), engine, what, str(work), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None and process.stderr is not None
        first = process.stdout.readline()
        cold = time.perf_counter() - began
        if kill:
            process.kill()
            return {}
        said = (process.stdout.read().strip() or first).splitlines()
        if process.wait() != 0 or not said:
            raise RuntimeError(f"{engine} {what}: {process.stderr.read()[-600:]}")
    return {"cold": cold, **json.loads(said[-1])}


@contextmanager
def busy() -> Iterator[None]:
    """Two processes that do nothing but take processor time."""
    beside = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(BUSY_PROCESSES)]
    try:
        yield
    finally:
        for process in beside:
            process.kill()
            process.wait()


def size_of(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def measure(python: str, engine: str, work: Path, count: int) -> dict[str, float]:
    """One round of one engine at one size."""
    with tempfile.TemporaryDirectory() as held:
        folder = Path(held) / "library"
        taken = step(python, engine, "ingest", work, folder)
        searched = step(python, engine, "search", work, folder)
        with busy():
            beside = step(python, engine, "search", work, folder)
        found = {
            "documents/s": count / taken["seconds"],
            "processor s": taken["processor"],
            "processor ms a document": taken["processor"] / count * 1000,
            "p50 ms": searched["p50_ms"],
            "p95 ms": searched["p95_ms"],
            "search cpu ms": searched["processor_ms"],
            "busy p50 ms": beside["p50_ms"],
            "busy p95 ms": beside["p95_ms"],
            "cold s": searched["cold"],
            "memory MB": searched["memory_mb"],
            "disk MB": size_of(folder),
        }
        found["after delete"] = float(step(python, engine, "delete", work, folder)["found_after_delete"])
        shutil.rmtree(folder)
        step(python, engine, "ingest", work, folder, kill=True)
        found["after kill"] = float(step(python, engine, "count", work, folder)["count"])
    return found


def table(rounds: dict[tuple[str, int], list[dict[str, float]]], sizes: list[int]) -> str:
    """Medians, each with its ratio to Footnotes."""
    lines = []
    for count in sizes:
        found = {engine: held for (engine, size), held in rounds.items() if size == count and held}
        medians = {
            engine: {name: statistics.median(one[name] for one in held) for name in held[0]}
            for engine, held in found.items()
        }
        own = medians["footnotes"]
        lines += [f"| {count:,} texts | " + " | ".join(medians) + " |", "| --- |" + " --- |" * len(medians)]
        for name in own:
            cells = (_cell(values[name], own[name], name, engine) for engine, values in medians.items())
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def _cell(value: float, own: float, name: str, engine: str) -> str:
    if name == "after delete":
        return "found" if value else "gone"
    said = f"{value:,.0f}" if value >= 100 or name == "after kill" else f"{value:.2g}" if value < 1 else f"{value:.1f}"
    if engine == "footnotes" or name == "after kill" or not own:
        return said
    ratio = value / own
    return f"{said} ({ratio:.0f}×)" if ratio >= 10 else f"{said} ({ratio:.2g}×)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000])
    parser.add_argument("--engines", nargs="+", default=["footnotes", *PACKAGES])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--environments", type=Path, default=Path.home() / ".cache" / "footnotes-peers")
    options = parser.parse_args()
    pythons = {engine: python_of(engine, options.environments) for engine in options.engines}
    for engine, python in pythons.items():
        _say_version(engine, python, options.environments)
    rounds: dict[tuple[str, int], list[dict[str, float]]] = {}
    for count in options.sizes:
        with tempfile.TemporaryDirectory() as held:
            make_work(work := Path(held) / "work", count)
            for number in range(options.rounds):
                for engine, python in pythons.items():
                    try:
                        found = measure(python, engine, work, count)
                    except (RuntimeError, ValueError) as error:
                        print(f"{engine} at {count:,}: {error}", file=sys.stderr)
                        continue
                    rounds.setdefault((engine, count), []).append(found)
                    print(f"round {number + 1}, {engine}, {count:,}: {json.dumps(found)}", file=sys.stderr)
    print(table(rounds, options.sizes))


def _say_version(engine: str, python: str, environments: Path) -> None:
    code = (
        "import sys, importlib.metadata as m; sys.path.insert(0, sys.argv[1]); import peer_engines as p;"
        "print(m.version(p.ENGINES[sys.argv[2]].package))"
    )
    said = subprocess.run([python, "-c", code, str(ENGINE.parent), engine], capture_output=True, text=True, check=True)
    size = "" if engine == "footnotes" else f", {size_of(environments / engine):,.0f} MB installed"
    print(f"{engine} {said.stdout.strip()}{size}")


if __name__ == "__main__":
    main()
