"""Answers without a language model: the best answering sentences of the hits, each with its footnote.

Two logistic models decide. The first estimates how likely a sentence contains the answer; the second, from the best
sentence, how likely the documents answer at all. `benchmarks/answers.py --fit` fitted the weights of those with a
reader on articles of SQuAD; docs/concepts/answer.md has the figures on other sets.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Protocol

import numpy as np

from footnotes.answer.candidates import Candidate, candidates_of
from footnotes.answer.disagree import Dated, disagreement
from footnotes.answer.hints import goes_on
from footnotes.answer.passages import Passage, headings_at, passages_of
from footnotes.answer.questions import NUMBER, form_of, has_symbol, is_english, without_periods, without_pointers
from footnotes.answer.reader import Reader
from footnotes.answer.terms import DocumentFrequency, Question, function_terms, read_question
from footnotes.answer.windows import read_candidates
from footnotes.embed import Matrix
from footnotes.text.analysis import analyze
from footnotes.types import Hit, Role

ABSTENTION = "Nothing in these documents answers this question."
MAX_EMBEDDED = 24
ON_THE_QUESTION = 0.2
"""The share of the question's weight that a further sentence must cover."""
UNHEARD, UNHEARD_WORD = 0.25, 0.7
"""The share of the likelihood of an answer that remains if the question has a name that no document has, and if a
question of how or whether has another word that no document has."""
UNHEARD_SHARE = 0.3
"""The share of the question that such a name must be to count in full: a speech need not name its speaker."""
VALUES, WITHOUT_VALUE = {"number": NUMBER, "date": NUMBER}, 0.35
"""Kinds that an answer must name, and the share of its likelihood that remains if the best sentence does not."""
WITHOUT_SIGN, WITHOUT_REASON = 0.1, 0.5
"""The same if the question is about code symbols and the sentence has none of them, and if it asks for a reason and no
sentence of the answer gives one."""
EACH_PART = 2
"""The maximum sentences for each part of a question of several."""
DUPLICATE = 0.8
AS_SURE = 0.75
"""How much of the first sentence's `window` that of a further reason must have: "because" is everywhere."""
NEARLY, BESIDE_IT = 0.05, 0.04
"""The share of the best sentence's odds that a further sentence must have; and that one of the same document must have
if the question asks for a fact, which either may state."""


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
    lead: float = 0.0
    chosen: float = 0.0
    window: float = 0.0

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
            + self.lead * candidate.lead
            + self.chosen * candidate.chosen
            + self.window * candidate.window
            + candidate.prior
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
SENTENCE_READ = Weights(
    -5.16,
    coverage=1.83,
    context=0.17,
    around=-2.91,
    pairs=-0.11,
    kind=-0.43,
    relative=5.02,
    carried=1.46,
    lead=4.43,
    chosen=2.81,
    window=0.1,
)
ANSWERED_READ = Weights(
    -1.49,
    coverage=0.34,
    context=0.84,
    around=-0.49,
    pairs=0.41,
    kind=-0.55,
    relative=0.43,
    carried=-0.03,
    lead=4.35,
    chosen=0.97,
    window=1.54,
)
THRESHOLD_READ = 0.16
"""The threshold at which about 5% of the answerable questions of XQuAD get no answer."""
LEAST_CHOSEN, WITHOUT_CHOICE = -0.5, 0.1
"""The share of the likelihood that remains if the reader gives the best sentence odds below 1 to 20: its window may be
on the matter and nothing in it the answer. What introduces a list is chosen for its items."""


@dataclass(frozen=True, slots=True)
class Extract:
    """The chosen sentences, likeliest first, with their likelihood of containing the answer; none means abstention.

    `near` are the best sentences of the best passages, answering or not.
    """

    sentences: tuple[tuple[Candidate, float], ...]
    confidence: float
    near: tuple[Candidate, ...] = ()
    disagree: bool = False  # two documents give different values; the newer comes first
    whole: bool = False  # the first sentence only begins the answer: include what follows


def extract(
    question: str,
    hits: Sequence[Hit],
    *,
    limit: int = 3,
    embed: Embed | None = None,
    document_frequency: DocumentFrequency | None = None,
    reader: Reader | None = None,
    dated: Dated | None = None,
) -> Extract:
    """Return the best answering sentences, likeliest first, or none if nothing supports an answer.

    `dated` returns when a document was written: if two give different values, the newer goes first.
    """
    question = without_pointers(question)
    passages = passages_of(hits)
    reader = reader if is_english(question) else None
    read = read_question(question, passages, document_frequency)
    ranked = rank(read, passages, embed, reader)
    confidence = answered(ranked, reader) * heard(read)
    if ranked:
        confidence *= _told(read, ranked)
    if not ranked or confidence < threshold_of(embed, reader):
        return Extract((), confidence, tuple(candidate for candidate, _ in ranked))
    if pair := disagreement(ranked, dated):
        return Extract(tuple(pair), confidence, disagree=True)
    ranked = said_by_the_same(ranked)
    plain = form_of(question) == "plain" and read.kind not in ("reason", "definition")
    chosen = choose(ranked, limit, beside=BESIDE_IT if plain else NEARLY)
    if read.kind == "definition" and chosen[0][0].kind:
        chosen = [pair for pair in chosen if pair[0].kind]  # drop sentences that do not say what it is
    if read.kind == "reason":
        surest = chosen[0][0].window
        least = surest - (1 - AS_SURE) * abs(surest)  # log odds may be negative
        chosen = [pair for pair in chosen if pair[0].window >= least]
        chosen += [] if any(pair[0].kind for pair in chosen) else _reason_beside(chosen[0][0], ranked)
    return Extract(tuple(chosen), confidence, whole=not plain)


def said_by_the_same(ranked: Sequence[tuple[Candidate, float]]) -> list[tuple[Candidate, float]]:
    """Drop chat candidates of other speakers if the best is by the speaker in question."""
    if not ranked[0][0].by_asked:
        return list(ranked)
    return [pair for pair in ranked if pair[0].by_asked or not pair[0].passage.speakers]


def _told(question: Question, ranked: Sequence[tuple[Candidate, float]]) -> float:
    """Return the share of the likelihood that remains if the best sentence lacks what an answer must name."""
    best = ranked[0][0]
    said = without_periods(best.text) if question.kind == "number" else best.text
    left = WITHOUT_VALUE if question.kind in VALUES and not VALUES[question.kind].search(said) else 1.0
    if question.kind == "reason" and not any(candidate.kind for candidate, _ in choose(ranked, 3)):
        left *= WITHOUT_REASON
    return left * WITHOUT_SIGN if question.symbols and not has_symbol(best.text, question.symbols) else left


def heard(question: Question) -> float:
    """Return the share of the likelihood that remains after words that no document has."""
    if question.unknown:
        return 1.0 - (1.0 - UNHEARD) * min(1.0, question.covered(question.unknown) / UNHEARD_SHARE)
    return UNHEARD_WORD if question.absent and form_of(question.text) in ("howto", "yesno") else 1.0


def _reason_beside(best: Candidate, ranked: Sequence[tuple[Candidate, float]]) -> list[tuple[Candidate, float]]:
    """Return the likeliest sentence of the same document that gives a reason, if the best one gives none."""
    return [pair for pair in ranked if pair[0].kind and pair[0].passage.document_id == best.passage.document_id][:1]


def extract_parts(
    parts: Sequence[str],
    hits: Sequence[Hit],
    *,
    limit: int = 3,
    document_frequency: DocumentFrequency | None = None,
    reader: Reader | None = None,
) -> Extract:
    """Do the same as `extract` for a question of several parts: the sentences that answer each, without repetition."""
    chosen: list[tuple[Candidate, float]] = []
    near: list[Candidate] = []
    confidence = 0.0
    for part in parts:
        found = extract(part, hits, limit=min(limit, EACH_PART), document_frequency=document_frequency, reader=reader)
        near += found.near
        confidence = max(confidence, found.confidence)
        chosen += [pair for pair in found.sentences if not any(_near_duplicate(pair[0], other) for other, _ in chosen)]
    return Extract(tuple(chosen), confidence, tuple(near))


def extract_sides(
    question: str,
    sides: tuple[str, str],
    hits: Sequence[Hit],
    *,
    document_frequency: DocumentFrequency | None = None,
    reader: Reader | None = None,
) -> Extract:
    """Return the best sentence on both sides of a comparison, else the best on each of the two."""
    passages = passages_of(hits)
    reader = reader if is_english(question) else None
    ranked = rank(read_question(question, passages, document_frequency), passages, None, reader)
    named = _own_terms(sides)
    alone = [pair for pair in ranked if not goes_on(pair[0].text)]  # "This …" compares with the text before it
    both = [pair for pair in alone if all(map(_names, repeat(pair[0]), sides, named))]
    both.sort(key=lambda pair: not _is_headed(pair[0], frozenset().union(*named)))
    chosen = both[:1]
    confidence = answered(ranked, reader)
    told: list[float] = []
    for side, terms in zip(sides, named, strict=True):
        found = rank(read_question(f"What is {side}?", passages, document_frequency), passages, None, reader)
        about = _about(found, terms, chosen)
        about = about or ([] if both else _about(found, terms, []))
        told.append(answered(about[:1], reader))
        chosen += [pair for pair in about if not any(_near_duplicate(pair[0], other) for other, _ in chosen)][:1]
    confidence = max(confidence, max(told) if both else min(told))  # if no sentence is on both, each needs one
    if confidence < threshold_of(None, reader) or not any(terms & chosen[0][0].terms for terms in named if chosen):
        return Extract((), confidence, tuple(candidate for candidate, _ in ranked))
    return Extract(tuple(chosen), confidence, whole=True)


def _own_terms(sides: tuple[str, str]) -> list[frozenset[str]]:
    """Return the terms of each side that the other lacks: "path" distinguishes "path parameters"."""
    one, other = (frozenset(analyze(side)) - function_terms() for side in sides)
    return [one - other or one, other - one or other]


def _names(candidate: Candidate, side: str, terms: frozenset[str]) -> bool:
    """Return whether a sentence names a side; `Flask-apispec` does not name `Flask`."""
    whole = " " in side or re.search(rf"(?<![\w-]){re.escape(side)}(?![\w-])", candidate.text, re.IGNORECASE)
    return bool(whole and terms & candidate.terms)


def _is_headed(candidate: Candidate, terms: frozenset[str]) -> bool:
    """Return whether the heading right above a sentence names one of the terms."""
    return bool(terms & frozenset(analyze(" ".join(headings_at(candidate.passage, candidate.start)[-1:]))))


def _about(
    found: Sequence[tuple[Candidate, float]], terms: frozenset[str], chosen: Sequence[tuple[Candidate, float]]
) -> list[tuple[Candidate, float]]:
    """Return the sentences that say what one side is, from a document that names both if there is one."""
    about = [pair for pair in found if terms & pair[0].terms]
    if chosen:
        home = chosen[0][0].passage.document_id
        about = [pair for pair in about if pair[0].passage.document_id == home]
    further = [pair for pair in about if not any(_near_duplicate(pair[0], other) for other, _ in chosen)] or about
    return [pair for pair in further if pair[0].kind] or further


def rank(
    question: Question, passages: Sequence[Passage], embed: Embed | None, reader: Reader | None = None
) -> list[tuple[Candidate, float]]:
    """Return every candidate with its likelihood of containing the answer, best first."""
    ranked = _rank(candidates_of(question, passages), SENTENCE)
    if reader is not None and ranked:
        return _rank(read_candidates(reader, question.text, [pair[0] for pair in ranked]), SENTENCE_READ)
    if embed is None or not ranked:
        return ranked
    return _rank(_measure(question.text, [pair[0] for pair in ranked[:MAX_EMBEDDED]], embed), SENTENCE_EMBEDDED)


def threshold_of(embed: Embed | None, reader: Reader | None) -> float:
    """Return the likelihood from which an answer is given."""
    if reader is not None:
        return THRESHOLD_READ
    return THRESHOLD if embed is None else THRESHOLD_EMBEDDED


def answered(ranked: Sequence[tuple[Candidate, float]], reader: Reader | None = None) -> float:
    """Return how likely the documents answer the question, judged by the best sentence."""
    if not ranked:
        return 0.0
    best = ranked[0][0]
    if reader is not None:
        is_refused = best.chosen < LEAST_CHOSEN and not best.text.endswith((":", "："))
        return ANSWERED_READ.probability(best) * (WITHOUT_CHOICE if is_refused else 1.0)
    return (ANSWERED if best.cosine is None else ANSWERED_EMBEDDED).probability(best)


def choose(
    ranked: Sequence[tuple[Candidate, float]], limit: int, *, beside: float = NEARLY
) -> list[tuple[Candidate, float]]:
    """Choose the best sentence and those nearly as likely (`beside` in its own document), without near-duplicates."""
    chosen: list[tuple[Candidate, float]] = []
    for candidate, likelihood in ranked:
        share = _odds(likelihood) / _odds(ranked[0][1])
        if len(chosen) == limit or share < beside:
            break
        if chosen and _is_row(chosen[0][0]):
            break  # one row is the whole answer; the next row answers another question
        if share < NEARLY and candidate.passage.document_id != ranked[0][0].passage.document_id:
            continue
        aside = bool(chosen) and candidate.coverage + candidate.carried < ON_THE_QUESTION
        if not aside and not any(_near_duplicate(candidate, other) for other, _ in chosen):
            chosen.append((candidate, likelihood))
    return chosen


def _odds(likelihood: float) -> float:
    return max(likelihood, 1e-12) / max(1.0 - likelihood, 1e-9)


def _is_row(candidate: Candidate) -> bool:
    return candidate.text.count("|") > 1


def _rank(candidates: Sequence[Candidate], weights: Weights) -> list[tuple[Candidate, float]]:
    return sorted(((each, weights.probability(each)) for each in candidates), key=lambda pair: -pair[1])


def _measure(question: str, candidates: list[Candidate], embed: Embed) -> list[Candidate]:
    """Add to each candidate its cosine with the question, with one call for all."""
    asked = embed([question], role="query")[0]
    cosines = np.asarray(embed([candidate.text for candidate in candidates], role="passage") @ asked, dtype=float)
    return [each.with_cosine(float(cosine)) for each, cosine in zip(candidates, cosines, strict=True)]


def _near_duplicate(one: Candidate, other: Candidate) -> bool:
    """Compare by Jaccard similarity of the terms, or by one sentence inside the other."""
    if one.passage.document_id == other.passage.document_id and one.start < other.end and other.start < one.end:
        return True
    union = one.terms | other.terms
    return bool(union) and len(one.terms & other.terms) / len(union) >= DUPLICATE
