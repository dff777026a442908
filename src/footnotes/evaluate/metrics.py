"""How good a ranking, a set of spans or an answer is. Each measure is one function with its definition.

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
    """The share of the relevant documents that are among the first k."""
    relevant = _relevant(judged)
    return len(relevant.intersection(ranking[:k])) / len(relevant) if relevant else 0.0


def precision_at(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """The share of the first k that is relevant; places left empty count as misses."""
    return len(_relevant(judged).intersection(ranking[:k])) / k


def reciprocal_rank(ranking: Sequence[str], judged: Mapping[str, int], k: int | None = None) -> float:
    """One over the rank of the first relevant document, 0 when there is none (Voorhees, TREC-8, 1999)."""
    relevant = _relevant(judged)
    return next((1 / rank for rank, found in enumerate(ranking[:k], start=1) if found in relevant), 0.0)


def average_precision(ranking: Sequence[str], judged: Mapping[str, int]) -> float:
    """The mean of precision at the rank of each relevant document; those not found count 0."""
    relevant = _relevant(judged)
    found, total = 0, 0.0
    for rank, each in enumerate(ranking, start=1):
        if each in relevant:
            found += 1
            total += found / rank
    return total / len(relevant) if relevant else 0.0


def ndcg_at(ranking: Sequence[str], judged: Mapping[str, int], k: int) -> float:
    """Discounted cumulative gain over that of the best possible order.

    Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 2002: the gain is the grade,
    the discount log2(rank + 1), as trec_eval counts.
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
    """The share of the reference characters that the retrieved spans hold."""
    wanted = _length(_unite(references))
    return _length(_common(retrieved, references)) / wanted if wanted else 0.0


def span_precision(retrieved: Sequence[Span], references: Sequence[Span]) -> float:
    """The share of the retrieved characters that are reference. Characters retrieved twice count twice."""
    given = _length(retrieved)
    return _length(_common(retrieved, references)) / given if given else 0.0


def span_iou(retrieved: Sequence[Span], references: Sequence[Span]) -> float:
    """The intersection over the union of retrieved and expected characters."""
    common = _length(_common(retrieved, references))
    total = _length(retrieved) + _length(_unite(references)) - common
    return common / total if total else 0.0


def _common(retrieved: Iterable[Span], references: Sequence[Span]) -> list[Span]:
    """The parts of the references that are retrieved, each character once."""
    found = [
        (document, max(start, low), min(end, high))
        for document, start, end in retrieved
        for other, low, high in references
        if document == other and max(start, low) < min(end, high)
    ]
    return _unite(found)


def _unite(spans: Iterable[Span]) -> list[Span]:
    """The same characters without overlaps."""
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
    """The F1 of the two texts' words, stemmed (Rajpurkar et al., SQuAD, EMNLP 2016, with our own analysis)."""
    given, wanted = Counter(analyze(answer)), Counter(analyze(expected))
    common = sum((given & wanted).values())
    return 2 * common / (sum(given.values()) + sum(wanted.values())) if common else 0.0


def citation_precision(cited: Sequence[Span], references: Sequence[Span]) -> float:
    """The share of the citations that touch a reference span."""
    if not cited:
        return 0.0
    return sum(bool(_common([citation], references)) for citation in cited) / len(cited)
