"""Writes golden questions from a library, for people to edit: by a chat model, or by rules from its sentences."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from footnotes.answer import Answerer
from footnotes.answer.asking.say import MOST_TOKENS, reply
from footnotes.evaluate.golden import Question
from footnotes.library import Library
from footnotes.remote import Deadline
from footnotes.settings import Settings
from footnotes.text.analysis import analyze, analyze_question
from footnotes.text.sentences import sentence_spans
from footnotes.types import Chunk, Document

Say = Callable[[str, str], str]
"""Returns a chat model's reply to a system message and a user message."""

_SHORTEST, _LONGEST = 8, 50
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_QUESTION = re.compile(r"""^[\s"'*#-]*(?:\w+\s*:)?[\s"'*]*([^\n?？؟]{5,300}[?？؟])""", re.MULTILINE)
"""A line with a question mark, without the prefixes of small models: `Question:`, quotes, bullets."""
_INSTRUCTION = (
    "You write questions for testing a search engine. Write one question that the passage answers, in the language of "
    "the passage, in your own words, without mentioning the passage. Reply with the question alone."
)
_NUMBER = r"(?:\d[\d.,]*|one|two|three|four|five|six|seven|eight|nine|ten|twelve|fourteen|thirty|sixty|ninety)"
_TIME_UNIT = r"(?:second|minute|hour|day|week|month|year|quarter)s?"
_MONEY = r"(?:[$€£]\s?\d[\d.,]*|\d[\d.,]*\s?(?:€|euros?|dollars?|pounds?|EUR|USD|GBP))"
_STATEMENT = re.compile(
    r"(?P<subject>[A-Z“\"'][^,;:()]{1,80}?)\s+"
    r"(?P<verb>is|are|was|were|can|may|must|should|shall|will|has to|have to|cannot)\s+(?P<rest>[^?]+?)[.!]?\s*"
)
_POINTS_BACK = re.compile(
    r"(?:it|this|that|these|those|they|he|she|we|there|here|such|in|on|at|if|when|for|to)\b", re.IGNORECASE
)
_CLAUSE_END = re.compile(r"\s*(?:[,;:(–]|\bwhich\b|\bwho\b|\bunless\b|\bso that\b|\bbecause\b|\bbut\b)")
_WHY = re.compile(r"\s*,?\s*\b(?:because|so that|in order to)\b.*", re.DOTALL)
_WHEN = re.compile(
    rf"\s*\b(?:(?:within|after|before|by|until|no later than|at least|at|in|on|for)\s+(?:the\s+)?{_NUMBER}\b"
    rf"(?:\s+(?:working\s+|calendar\s+)?{_TIME_UNIT}|\s*[ap]\.?m\.?|\s+\w+\s+\d{{4}})?)(?:\s+(?:after|before|of|from)\b.*)?"
)
_LONG = re.compile(rf"(?:at least |at most |up to |about )?{_NUMBER}\s+(?:working |calendar )?{_TIME_UNIT}\b", re.I)
_LOWERED = frozenset(["the", "a", "an", "all", "each", "every", "both", "our", "your", "most", "some", "no", "any"])


def make_golden(library: Library, count: int, *, say: Say | None = None) -> list[Question]:
    """Return up to `count` questions, spread over the documents; each names its document and its sentence.

    If the reply of the model is not a question, a rule writes it.
    """
    documents = [document for document in library.documents() if document.status == "ready"]
    shares = _word_shares(library, documents)
    streams = [_of_document(library, document, shares, say) for document in documents]
    return [replace(each, id=str(number)) for number, each in enumerate(islice(_in_turn(streams), count), start=1)]


def _in_turn(streams: Sequence[Iterator[Question]]) -> Iterator[Question]:
    """Yield one question of every document, then a second, and so on, lazily."""
    waiting = deque(streams)
    while waiting:
        stream = waiting.popleft()
        for question in islice(stream, 1):
            yield question
            waiting.append(stream)


def _word_shares(library: Library, documents: Sequence[Document]) -> Counter[str]:
    """Count the documents in which each term occurs."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(set(analyze(library.text(document.id))))
    counts[""] = len(documents)
    return counts


def _of_document(library: Library, document: Document, shares: Counter[str], say: Say | None) -> Iterator[Question]:
    """Yield the questions of a document, the most informative sentences first."""
    sentences = [
        (chunk, chunk.text[start:end])
        for chunk in library.chunks(document.id)
        for start, end in sentence_spans(chunk.text)
    ]
    ranked = sorted(sentences, key=lambda each: -_informativeness(each[1], shares))
    seen: set[str] = set()
    for chunk, sentence in ranked:
        if sentence in seen or not _SHORTEST <= len(analyze(sentence)) <= _LONGEST:
            continue
        seen.add(sentence)
        text = (_by_model(chunk, sentence, say) if say else "") or _by_rule(chunk, sentence, shares)
        if text:
            yield Question("", text, {document.filename: 1}, (sentence,))


def _informativeness(sentence: str, shares: Counter[str]) -> float:
    """Return how distinctive a sentence is: the mean idf of its words over documents."""
    terms = set(analyze_question(sentence))
    return sum(_rarity(term, shares) for term in terms) / len(terms) if terms else 0.0


def _rarity(term: str, shares: Counter[str]) -> float:
    return math.log((shares[""] + 1) / (shares[term] + 0.5))


def _by_rule(chunk: Chunk, sentence: str, shares: Counter[str]) -> str:
    """Turn the sentence into a question; else ask about its three rarest words, under its heading."""
    small = set(re.findall(r"\b[a-z]+\b", chunk.text))
    if question := person_question(sentence, small.__contains__):
        return question
    telling = set(analyze_question(sentence))
    worth = {
        word: max(_rarity(term, shares) for term in terms)
        for word in dict.fromkeys(_WORD.findall(sentence))
        if (terms := telling.intersection(analyze(word)))
    }
    words = list(worth)
    rarest = sorted(words, key=lambda word: -worth[word])[:3]
    if len(rarest) < 2:
        return ""
    *others, last = [word for word in words if word in rarest]
    about = f"{', '.join(others)} and {last}"
    if not sentence.isascii():  # in a language whose question words we do not know
        return f"{chunk.headings[-1]}: {about}?" if chunk.headings else f"{about}?"
    where = f" under “{chunk.headings[-1]}”" if chunk.headings else ""
    return f"What is said about {about}{where}?"


def _by_model(chunk: Chunk, sentence: str, say: Say) -> str:
    reply = say(_INSTRUCTION, f"Passage:\n{chunk.text}\n\nAsk for what this sentence says:\n{sentence}")
    found = _QUESTION.search(reply)
    return found[1].strip() if found else ""


# ── turns an English statement into the question that it answers ──────────────────────────────────────────────


def person_question(sentence: str, is_common: Callable[[str], bool]) -> str:
    """Return the question, or nothing if the statement has no such form.

    `is_common` returns whether a word also occurs in lower case, and so is not a name.
    """
    found = _STATEMENT.fullmatch(" ".join(sentence.split()))
    if found is None or _POINTS_BACK.match(found["subject"]) or len(found["subject"].split()) > 9:
        return ""
    subject, verb, rest = _lower_first(found["subject"], is_common), found["verb"], found["rest"]
    if verb in ("has to", "have to", "cannot"):
        verb, rest = ("can", rest) if verb == "cannot" else ("must", rest)
    if verb in ("is", "are", "was", "were"):
        return _of_being(subject, verb, rest)
    if _WHY.search(rest):
        return f"Why {verb} {subject} {_WHY.sub('', rest)}?"
    if moment := _WHEN.search(rest):
        before = rest[: moment.start()].strip()
        return f"When {verb} {subject} {before}?" if before else ""
    return f"{verb.capitalize()} {subject} {_clause(rest)}?"


def _of_being(subject: str, verb: str, rest: str) -> str:
    if re.match(_MONEY, rest):
        return f"How much {verb} {subject}?"
    if _LONG.match(rest):
        return f"How long {verb} {subject}?"
    if re.match(r"(?:a|an|the)\b", rest):
        return f"What {verb} {subject}?"
    if _WHY.search(rest):
        return f"Why {verb} {subject} {_WHY.sub('', rest)}?"
    if (moment := _WHEN.search(rest)) and (before := rest[: moment.start()].strip()):
        return f"When {verb} {subject} {before}?"
    return f"{verb.capitalize()} {subject} {_clause(rest)}?"


def _clause(rest: str) -> str:
    """Return the words up to the first break: a person asks about one thing."""
    end = _CLAUSE_END.search(rest)
    return rest[: end.start()] if end and end.start() > 0 else rest


def _lower_first(subject: str, is_common: Callable[[str], bool]) -> str:
    """Write the subject as inside a sentence: names and abbreviations keep their capital."""
    first = subject.split()[0]
    if first.lower() in _LOWERED or (first[1:].islower() and is_common(first.lower())):
        return first.lower() + subject[len(first) :]
    return subject


def chat_of(settings: Settings) -> Say | None:
    """Return a function that calls the model of the settings; None if answers are only extracted from the text."""
    model = Answerer(settings).model()
    if model is None:
        return None
    return lambda system, user: reply(model, system, user, MOST_TOKENS, Deadline(settings.answer_seconds))
