"""The PostgreSQL store finds what the embedded one finds: nDCG@10 of both on the same questions, leg by leg.

    python benchmarks/parity.py [--only scifact nfcorpus] [--work DIR] [--json]

The library is filled as benchmarks/quality.py fills it (and shared with it, when --work is the same), then copied to a
PostgreSQL that is started for it: both stores have the same chunks and vectors, and differ in how they search.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import quality

from footnotes.evaluate import metrics
from footnotes.evaluate.golden import Names, read_golden
from footnotes.evaluate.run import evaluate
from footnotes.ingest.copying import copy_between
from footnotes.ingest.work import quiet
from footnotes.library import Library
from footnotes.settings import load
from postgres import TEXTBOOK, Server, Textbook, _execute

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
        for row in textbook(name, library, data, address):
            print(
                f"  {row['set']}, {row['leg']}: nDCG@10 {row['ndcg@10']}, recall@10 {row['recall@10']}", file=sys.stderr
            )
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


def textbook(name: str, library: Library, data: Path, address: str) -> list[dict[str, Any]]:
    """The textbook query of benchmarks/postgres.py over the same chunks and vectors: hybrid nDCG and recall."""
    asyncio.run(_execute(address, TEXTBOOK.replace("vector(384)", "vector")))
    asyncio.run(_execute(address, _FILL))
    asyncio.run(_execute(address, "CREATE INDEX ON textbook USING gin (tsv)"))
    book, names, rows = Textbook(address), Names(library), []
    asked = [(question, names.grades(question)) for question in read_golden(data)]
    documents = {row[0]: row[1] for row in book.rows("SELECT key, document_id FROM document_chunks")}
    for way, joined in (("textbook, any word", " or "), ("textbook, all words", " ")):
        found = []
        for question, judged in asked:
            words = joined.join(re.findall(r"\w+", question.text))
            vector = library.embedder().embed([question.text], role="query")[0]
            ranking = list(dict.fromkeys(documents[row["id"]] for row in book.search(words, vector)))
            found.append((metrics.ndcg_at(ranking, judged, 10), metrics.recall_at(ranking, judged, 10)))
        ndcg, recall = np.mean(found, axis=0)
        rows.append({"set": name, "leg": way, "ndcg@10": round(float(ndcg), 4), "recall@10": round(float(recall), 4)})
    ours = evaluate(library, [question for question, _ in asked], name="ours", options=quality.WAYS["hybrid"])
    means = {measure: round(ours.means[measure], 4) for measure in ("ndcg@10", "recall@10")}
    book.close()
    return [*rows, {"set": name, "leg": "ours, hybrid", **means}]


_FILL = """
INSERT INTO textbook (id, user_id, bucket, content, embedding)
SELECT key, 'bench', 0, content, embedding::vector FROM document_chunks WHERE generation > 0
"""


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
