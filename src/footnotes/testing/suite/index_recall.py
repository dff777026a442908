"""Recall against exact search: the ten best of a leg, compared with a scan of every chunk."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from footnotes import plugins
from footnotes.index import FIELD_WEIGHTS
from footnotes.library import Library
from footnotes.retrieve.where import as_filter
from footnotes.store.lexemes import chunk_terms
from footnotes.store.weights import K1, B, rarity
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.index import IndexUnderTest
from footnotes.testing.suite.index_filters import Oracle
from footnotes.testing.suite.index_texts import Lines, lines
from footnotes.text.analysis import analyze_question
from footnotes.types import Hit

DOCUMENTS, CHUNKS = 12, 250
QUESTIONS, BEST = 40, 10
LEAST = 0.95
NARROW, WIDE = "number=3", "number<6"
"""Filters that let through one document, and half of all."""
_EQUAL = {"dense": 2e-3, "lexical": 0.02}
"""Scores that differ by no more count as equal: vectors are stored in half precision, average lengths are measured."""


class Recall:
    """Approximation loses hardly anything; with a narrow filter it loses nothing, and the order is exact."""

    def test_recall_against_exact(self, index: IndexUnderTest, monkeypatch: pytest.MonkeyPatch) -> None:
        find: Callable[..., object] = plugins.find
        monkeypatch.setattr(
            plugins, "find", lambda kind, name: Lines if (kind, name) == ("chunkers", "lines") else find(kind, name)
        )
        index.hasten(monkeypatch)
        with index.open(chunker="lines") as library:
            for number in range(DOCUMENTS):
                text = "\n".join(lines(CHUNKS, seed=100 + number))
                library.add_text(text, filename=f"{number}.txt", metadata={"number": number})
            index.settle(library)
            exact = _by_vectors(index, library) if index.leg == "dense" else _by_words(library)
            oracle = Oracle(library)
            assert len(oracle.passing(None)) == DOCUMENTS * CHUNKS
            for where in (None, WIDE, NARROW):
                self._check(index, library, exact, oracle.passing(as_filter(where)), where)

    def _check(
        self,
        index: IndexUnderTest,
        library: Library,
        exact: Callable[[str], dict[str, float]],
        allowed: set[str],
        where: str | None,
    ) -> None:
        shares = []
        for question in questions():
            scores = {chunk: score for chunk, score in exact(question).items() if chunk in allowed}
            options = {"mode": index.leg, "where": where, "limit": BEST, "per_document": BEST, "fusion": "rrf"}
            hits = library.search(question, **options).hits  # type: ignore[arg-type]
            shares.append(_share(hits, scores, _EQUAL[index.leg]))
            _check_order(hits, scores, index.leg)
        recall = sum(shares) / len(shares)
        print(f"{index.name}: recall@{BEST} {recall:.4f} under {where or 'no filter'}")  # noqa: T201
        least = 1.0 if where == NARROW else LEAST
        assert recall >= least, f"{index.name}: recall@{BEST} is {recall:.4f} under {where or 'no filter'}"


def questions() -> list[str]:
    rng = random.Random(7)
    return [" ".join(rng.sample(line.split(), 5)) for line in lines(QUESTIONS, seed=9)]


def _share(hits: tuple[Hit, ...], scores: Mapping[str, float], equal: float) -> float:
    """Return the share of the best that was found; a score equal to the last of them counts."""
    best = sorted(scores.values(), reverse=True)[:BEST]
    good = [hit for hit in hits if scores.get(hit.chunk_id, -9.0) >= best[-1] - equal * abs(best[-1])]
    return len(good) / len(best)


def _check_order(hits: tuple[Hit, ...], scores: Mapping[str, float], leg: str) -> None:
    """Check that hits are in the order of their exact scores, and that these are shown."""
    assert all(hit.chunk_id in scores for hit in hits), "found what the filter does not let through"
    leg_scores = [getattr(hit.scores, leg).score for hit in hits]
    assert leg_scores == sorted(leg_scores, reverse=True)
    found = [scores[hit.chunk_id] for hit in hits]
    assert leg_scores == pytest.approx(found, rel=_EQUAL[leg], abs=_EQUAL["dense"])


# ── exact


def _by_vectors(index: IndexUnderTest, library: Library) -> Callable[[str], dict[str, float]]:
    stored = list(index.truth(library).values())
    names = [name for name, _ in stored]
    rows = np.stack([vector for _, vector in stored if vector is not None])
    embedder = HashingEmbedder()

    def exact(question: str) -> dict[str, float]:
        vector = embedder.embed([question], role="query")[0]
        return dict(zip(names, (rows @ vector).tolist(), strict=True))

    return exact


def _by_words(library: Library) -> Callable[[str], dict[str, float]]:
    """BM25 of every chunk, from its own terms; each field has its own statistics."""
    counts_by_field: dict[str, dict[str, Counter[str]]] = {field: {} for field in FIELD_WEIGHTS}
    for document in library.documents():
        for chunk in library.chunks(document.id):
            about: dict[str, Any] = {"headings": chunk.headings, "prefix": chunk.prefix, "metadata": chunk.metadata}
            terms = chunk_terms(chunk.text, title=document.title, filename=document.filename, **about)
            for field, chunks in counts_by_field.items():
                chunks[chunk.id] = Counter(getattr(terms, field))
    fields = {field: _Field(chunks) for field, chunks in counts_by_field.items()}

    def exact(question: str) -> dict[str, float]:
        scores: dict[str, float] = {}
        for term, count in Counter(analyze_question(question)).items():
            for name, field in fields.items():
                for chunk, score in field.scores(term):
                    scores[chunk] = scores.get(chunk, 0.0) + FIELD_WEIGHTS[name] * count * score
        return scores

    return exact


class _Field:
    def __init__(self, chunks: Mapping[str, Counter[str]]) -> None:
        self._lengths = {chunk: counts.total() for chunk, counts in chunks.items()}
        self._average = max(sum(self._lengths.values()) / len(chunks), 1.0)
        self._postings: dict[str, list[tuple[str, int]]] = {}
        for chunk, counts in chunks.items():
            for term, count in counts.items():
                self._postings.setdefault(term, []).append((chunk, count))

    def scores(self, term: str) -> Iterator[tuple[str, float]]:
        found = self._postings.get(term, [])
        for chunk, count in found:
            norm = K1 * (1 - B + B * self._lengths[chunk] / self._average)
            yield chunk, rarity(len(self._lengths), len(found)) * count * (K1 + 1) / (count + norm)
