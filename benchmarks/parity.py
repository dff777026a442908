"""The PostgreSQL store finds what the embedded one finds: nDCG@10 of both on the same questions, leg by leg.

    python benchmarks/parity.py [--only scifact nfcorpus] [--work DIR] [--json]

The library is filled as benchmarks/quality.py fills it (and shared with it, when --work is the same), then copied to a
PostgreSQL that is started for it: both stores have the same chunks and vectors, and differ in how they search.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import quality

from footnotes.config import load
from footnotes.engine import Library
from footnotes.evaluate.golden import read_golden
from footnotes.evaluate.run import evaluate
from footnotes.ingest.copying import copy_between
from footnotes.ingest.work import quiet
from postgres import Server

WAYS = ("lexical", "dense", "hybrid")
CLOSE = 0.01


def measured(library: Library, data: Path) -> dict[str, Any]:
    questions = read_golden(data)
    runs = {way: evaluate(library, questions, name=way, options=quality.WAYS[way]) for way in WAYS}
    found: dict[str, Any] = {way: run.means[quality.MAIN] for way, run in runs.items()}
    return {**found, "ms": quality._median_ms(runs["hybrid"])}


def compare(name: str, data: Path, work: Path, address: str, folder: Path) -> list[dict[str, Any]]:
    with quality._library(work, lambda place: quality._write_corpus(data, place, ".md")) as library:
        embedded = measured(library, data)
    source = load(work / "library", library=str(work / "library"))
    target = load(None, store=address, library=str(folder / name), user=source.user)
    copy_between(source, target, on_progress=quiet)
    with Library(folder / name, settings=target) as library:
        library.settle()
        there = measured(library, data)
    rows = []
    for way in WAYS:
        difference = there[way] - embedded[way]
        rows.append(
            {
                "set": name,
                "leg": way,
                "sqlite": round(embedded[way], 4),
                "postgresql": round(there[way], 4),
                "difference": round(difference, 4),
                "within": abs(difference) <= CLOSE,
            }
        )
    print(f"  {name}: median {embedded['ms']:.1f} ms and {there['ms']:.1f} ms a question", file=sys.stderr)
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=quality.SHARED)
    parser.add_argument("--work", type=Path, default=Path("/tmp/footnotes-quality"))
    parser.add_argument("--only", nargs="*", default=["scifact", "nfcorpus"])
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for name in arguments.only:
        folder = Path(tempfile.mkdtemp(prefix="footnotes-parity-"))
        server = Server(folder)
        try:
            data = arguments.data / "retrieval" / name
            rows += compare(name, data, arguments.work / name, server.address, folder)
        finally:
            server.stop()
            shutil.rmtree(folder, ignore_errors=True)
    for row in rows:
        if arguments.json:
            print(json.dumps(row))
        else:
            said = "within" if row["within"] else "BEYOND"
            figures = f"{row['sqlite']:.4f} {row['postgresql']:.4f} {row['difference']:+.4f}"
            print(f"{row['set']:10} {row['leg']:8} {figures} {said}")
    return 0 if all(row["within"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
