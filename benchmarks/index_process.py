"""What a row of benchmarks/indexes.py does in a process of its own: take the texts in, be searched.

One process fills a library, another searches it: the memory of the second is that of a program that searches.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from engine import _NUMBER, BUCKETS, DIMENSIONS, PER_DOCUMENT, GivenVectors, bucket_of
from index_servers import memory

from footnotes.library import Library
from footnotes.settings import Settings

FEW, RANGE = "bucket=7", f"bucket<{BUCKETS // 10}"
"""1% of the documents, said in facets; 10%, which is a comparison of numbers and cannot be."""
KINDS: dict[str, dict[str, Any]] = {
    "hybrid": {},
    "dense": {"mode": "dense"},
    "lexical": {"mode": "lexical"},
    "few": {"where": FEW},
    "range": {"where": RANGE},
}
LEGS: dict[str, dict[str, Any]] = {
    "dense": {"mode": "dense", "fusion": "rrf"},
    "lexical": {"mode": "lexical", "fusion": "rrf"},
    "dense_few": {"mode": "dense", "fusion": "rrf", "where": FEW},
    "dense_range": {"mode": "dense", "fusion": "rrf", "where": RANGE},
}
"""Each leg alone, in its own order."""
EQUALS = 500
"""So far down is looked for chunks whose words score as much as the tenth: texts of one length often do."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a row keeps its library, and what it takes in."""

    work: Path
    library: Path
    store: str = ""
    index: str = ""
    legs: tuple[str, ...] = ("dense",)
    options: Mapping[str, Any] = field(default_factory=dict)


_OPEN: list[tuple[Library, list[str]]] = []
"""The library of this process, and the questions."""


def opened(place: Place, *, passages: bool = False) -> None:
    """Open the library; with the vectors of the passages only where they are to be taken in."""
    settings = Settings(
        store=place.store,
        index=place.index,
        index_legs=place.legs,
        index_seconds=60.0,
        index_options=place.options,
        chunker="rules",
        chunker_options={"tokens": 200, "overlap": 0},
        user="bench",
    )
    queries = np.load(place.work / "queries.npy")
    vectors = np.load(place.work / "vectors.npy", mmap_mode="r") if passages else np.zeros((0, DIMENSIONS))
    library = Library(place.library, settings=settings, embedder=GivenVectors(vectors, queries))
    _OPEN.append((library, (place.work / "questions").read_text().splitlines()))


def closed() -> None:
    library, _ = _OPEN.pop()
    library.close()


# ── filling


def taken_in(work: Path) -> tuple[int, float]:
    """The chunks, and the seconds until every document is ready."""
    library, _ = _OPEN[-1]
    began = time.perf_counter()
    added = library.add(work / "texts", metadata=bucket_of)
    took = time.perf_counter() - began
    assert all(one.status == "ready" for one in added), [one.error for one in added if one.status != "ready"][:1]
    return sum(one.chunks for one in added), took


def settled() -> float:
    """The seconds that what is built behind searches takes on."""
    began = time.perf_counter()
    _OPEN[-1][0].settle()
    return time.perf_counter() - began


def filled_again() -> float:
    """The seconds in which an empty index is filled from the store."""
    store: Any = _OPEN[-1][0]._store
    generation = store.generations.serving("bench")
    began = time.perf_counter()
    if store.remote is not None:
        store.remote.catch_up(generation)
    else:
        store.indexes.catch_up(generation)
    return time.perf_counter() - began


# ── searching


def timed(kind: str, numbers: range) -> list[float]:
    """Milliseconds of each question."""
    library, questions = _OPEN[-1]
    took = []
    for number in numbers:
        began = time.perf_counter()
        result = library.search(f"q{number} {questions[number]}", limit=10, **KINDS[kind])
        took.append((time.perf_counter() - began) * 1000)
        assert result.hits, (kind, number)
    return took


def found(leg: str, numbers: range) -> list[list[int]]:
    """The numbers of the texts that a leg finds for each question, best first."""
    library, questions = _OPEN[-1]
    answers = []
    for number in numbers:
        query = f"q{number} {questions[number]}"
        hits = library.search(query, limit=10, per_document=PER_DOCUMENT, **LEGS[leg]).hits
        answers.append([int(_NUMBER.search(hit.text)[2]) for hit in hits])  # type: ignore[index]
    return answers


def best_by_words(numbers: range) -> list[list[int]]:
    """The ten best of the lexical leg for each question, and those that score as much as the tenth."""
    library, questions = _OPEN[-1]
    answers = []
    for number in numbers:
        query, width = f"q{number} {questions[number]}", {"limit": EQUALS, "candidates": EQUALS}
        hits = library.search(query, per_document=PER_DOCUMENT, **width, **LEGS["lexical"]).hits  # type: ignore[arg-type]
        scores = [hit.scores.lexical.score if hit.scores.lexical else 0.0 for hit in hits]
        least = scores[:10][-1] - 1e-4 if scores else 0.0
        best = [hit for hit, score in zip(hits, scores, strict=True) if score >= least]
        answers.append([int(_NUMBER.search(hit.text)[2]) for hit in best])  # type: ignore[index]
    return answers


def own_memory() -> int:
    return memory([os.getpid()])
