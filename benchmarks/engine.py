"""How fast the engine itself is: ingest, hybrid search, recall, filters. No model runs: vectors are given.

    python benchmarks/engine.py --chunks 100000 [--json]

The texts are English words drawn by a Zipf law (exponent 1.07, 100,000 words, 120 to a chunk, 20 chunks to a
document), so that questions of eight words taken from a chunk hold common and rare words as prose does. The vectors
lie in clusters of a low-dimensional space with noise on top, as those of texts do; independent random vectors have no
neighbours worth finding. Everything passes through the same code as a user's folder: files on disk, parser,
chunker, durable store, both indexes.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import shutil
import sys
import tempfile
import time
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from footnotes.embed import Matrix
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Role

DIMENSIONS, LATENT, VOCABULARY, WORDS, PER_DOCUMENT, QUESTIONS, BUCKETS = 384, 64, 100_000, 120, 20, 200, 100
_NUMBER = re.compile(r"\b([xq])(\d+)\b")


class GivenVectors:
    """Looks vectors up by the number each text carries, so that no model is measured."""

    name, fingerprint, dimensions, max_tokens = "given:vectors", "given-1", DIMENSIONS, 100_000

    def __init__(self, passages: Matrix, questions: Matrix) -> None:
        self._tables = {"x": passages, "q": questions}

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        rows = []
        for text in texts:
            found = _NUMBER.search(text)
            assert found is not None
            rows.append(self._tables[found[1]][int(found[2])])
        return np.array(rows, dtype=np.float32)


def make_vectors(count: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Unit vectors for passages and questions from the same clusters."""
    scale = (np.arange(1, LATENT + 1) ** -0.4).astype(np.float32)[:, None]
    mixing = rng.standard_normal((LATENT, DIMENSIONS)).astype(np.float32) * scale
    centres = rng.standard_normal((max(50, count // 200), LATENT)).astype(np.float32)

    def draw(size: int) -> Matrix:
        out = np.empty((size, DIMENSIONS), dtype=np.float32)
        for start in range(0, size, 50_000):
            n = min(50_000, size - start)
            latent = centres[rng.integers(0, len(centres), n)] + 0.7 * rng.standard_normal((n, LATENT))
            rows = latent.astype(np.float32) @ mixing + 0.15 * rng.standard_normal((n, DIMENSIONS))
            out[start : start + n] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return out

    return draw(count), draw(QUESTIONS)


def make_words(rng: np.random.Generator) -> NDArray[np.str_]:
    """English words, the commonest first (the order of the embedder's vocabulary), then compounds of two of them."""
    pieces = [piece for piece in _vocabulary() if len(piece) > 1 and piece.isascii() and piece.isalpha()]
    words = dict.fromkeys(pieces)
    for first, second in rng.integers(0, len(pieces), (4 * VOCABULARY, 2)):
        if len(words) == VOCABULARY:
            break
        words[pieces[first] + pieces[second]] = None
    return np.array(list(words))


def _vocabulary() -> list[str]:
    file = resources.files("footnotes.embed") / "data" / "bert-uncased-vocab.txt"
    return file.read_text(encoding="utf-8").splitlines()


def write_documents(folder: Path, count: int, rng: np.random.Generator) -> list[str]:
    """Text files of PER_DOCUMENT numbered paragraphs each; returns the questions."""
    words = make_words(rng)
    weights = 1 / np.arange(1, VOCABULARY + 1) ** 1.07
    cumulative = np.cumsum(weights / weights.sum())
    questions: list[str] = []
    asked = set(rng.integers(0, count, QUESTIONS).tolist())
    for start in range(0, count, PER_DOCUMENT):
        numbers = range(start, min(start + PER_DOCUMENT, count))
        drawn = words[np.minimum(np.searchsorted(cumulative, rng.random((len(numbers), WORDS))), VOCABULARY - 1)]
        paragraphs = []
        for number, row in zip(numbers, drawn, strict=True):
            paragraphs.append(f"Text x{number} {' '.join(row)}.")
            if number in asked and len(questions) < QUESTIONS:
                questions.append(" ".join(rng.choice(row, size=8, replace=False)))
        (folder / f"{start // PER_DOCUMENT:07}.txt").write_text("\n\n".join(paragraphs) + "\n")
    while len(questions) < QUESTIONS:
        questions.append(questions[len(questions) % max(len(asked), 1)])
    return questions


def bucket_of(path: Path) -> dict[str, int]:
    """A share of one in BUCKETS of the documents, spread evenly."""
    return {"bucket": (int(path.stem) * 7919) % BUCKETS}


def timed_searches(library: Library, questions: list[str], **options: object) -> NDArray[np.float64]:
    took = []
    for number, question in enumerate(questions):
        began = time.perf_counter()
        library.search(f"q{number} {question}", limit=10, **options)  # type: ignore[arg-type]
        took.append((time.perf_counter() - began) * 1000)
    return np.array(took)


def dense_recall(library: Library, vectors: Matrix, queries: Matrix, questions: list[str]) -> float:
    """Share of the exact ten nearest that the dense leg finds."""
    found = 0
    for number, question in enumerate(questions):
        result = library.search(f"q{number} {question}", limit=10, mode="dense", per_document=PER_DOCUMENT)
        got = {int(_NUMBER.search(hit.text)[2]) for hit in result.hits}  # type: ignore[index]
        found += len(got & set(_exact(vectors, queries[number])))
    return found / (10 * len(questions))


def _exact(vectors: Matrix, query: Matrix) -> list[int]:
    scores = vectors @ query
    nearest: list[int] = np.argpartition(-scores, 10)[:10].tolist()
    return nearest


def filtered_exact(library: Library, vectors: Matrix, queries: Matrix, questions: list[str], count: int) -> float:
    """Share of filtered dense searches that return exactly the nearest of the chunks that pass."""
    documents = np.arange(count) // PER_DOCUMENT
    passing = np.flatnonzero((documents * 7919) % BUCKETS == 7)
    right = 0
    for number, question in enumerate(questions[:50]):
        result = library.search(
            f"q{number} {question}", limit=10, mode="dense", per_document=PER_DOCUMENT, where="bucket=7"
        )
        got = [int(_NUMBER.search(hit.text)[2]) for hit in result.hits]  # type: ignore[index]
        order = np.argsort(-(vectors[passing] @ queries[number]))[: len(got)]
        right += len(set(passing[order].tolist()) & set(got)) == len(got) == min(10, len(passing))
    return right / 50


def run(count: int, folder: Path) -> dict[str, float]:
    rng = np.random.default_rng(7)
    vectors, queries = make_vectors(count, rng)
    texts, home = folder / "texts", folder / "library"
    texts.mkdir()
    questions = write_documents(texts, count, rng)
    settings = Settings(chunker="rules", chunker_options={"tokens": 200, "overlap": 0}, user="bench")
    library = Library(home, settings=settings, embedder=GivenVectors(vectors, queries))
    began = time.perf_counter()
    added = library.add(texts, metadata=bucket_of)
    ingest_seconds = time.perf_counter() - began
    chunks = sum(item.chunks for item in added)
    began = time.perf_counter()
    library.settle()
    graph_seconds = time.perf_counter() - began
    timed_searches(library, questions[:20])
    plain = np.concatenate([timed_searches(library, questions) for _ in range(3)])
    filtered = timed_searches(library, questions, where="bucket=7")
    filtered = np.concatenate([filtered, timed_searches(library, questions, where="bucket=7")])
    result = {
        "chunks": chunks,
        "hybrid_p50_ms": round(float(np.percentile(plain, 50)), 3),
        "hybrid_p95_ms": round(float(np.percentile(plain, 95)), 3),
        "dense_recall_at_10": round(dense_recall(library, vectors, queries, questions), 4),
        "filtered_p50_ms": round(float(np.percentile(filtered, 50)), 3),
        "filtered_exact": filtered_exact(library, vectors, queries, questions, count),
        "ingest_chunks_per_s": round(chunks / ingest_seconds),
        "graph_s": round(graph_seconds, 1),
        "rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "disk_mb": round(sum(path.stat().st_size for path in home.rglob("*") if path.is_file()) / 2**20),
    }
    library.close()
    return {**result, **reopen(home, settings, GivenVectors(vectors, queries), questions[0])}


def reopen(home: Path, settings: Settings, embedder: GivenVectors, question: str) -> dict[str, float]:
    """Seconds until a library that was closed answers its first question, and until all of it is verified."""
    began = time.perf_counter()
    library = Library(home, settings=settings, embedder=embedder)
    library.search(f"q0 {question}", limit=10)
    opened = time.perf_counter() - began
    began = time.perf_counter()
    problems = library.verify().problems
    verified = time.perf_counter() - began
    library.close()
    assert not problems, problems
    return {"open_s": round(opened, 2), "verify_s": round(verified, 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--json", action="store_true", help="one line of JSON for each size")
    arguments = parser.parse_args()
    results = []
    for count in arguments.chunks:
        folder = Path(tempfile.mkdtemp(prefix="footnotes-bench-"))
        try:
            results.append(run(count, folder))
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if arguments.json:
            print(json.dumps(results[-1]), flush=True)
    if not arguments.json:
        for name in results[0]:
            print(f"{name:22}" + "".join(f"{result[name]:>14}" for result in results))


if __name__ == "__main__":
    sys.exit(main())
