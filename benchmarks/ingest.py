"""What taking documents in costs with the real embedder, and how much of it is the embedder.

    python benchmarks/ingest.py [FOLDER] [--files N]

Prints the share of wall time spent in the embedder, and how its rate compares with onnxruntime alone on the very
same batches, run after it in the same process.
"""

from __future__ import annotations

import argparse
import json
import resource
import shutil
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from footnotes.embed import Matrix, local
from footnotes.embed.local import LocalEmbedder
from footnotes.ingest.walk import Skipped, walk
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Role

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "data" / "markdown" / "fastapi" / "docs"


class Timed:
    """The local embedder with a stopwatch, and a record of what onnxruntime was given."""

    def __init__(self) -> None:
        self._inner = LocalEmbedder()
        self.name, self.fingerprint = self._inner.name, self._inner.fingerprint
        self.dimensions, self.max_tokens = self._inner.dimensions, self._inner.max_tokens
        self.seconds = 0.0
        self.texts = 0
        self.batches: list[list[str]] = []
        self._session = self._inner._session

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        began = time.perf_counter()
        result = self._inner.embed(texts, role=role)
        self.seconds += time.perf_counter() - began
        self.texts += len(texts)
        self.batches.append(list(texts))
        return result


def compared(embedder: Timed, most: int = 12) -> float:
    """Seconds of the embedder over seconds of onnxruntime alone, batch by batch in turns, so that noise meets both."""
    ours = alone = 0.0
    for texts in embedder.batches[:most]:
        began = time.perf_counter()
        embedder._inner.embed(texts, role="passage")
        ours += time.perf_counter() - began
        alone += raw_seconds(embedder, texts)
    return ours / alone


def raw_seconds(embedder: Timed, texts: list[str]) -> float:
    """onnxruntime alone: the same tokens in the same batches, tokenised and padded beforehand."""
    total = 0.0
    ids = embedder._inner._tokenizer(texts)
    for rows in local._batches([len(each) for each in ids]):
        inputs = local._padded([ids[row] for row in rows])
        began = time.perf_counter()
        embedder._session.run(None, inputs)
        total += time.perf_counter() - began
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED if SHARED.is_dir() else ROOT / "docs")
    parser.add_argument("--files", type=int, default=60)
    arguments = parser.parse_args()
    files = [item for item in walk(arguments.folder) if not isinstance(item, Skipped)][: arguments.files]
    home = Path(tempfile.mkdtemp(prefix="footnotes-ingest-"))
    embedder = Timed()
    embedder._inner.embed(["warm up"], role="passage")
    try:
        with Library(home / "library", settings=Settings(), embedder=embedder) as library:
            began = time.perf_counter()
            added = library.add(*files)
            wall = time.perf_counter() - began
    finally:
        shutil.rmtree(home, ignore_errors=True)
    result = {
        "files": len(files),
        "chunks": sum(item.chunks for item in added),
        "chunks_per_s": round(embedder.texts / wall, 1),
        "embedder_share_of_wall": round(embedder.seconds / wall, 3),
        "embedder_to_onnxruntime": round(compared(embedder), 3),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
