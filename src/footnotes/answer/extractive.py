"""Answers without a language model: the sentences of the hits that best answer, each with its footnote.

Two logistic models decide. The first says how likely a sentence holds the answer; the second, from the best
sentence, how likely the documents answer at all. Their weights were fitted by `benchmarks/answers.py --fit` on
half of a labelled set and measured on the other half; docs/concepts/answer.md has the figures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from footnotes.answer.candidates import Candidate, DocumentFrequency, Question, candidates_of, read_question
from footnotes.answer.passages import Passage, lines_of, origin_of, page_of, passages_of
from footnotes.embed import Matrix
from footnotes.types import Citation, Hit, Role

ABSTENTION = "Nothing in these documents answers this question."
MAX_EMBEDDED = 24
DUPLICATE = 0.8
NEARLY = 0.35
_ENDED = re.compile(r"[.!?…。！？؟۔][\"'”’»)\]]*\Z")


class Embed(Protocol):
    """`Embedder.embed`."""

    def __call__(self, texts: Sequence[str], *, role: Role) -> Matrix: ...


@dataclass(frozen=True, slots=True)
class Weights:
    """A logistic model over the features of candidates."""

    bias: float
    coverage: float
    context: float
    around: float
    pairs: float
    kind: float
    relative: float
    carried: float
    cosine: float = 0.0

    def probability(self, candidate: Candidate) -> float:
        total = (
            self.bias
            + self.coverage * candidate.coverage
            + self.context * candidate.context
            + self.around * candidate.around
            + self.pairs * candidate.pairs
            + self.kind * candidate.kind
            + self.relative * candidate.relative
            + self.carried * candidate.carried
            + self.cosine * (candidate.cosine or 0.0)
        )
        return 1.0 / (1.0 + math.exp(-total))


SENTENCE = Weights(
    -14.97, coverage=4.74, context=1.77, around=-2.21, pairs=1.02, kind=0.66, relative=11.45, carried=1.33
)
ANSWERED = Weights(-6.03, coverage=2.36, context=2.41, around=1.74, pairs=0.86, kind=0.46, relative=0.94, carried=2.34)
THRESHOLD = 0.22
SENTENCE_EMBEDDED = Weights(
    -15.19, coverage=3.95, context=1.84, around=-2.1, pairs=0.92, kind=0.67, relative=10.85, carried=1.33, cosine=1.9
)
ANSWERED_EMBEDDED = Weights(
    -6.67, coverage=1.95, context=2.21, around=1.5, pairs=0.67, kind=0.52, relative=0.8, carried=2.37, cosine=2.24
)
THRESHOLD_EMBEDDED = 0.24


@dataclass(frozen=True, slots=True)
class Extract:
    """The sentences chosen, in reading order, with how likely each holds the answer; none means abstention."""

    sentences: tuple[tuple[Candidate, float], ...]
    confidence: float


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    limit: int = 3,
    embed: Embed | None = None,
    document_frequency: DocumentFrequency | None = None,
) -> Extract:
    """The sentences that best answer the question, or none when nothing supports an answer."""
    passages = passages_of(hits)
    read = read_question(question, passages, document_frequency)
    ranked = rank(read, passages, embed)
    confidence = answered(ranked)
    if not ranked or confidence < (THRESHOLD if embed is None else THRESHOLD_EMBEDDED):
        return Extract((), confidence)
    chosen = choose(ranked, limit)
    return Extract(tuple(sorted(chosen, key=lambda pair: _reading_order(pair[0]))), confidence)


def extract_parts(
    parts: Sequence[str], hits: Sequence[Hit], *, limit: int = 3, document_frequency: DocumentFrequency | None = None
) -> Extract:
    """As `extract`, for a question of several parts: the sentences that answer each, without repetition."""
    chosen: list[tuple[Candidate, float]] = []
    confidence = 0.0
    for part in parts:
        found = extract(part, hits, limit=limit, document_frequency=document_frequency)
        confidence = max(confidence, found.confidence)
        chosen += [pair for pair in found.sentences if not any(_near_duplicate(pair[0], other) for other, _ in chosen)]
    return Extract(tuple(chosen), confidence)


def rank(question: Question, passages: Sequence[Passage], embed: Embed | None) -> list[tuple[Candidate, float]]:
    """Every candidate with how likely it holds the answer, best first."""
    ranked = _ranked(candidates_of(question, passages), SENTENCE)
    if embed is None or not ranked:
        return ranked
    return _ranked(_measured(question.text, [pair[0] for pair in ranked[:MAX_EMBEDDED]], embed), SENTENCE_EMBEDDED)


def answered(ranked: Sequence[tuple[Candidate, float]]) -> float:
    """How likely the documents answer the question, judged by the best sentence."""
    if not ranked:
        return 0.0
    best = ranked[0][0]
    return (ANSWERED if best.cosine is None else ANSWERED_EMBEDDED).probability(best)


def choose(ranked: Sequence[tuple[Candidate, float]], limit: int) -> list[tuple[Candidate, float]]:
    """The best sentence and those nearly as likely, without near-duplicates."""
    chosen: list[tuple[Candidate, float]] = []
    for candidate, likelihood in ranked:
        if len(chosen) == limit or (chosen and likelihood < NEARLY * chosen[0][1]):
            break
        if not any(_near_duplicate(candidate, other) for other, _ in chosen):
            chosen.append((candidate, likelihood))
    return chosen


def written(extracted: Extract) -> tuple[str, tuple[Citation, ...]]:
    """The answer's text and its footnotes; the abstention when there are none."""
    if not extracted.sentences:
        return ABSTENTION, ()
    text, citations = "", []
    for marker, (candidate, _) in enumerate(extracted.sentences, 1):
        if text:
            text += " " if _ENDED.search(text) else "\n"
        begin = len(text)
        text += " ".join(candidate.text.split())
        citations.append(_footnote(marker, candidate, (begin, len(text))))
    return text, tuple(citations)


def _footnote(marker: int, candidate: Candidate, answer_span: tuple[int, int]) -> Citation:
    passage = candidate.passage
    path, commit = origin_of(passage)
    return Citation(
        marker,
        answer_span,
        passage.document_id,
        passage.filename,
        page_of(passage, candidate.start),
        candidate.start,
        candidate.end,
        candidate.text,
        lines=lines_of(passage, candidate.start, candidate.end),
        path=path,
        commit=commit,
    )


def _ranked(candidates: Sequence[Candidate], weights: Weights) -> list[tuple[Candidate, float]]:
    return sorted(((each, weights.probability(each)) for each in candidates), key=lambda pair: -pair[1])


def _measured(question: str, candidates: list[Candidate], embed: Embed) -> list[Candidate]:
    """The candidates with the cosine between each and the question; one call for all of them."""
    asked = embed([question], role="query")[0]
    cosines = np.asarray(embed([candidate.text for candidate in candidates], role="passage") @ asked, dtype=float)
    return [each.with_cosine(float(cosine)) for each, cosine in zip(candidates, cosines, strict=True)]


def _near_duplicate(one: Candidate, other: Candidate) -> bool:
    """Jaccard similarity of the terms, or one sentence inside the other."""
    if one.passage.document_id == other.passage.document_id and one.start < other.end and other.start < one.end:
        return True
    union = one.terms | other.terms
    return bool(union) and len(one.terms & other.terms) / len(union) >= DUPLICATE


def _reading_order(candidate: Candidate) -> tuple[int, int]:
    return candidate.passage.rank, candidate.start
