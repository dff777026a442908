"""Finds the span of canonical text that supports a sentence of an answer.

A span supports a sentence if it has enough of the sentence's words and every number and name in it, and neither
denies what the other states. Spans are one source sentence, or up to three in a row if one is not enough.
How much is enough was chosen by `benchmarks/citations.py` on half of a labelled set.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from footnotes.answer.claims import claim_in
from footnotes.answer.conditions import misjoined, turned_around
from footnotes.answer.denial import denied_otherwise
from footnotes.answer.edits import edited
from footnotes.answer.facts import Facts, facts_of, missing_fact
from footnotes.answer.judge import figures_of, likelihood
from footnotes.answer.order import exchanged
from footnotes.answer.passages import Passage
from footnotes.answer.reader import Reader
from footnotes.answer.terms import function_terms
from footnotes.text.analysis import analyze
from footnotes.text.sentences import sentence_spans

ENOUGH = 0.6
"""The share of a sentence's weight that its span must contain."""
ENOUGH_OF_FEW, FEW = 0.7, 4
"""The same for a sentence with few content words: two of three may not be enough."""
WIDENING = 0.03
"""The cost of each further sentence in a span, so that the shortest supporting span wins."""
NAMED = 0.02
"""The bonus if the model named the passage: it only breaks ties."""
MAX_SENTENCES = 3
MIN_VERBATIM = 4
LONGEST_CLAIM = 2_000
"""Longer text without a full stop is no sentence, so nothing can support it."""
SHORT = 3
"""A claim with fewer content words is read together with the question."""
WHOLE = 0.9
"""A claim that fills this share of its sentences counts as all of them."""
TRIED = 8
DOUBTED = (0.5, 0.7, 0.8)
"""Below this likelihood the verifier doubts what the words of one, two or three sentences support together: with more
sentences it is likelier that one is about something else. Chosen on half of XQuAD, so that of every kind of false claim
but the answer to another question fewer than 8 in 100 pass."""
REWORDED, NEAR = 0.7, 0.35
"""The likelihood, and the share of its words, that a claim needs if its words alone do not show its support: it then
gets a footnote, but is not certain."""
_MARKS = " \t\n.!?…。！？\"'“”‘’*_"
_CLAUSES = re.compile(r"[;,]\s+(?:and|but|while|whereas|und|aber|y|pero|et|mais)\s+|;\s+")


@dataclass(frozen=True, slots=True)
class Support:
    """A span of a passage and how well it supports `claim_span` of the sentence, from 0 to 1.

    `certain` is false if the words support it but the verifier doubts it.
    """

    passage: Passage
    start: int
    end: int
    score: float
    claim_span: tuple[int, int]
    certain: bool = True

    @property
    def quote(self) -> str:
        return self.passage.text[self.start - self.passage.start : self.end - self.passage.start]


@dataclass(frozen=True, slots=True)
class _Sentence:
    passage: int
    place: int
    start: int
    end: int
    terms: frozenset[str]


class Aligner:
    """The sentences of the passages, prepared for comparison with any number of claims."""

    def __init__(self, passages: Sequence[Passage], question: str = "", reader: Reader | None = None) -> None:
        self._reader = reader
        self._passages = list(passages)
        self._sentences = [list(_sentences(number, passage)) for number, passage in enumerate(passages)]
        flat = [sentence for sentences in self._sentences for sentence in sentences]
        self._flat = flat
        self._counts = Counter(term for sentence in flat for term in sentence.terms)
        self._ordinary = frozenset(
            word.lower()
            for passage in passages
            for word in re.findall(r"\b[^\W\d_]+\b", passage.text)
            if word.islower()
        )

        self._joined = [" ".join(passage.text.split()) for passage in passages]
        self._asked = self.weigh(question)
        self._known: dict[tuple[str, frozenset[int]], list[Support]] = {}

    def align(self, claim: str, named: frozenset[int] = frozenset()) -> list[Support]:
        """Return the support of a sentence: one span, or one for each of its clauses; none if a part has none.

        `named` are the passages the model cited, counted from 1. Results are cached by sentence.
        """
        if (claim, named) not in self._known:
            start, end = claim_in(claim)
            stated = claim[start:end]
            found = self._verify(stated, self._align(stated, named)) or self._align_reworded(stated)
            self._known[claim, named] = [replace(each, claim_span=_widen(each, start, end, claim)) for each in found]
        return self._known[claim, named]

    def _align(self, claim: str, named: frozenset[int]) -> list[Support]:
        if len(claim) > LONGEST_CLAIM:
            return []
        whole = self._verbatim(claim, named) or self._best(claim, named, (0, len(claim)))
        if whole is not None:
            return [whole]
        parts = [self._best(claim[start:end], named, (start, end)) for start, end in _clauses(claim)]
        found = [part for part in parts if part is not None]
        # Each clause may be true of something else: their contents must not be swapped.
        apart = len(found) < len(parts) or exchanged(claim, " ".join(dict.fromkeys(part.quote for part in found)))
        return [] if apart else found

    def _verify(self, claim: str, supports: list[Support]) -> list[Support]:
        """Mark supports that the verifier doubts as not certain."""
        quotes = list(dict.fromkeys(support.quote for support in supports))
        if self._reader is None or not supports or _is_quoted(claim, quotes):
            return supports
        evidence = " ".join(quotes)
        needed = DOUBTED[min(len(sentence_spans(evidence)), len(DOUBTED)) - 1]
        doubted = self._reader.verify([(evidence, claim)])[0].supported < needed
        return [replace(support, certain=False) for support in supports] if doubted else supports

    def _align_reworded(self, claim: str) -> list[Support]:
        """Return the sentences nearest to a claim that the verifier accepts although its words do not show support."""
        weights = self.weigh(claim)
        if self._reader is None or len(weights) < SHORT or len(claim) > LONGEST_CLAIM:
            return []
        near = max(
            self._windows(weights),
            key=lambda window: _share(weights, window) - WIDENING * (len(window) - 1),
            default=None,
        )
        if near is None or _share(weights, near) < NEAR:
            return []
        passage = self._passages[near[0].passage]
        support = Support(passage, near[0].start, near[-1].end, 0.0, (0, len(claim)), certain=False)
        terms = frozenset().union(*(sentence.terms for sentence in near))
        if not _agrees(claim, facts_of(claim, ordinary=self._ordinary), support, terms):
            return []
        read = self._reader.verify([(support.quote, claim)])[0].supported
        chance = likelihood(figures_of(claim, support.quote, weights, [each.terms for each in near], read))
        return [replace(support, score=chance)] if chance >= REWORDED else []

    def _verbatim(self, claim: str, named: frozenset[int]) -> Support | None:
        """Return the sentences that contain the claim word for word, unless the text around it denies it."""
        words = claim.strip(_MARKS).split()
        if len(words) < MIN_VERBATIM:
            return None
        for number in sorted(range(len(self._passages)), key=lambda number: number + 1 not in named):
            if span := _span_of(" ".join(words), self._joined[number], self._passages[number].text):
                support = self._enclose(number, *span, claim)
                whole = len(claim) >= WHOLE * (support.end - support.start)
                if whole or not denied_otherwise(claim, support.quote):
                    return support
        return None

    def _enclose(self, number: int, start: int, end: int, claim: str) -> Support:
        """Return the sentences of a passage that enclose a span of its text."""
        passage = self._passages[number]
        first, last = passage.start + start, passage.start + end
        inside = [each for each in self._sentences[number] if each.start < last and first < each.end]
        return Support(passage, inside[0].start, inside[-1].end, 1.0, (0, len(claim)))

    def weigh(self, claim: str) -> dict[str, float]:
        """Weigh the content terms of a claim: terms rare in the passages weigh more, unknown ones the average."""
        terms = dict.fromkeys(term for term in analyze(claim) if term not in function_terms())
        total = len(self._flat) + 1
        known = {term: math.log(1 + total / self._counts[term]) for term in terms if term in self._counts}
        average = sum(known.values()) / len(known) if known else 1.0
        return {term: known.get(term, average) for term in terms}

    def _best(self, claim: str, named: frozenset[int], claim_span: tuple[int, int]) -> Support | None:
        weights = self.weigh(claim)
        if not weights:
            return None
        facts = facts_of(claim, ordinary=self._ordinary)
        # "Three months." says little alone: its source must also have the terms of the question.
        meant = self._asked | weights if len(weights) < SHORT else weights
        enough = ENOUGH_OF_FEW if len(meant) <= FEW else ENOUGH
        best: tuple[float, Support] | None = None
        for window in self._windows(meant):
            terms = frozenset().union(*(sentence.terms for sentence in window))
            score = min(_coverage(weights, terms), _coverage(meant, terms))
            value = score - WIDENING * (len(window) - 1) + NAMED * (window[0].passage + 1 in named)
            if score < enough or (best is not None and value <= best[0]):
                continue
            passage = self._passages[window[0].passage]
            support = Support(passage, window[0].start, window[-1].end, min(1.0, score), claim_span)
            if _agrees(claim, facts, support, terms):
                best = (value, support)
        return best[1] if best else None

    def _windows(self, weights: dict[str, float]) -> Iterator[list[_Sentence]]:
        """Yield spans around the source sentences that contain most of the claim, shortest first."""
        scored = sorted(self._flat, key=lambda sentence: -_coverage(weights, sentence.terms))[:TRIED]
        for size in range(1, MAX_SENTENCES + 1):
            for sentence in scored:
                neighbours = self._sentences[sentence.passage]
                for first in range(sentence.place - size + 1, sentence.place + 1):
                    if first >= 0 and first + size <= len(neighbours):
                        yield neighbours[first : first + size]


def _widen(support: Support, start: int, end: int, sentence: str) -> tuple[int, int]:
    """Return the claim's span in the whole sentence, up to its bounds if the claim begins or ends the statement."""
    first, last = support.claim_span
    return start + first if first else 0, start + last if start + last < end else len(sentence)


def _sentences(number: int, passage: Passage) -> Iterator[_Sentence]:
    for place, (start, end) in enumerate(sentence_spans(passage.text)):
        terms = frozenset(analyze(passage.text[start:end]))
        yield _Sentence(number, place, passage.start + start, passage.start + end, terms)


def _span_of(words: str, joined: str, text: str) -> tuple[int, int] | None:
    """Find words in a text, given the text with collapsed white space; whole words only."""
    at = joined.find(words)
    end = at + len(words)
    if at < 0 or joined[at - 1 : at].isalnum() or joined[end : end + 1].isalnum():
        return None
    starts = [match.start() for match in re.finditer(r"\S+", text)]

    def place(offset: int) -> int:
        """Convert an offset in the joined text to one in the text: the same distance into the same word."""
        return starts[joined.count(" ", 0, offset)] + offset - joined.rfind(" ", 0, offset) - 1

    return place(at), place(end - 1) + 1


def _is_quoted(claim: str, quotes: Sequence[str]) -> bool:
    """Return whether a claim repeats its source word for word."""
    bare = " ".join(claim.strip(_MARKS).split()).lower()
    return any(bare in " ".join(quote.split()).lower() for quote in quotes)


def _share(weights: dict[str, float], window: Sequence[_Sentence]) -> float:
    return _coverage(weights, frozenset().union(*(sentence.terms for sentence in window)))


def _coverage(weights: dict[str, float], terms: frozenset[str]) -> float:
    return sum(weight for term, weight in weights.items() if term in terms) / sum(weights.values())


def _agrees(claim: str, facts: Facts, support: Support, terms: frozenset[str]) -> bool:
    if missing_fact(facts, support.quote, terms, support.passage.text) is not None:
        return False
    checks = (denied_otherwise, exchanged, misjoined, turned_around, edited)
    return not any(is_wrong(claim, support.quote) for is_wrong in checks)


def _clauses(claim: str) -> list[tuple[int, int]]:
    """Return the spans of a sentence's clauses; empty if it has only one."""
    cuts = [match.span() for match in _CLAUSES.finditer(claim)]
    if not cuts:
        return []
    starts = [0, *(end for _, end in cuts)]
    ends = [*(start for start, _ in cuts), len(claim)]
    return list(zip(starts, ends, strict=True))
