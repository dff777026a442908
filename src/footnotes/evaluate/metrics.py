"""Measures of rankings, spans and answers. Each measure is one function with its definition.

A ranking is ids, best first, without repetition. Judgements map an id to its grade; a grade above 0 is relevant.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from footnotes.text.analysis import analyze

Span = tuple[str, int, int]
"""A document and two offsets into its canonical text."""


def recall_at(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """Return the share of the relevant documents that are among the first k."""
    relevant = _relevant(judged)
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def precision_at(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """Return the share of the first k that is relevant; missing results count as misses."""
    return len(_relevant(judged).intersection(ranking[:k])) / k


def reciprocal_rank(ranking: Sequence[str], judged: Mapping[str, int], k: int | None = None) -> float:
    """Return one over the rank of the first relevant document, or 0 (Voorhees, TREC-8, 1999)."""
    relevant = _relevant(judged)
    return next((1 / rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant), 0.0)


def average_precision(ranking: Sequence[str], judged: Mapping[str, int]) -> float:
    """Return the mean of precision at the rank of each relevant document; missing ones count 0."""
    relevant = _relevant(judged)
    found, total = 0, 0.0
    for rank, each in enumerate(ranking, start=1):
        if each in relevant:
            found += 1
            total += found / rank
    return total / len(relevant) if relevant else 0.0


def ndcg_at(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """Return the discounted cumulative gain relative to that of the best possible order.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002. The gain is the grade,
    the discount log2(rank + 1), as in trec_eval.
    """
    ideal = _dcg(sorted((grade for grade in judged.values() if grade > 0), reverse=True)[:k])
    gained = _dcg([max(judged.get(found, 0), 0) for found in ranking[:k]])
    return gained / ideal if ideal else 0.0


def _dcg(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, start=1))


def _relevant(judged: Mapping[str, int]) -> set[str]:
    return {each for each, grade in judged.items() if grade > 0}


# ── spans ────────────────────────────────────────────────────────────────────────────────────────────────
# Smith and Troynikov, "Evaluating Chunking Strategies for Retrieval", Chroma technical report, 2024.


def span_recall(retrieved: Iterable[Span], references: Sequence[Span]) -> float:
    """Return the share of the reference characters that the retrieved spans cover."""
    reference_length = _length(_unite(references))
    return _length(_common(retrieved, references)) / reference_length if reference_length else 0.0


def span_precision(retrieved: Sequence[Span], references: Sequence[Span]) -> float:
    """Return the share of the retrieved characters inside references. Characters retrieved twice count twice."""
    retrieved_length = _length(retrieved)
    return _length(_common(retrieved, references)) / retrieved_length if retrieved_length else 0.0


def span_iou(retrieved: Sequence[Span], references: Sequence[Span]) -> float:
    """Return the intersection over the union of retrieved and expected characters."""
    common = _length(_common(retrieved, references))
    total = _length(retrieved) + _length(_unite(references)) - common
    return common / total if total else 0.0


def _common(retrieved: Iterable[Span], references: Sequence[Span]) -> list[Span]:
    """Return the retrieved parts of the references, each character once."""
    found = [
        (document, max(start, low), min(end, high))
        for document, start, end in retrieved
        for other, low, high in references
        if document == other and max(start, low) < min(end, high)
    ]
    return _unite(found)


def _unite(spans: Iterable[Span]) -> list[Span]:
    """Merge overlapping spans."""
    found: list[Span] = []
    for document, start, end in sorted(spans):
        if found and found[-1][0] == document and start <= found[-1][2]:
            found[-1] = (document, found[-1][1], max(end, found[-1][2]))
        else:
            found.append((document, start, end))
    return found


def _length(spans: Iterable[Span]) -> int:
    return sum(end - start for _, start, end in spans)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────


def answer_overlap(answer: str, expected: str) -> float:
    """Return the F1 of the two texts' stemmed words (Rajpurkar et al., SQuAD, EMNLP 2016, with our own analysis)."""
    answer_terms, expected_terms = Counter(analyze(answer)), Counter(analyze(expected))
    common = sum((answer_terms & expected_terms).values())
    return 2 * common / (sum(answer_terms.values()) + sum(expected_terms.values())) if common else 0.0


def citation_precision(cited: Sequence[Span], references: Sequence[Span]) -> float:
    """Return the share of citations that overlap a reference span."""
    if not cited:
        return 0.0
    return sum(bool(_common([citation], references)) for citation in cited) / len(cited)
