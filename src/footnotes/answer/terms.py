"""The terms of a question, weighed by their rarity, and what a text has of them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from itertools import pairwise

from footnotes.answer.hints import Relations, relations_of, turned
from footnotes.answer.passages import Passage
from footnotes.answer.questions import DIGITS, FUNCTION_WORDS, NAME, Kind, form_of, subject_of, symbols_in
from footnotes.answer.speakers import asked_of
from footnotes.text.analysis import analyze

DocumentFrequency = Callable[[str], float]
"""Returns the share of all chunks, from 0 to 1, that contain a term."""
SHORTEST_STEM, LONGEST_ENDING = 5, 3
RAREST = 1e-3
COMMON = 1.0
UNKNOWN, NAMED, PAIR = 3.0, 2.0, 0.15
_COMPARED = re.compile(r"([a-z]{3,})(?:er|est)")
_PHRASES = tuple(
    (one, re.compile(rf"\b(?:{several})\b", re.IGNORECASE))
    for one, several in {
        "disable": "(?:turn|switch|shut)(?:ing|ed|s)? off|deactivate",
        "enable": "(?:turn|switch)(?:ing|ed|s)? on|activate",
        "remove": "get rid of|take away",
        "stop": "shut(?:ting)? down",
    }.items()
)
"""Phrases in questions for which documents use one word."""
_ALIKE = (
    "argument attribute field flag option parameter property setting",
    "additional extra further",
    "delete erase remove",
    "exclude hide omit",
    "change modify",
    "begin launch start",
    "display show",
    "choose pick select",
    "need require",
    "fix mend repair",
    "cost price",
    "buy purchase",
    "allow permit",
    "error exception",
)
"""Interchangeable words: one counts for another in passages that lack the one in the question."""
_INNER_CAPITALS = re.compile(r"\b[A-Za-z][a-z]\w*[A-Z]\w*|\b[A-Z]{2,}\w*|\b[a-z][A-Z]\w*")
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u9fff\uac00-\ud7af\uf900-\ufaff]")
_JOINED = re.compile(r"[a-z]{1,4}((?:19|20)\d\d)")
ASKS = re.compile(r"[?？]|^\W*(?:what|who|whom|whose|when|where|which|why|how)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Question:
    """A parsed question: its content terms with their weights, and the kind of thing it asks for."""

    text: str
    weights: dict[str, float]
    pairs: frozenset[tuple[str, str]]
    kind: Kind
    relations: Relations = field(default_factory=dict)
    unknown: frozenset[str] = frozenset()  # names that no document has
    absent: frozenset[str] = frozenset()  # other words that no document has
    speakers: frozenset[str] = frozenset()  # speakers in the chats found whom it is about
    alone: frozenset[str] = frozenset()  # terms that are both a separate word and part of a name: fast, FastAPI

    def only_in_names(self, sentence: str) -> frozenset[str]:
        """Return those `alone` terms that a sentence has only as part of a name: FastAPI need not be fast."""
        return self.alone - frozenset(analyze(_INNER_CAPITALS.sub(" ", sentence))) if self.alone else self.alone

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        """Code symbols that the question is about."""
        return symbols_in(self.text)

    @cached_property
    def is_name(self) -> bool:
        """Whether it asks nothing and only names a subject: "testing"."""
        return form_of(self.text) == "plain" and not ASKS.search(self.text)

    def alike(self, terms: Collection[str]) -> frozenset[str]:
        """Return the question's terms that these words may replace: an `argument` may be an `option`."""
        words = words_alike()
        return frozenset(asked for term in terms for asked in words.get(term, ()) if asked in self.weights)

    @cached_property
    def _stems(self) -> dict[str, list[str]]:
        """The terms long enough to have a stem, by their first letters."""
        stems: dict[str, list[str]] = {}
        for term in self.weights:
            if len(term) >= SHORTEST_STEM:
                stems.setdefault(term[:SHORTEST_STEM], []).append(term)
        return stems

    def otherwise(self, sentence: str) -> frozenset[str]:
        """Return the question's terms that the sentence has in another relation: `after` instead of `during`."""
        return turned(self.relations, sentence) if self.relations else frozenset()

    def among(self, terms: Collection[str]) -> frozenset[str]:
        """Return the question's terms that equal or share a stem with these: `percent` and `percentage`."""
        found = {term for term in terms if term in self.weights}
        for term in terms:
            if (compared := _COMPARED.fullmatch(term)) and compared[1] in self.weights:
                found.add(compared[1])
            for asked in self._stems.get(term[:SHORTEST_STEM], ()):
                if abs(len(term) - len(asked)) <= LONGEST_ENDING and (term.startswith(asked) or asked.startswith(term)):
                    found.add(asked)
        return frozenset(found)

    def covered(self, terms: Collection[str]) -> float:
        """Return the share of the question's weight that the terms cover, from 0 to 1."""
        total = sum(self.weights.values())
        return sum(weight for term, weight in self.weights.items() if term in terms) / total if total else 0.0


def read_question(text: str, passages: Sequence[Passage], document_frequency: DocumentFrequency | None) -> Question:
    """Parse a question and weigh its terms by their rarity in the library, or else among the passages."""
    kind, subject = subject_of(text)
    subject = _in_one_word(subject, document_frequency)
    content = [term for term in analyze(subject) if term not in function_terms()] or analyze(text)
    frequency = document_frequency or _frequency_among(passages)
    named = frozenset(analyze(" ".join(NAME.findall(text) + _INNER_CAPITALS.findall(text) + DIGITS.findall(text))))
    content = [known_part(term, frequency) for term in content]
    weights = _weights(list(dict.fromkeys(content)), frequency, named)
    absent = {term for term in weights if document_frequency and not document_frequency(term)}
    plain, parts = analyze(_INNER_CAPITALS.sub(" ", text)), analyze(" ".join(_INNER_CAPITALS.findall(text)))
    alone = frozenset(plain) & frozenset(parts) & weights.keys()
    pairs = frozenset(pairwise(content))
    unknown, others = frozenset(absent & named), frozenset(absent - named)
    speakers = asked_of(text, (name for passage in passages for name in passage.speakers))
    spoken = frozenset(analyze(" ".join(speakers)))  # the speaker of a sentence already covers the name
    weights = {term: weight for term, weight in weights.items() if term not in spoken} or weights
    return Question(text, weights, pairs, kind, relations_of(text), unknown, others, speakers, alone)


@cache
def words_alike() -> dict[str, frozenset[str]]:
    """Return for each of the interchangeable words the others, as the analysis spells them."""
    groups = [frozenset(analyze(words, "en")) for words in _ALIKE]
    return {term: group - {term} for group in groups for term in group}


def _in_one_word(subject: str, document_frequency: DocumentFrequency | None) -> str:
    """Replace `turn off` by `disable` in a question if the documents have that word."""

    def word(found: re.Match[str]) -> str:
        one = next(one for one, pattern in _PHRASES if pattern.fullmatch(found[0]))
        return one if document_frequency and document_frequency(analyze(one, "en")[0]) else found[0]

    for _, pattern in _PHRASES:
        subject = pattern.sub(word, subject)
    return subject


@cache
def function_terms() -> frozenset[str]:
    """Return the function words as the analysis spells them."""
    words = " ".join(FUNCTION_WORDS)
    return frozenset(term for language in ("en", "de", "es", "fr", "ar") for term in analyze(words, language))


def known_part(term: str, frequency: DocumentFrequency) -> str:
    """Return the year in an unknown term if documents have the year alone: `fy2023` is a way to write 2023."""
    joined = _JOINED.fullmatch(term)
    return joined[1] if joined and not frequency(term) and frequency(joined[1]) else term


def _frequency_among(passages: Sequence[Passage]) -> DocumentFrequency:
    texts = [frozenset(analyze(hit.text)) for passage in passages for hit in passage.hits]
    # A term in every passage still says something about the library, so no term weighs nothing.
    return lambda term: 0.5 * (sum(term in text for text in texts) + 0.5) / (len(texts) + 1)


def _weights(terms: Sequence[str], frequency: DocumentFrequency, named: Collection[str]) -> dict[str, float]:
    """Return the inverse document frequency (Spärck Jones 1972) of the terms, bounded on both sides.

    A word that no document has is mostly a synonym of one they have, and weighs their average; a name or a number
    has no synonym and weighs more. In scripts without spaces an unknown term is mostly a pair across two words.
    """
    shares = {term: frequency(term) for term in terms}
    known = {term: _weight(share) for term, share in shares.items() if share > 0}
    average = min(UNKNOWN, sum(known.values()) / len(known)) if known else 1.0
    factor = {term: NAMED if term in named else PAIR if UNSPACED.match(term) else 1.0 for term in terms}
    return {term: known.get(term, average * factor[term]) for term in terms}


def _weight(share: float) -> float:
    return max(COMMON, -math.log(min(1.0, max(share, RAREST))))
