"""Memory of a Qdrant for each vector, with and without int8 and on_disk: the table of docs/scaling.md.

    python benchmarks/index_memory.py --vectors 50000

Filled through a library without a library, with twelve facets a chunk; then the server is started again and asked 400
questions. One line of JSON for each choice of options.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from engine import DIMENSIONS, PER_DOCUMENT, Matrix, make_vectors
from index_servers import Qdrant, anonymous, disk, memory

from footnotes.index import Change, Entry
from footnotes.index.qdrant.database import QdrantDatabase, QdrantIndex
from footnotes.index.remote import Scope
from footnotes.settings import Settings
from footnotes.store.change_feed import hidden

CHOICES: list[dict[str, Any]] = [
    {},
    {"quantization": "int8"},
    {"on_disk": True},
    {"on_disk": True, "quantization": "int8"},
]
FACETS, OWN = 12, 6
"""So many facets has a chunk; so many of them no other document has."""


def changes(vectors: Matrix) -> Iterator[Change]:
    halves = vectors.astype(np.float16)
    for document in range(len(vectors) // PER_DOCUMENT):
        facets = hidden(f"f{at}\x1f{document if at < OWN else document % 50}" for at in range(FACETS))
        keys = range(document * PER_DOCUMENT, (document + 1) * PER_DOCUMENT)
        yield Change(1, document, [Entry(k, document, facets=facets, vector=halves[k].tobytes()) for k in keys])


def asked(library: QdrantIndex, vectors: Matrix, queries: Matrix) -> dict[str, float]:
    """Recall and the median of the second round: the first brings pages into memory."""
    for _ in range(2):
        right, took = 0, []
        for query in queries:
            began = time.perf_counter()
            found = library.search(query, 10)
            took.append((time.perf_counter() - began) * 1000)
            right += len(set(np.argpartition(-(vectors @ query), 10)[:10].tolist()) & set(found.keys))
    return {"recall_at_10": right / (10 * len(queries)), "p50_ms": round(float(np.median(took)), 2)}


def measure(options: Mapping[str, Any], vectors: Matrix, queries: Matrix, work: Path) -> dict[str, Any]:
    server = Qdrant(work / "qdrant")
    try:
        empty = anonymous(server.pids)
        settings = Settings(index=server.address, index_seconds=60.0, index_options=options)
        database = QdrantDatabase.opened(settings)
        library = database.library(Scope("ab" * 16, "bench", 1, "given", DIMENSIONS))
        library.refresh()
        library.apply(changes(vectors), position=1)
        graph = server.settle()
        server.restart()
        figures = asked(library, vectors, queries)
        database.close()
        weights = {"empty": empty, "anonymous": anonymous(server.pids), "all": memory(server.pids)}
        sizes = {**weights, "disk": disk(server.storage)}
        return {"graph_s": round(graph, 1), **figures, **{f"{name}_mb": size >> 20 for name, size in sizes.items()}}
    finally:
        server.stop()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=int, default=50_000)
    arguments = parser.parse_args()
    vectors, queries = make_vectors(arguments.vectors, np.random.default_rng(7))
    for options in CHOICES:
        work = Path(tempfile.mkdtemp(prefix="fnbench"))
        try:
            print(json.dumps({"options": options, **measure(options, vectors, queries, work)}), flush=True)
        finally:
            shutil.rmtree(work, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
