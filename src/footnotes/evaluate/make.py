"""Golden questions from a library, for people to edit: by a chat model, or by turning telling sentences around."""

from __future__ import annotations

import math
import re
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from footnotes.evaluate.golden import Question
from footnotes.evaluate.questions import person_question
from footnotes.library import Library
from footnotes.text.analysis import analyze, analyze_question
from footnotes.text.sentences import sentence_spans
from footnotes.types import Chunk, Document

Say = Callable[[str, str], str]
"""A system message and a user message → the reply of a chat model."""

_SHORTEST, _LONGEST = 8, 50
_WORD = re.compile(r"[^\W\d_][\w'’-]*")
_QUESTION = re.compile(r"""^[\s"'*#-]*(?:\w+\s*:)?[\s"'*]*([^\n?？؟]{5,300}[?？؟])""", re.MULTILINE)
"""A line with a question mark, without the prefixes of small models: `Question:`, quotes, bullets."""
_INSTRUCTION = (
    "You write questions for testing a search engine. Write one question that the passage answers, in the language of "
    "the passage, in your own words, without mentioning the passage. Reply with the question alone."
)


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
    """In how many documents each term occurs."""
    counts: Counter[str] = Counter()
    for document in documents:
        counts.update(set(analyze(library.text(document.id))))
    counts[""] = len(documents)
    return counts


def _of_document(library: Library, document: Document, shares: Counter[str], say: Say | None) -> Iterator[Question]:
    """The questions of a document, the most telling sentences first."""
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
    """How far the words of a sentence set it apart: their mean idf over documents."""
    terms = set(analyze_question(sentence))
    return sum(_rarity(term, shares) for term in terms) / len(terms) if terms else 0.0


def _rarity(term: str, shares: Counter[str]) -> float:
    return math.log((shares[""] + 1) / (shares[term] + 0.5))


def _by_rule(chunk: Chunk, sentence: str, shares: Counter[str]) -> str:
    """Turn the sentence into a question; else ask about its three rarest words, under its heading."""
    small = set(re.findall(r"\b[a-z]+\b", chunk.text))
    if asked := person_question(sentence, small.__contains__):
        return asked
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
    if not sentence.isascii():  # in a language whose words for a question we do not know
        return f"{chunk.headings[-1]}: {about}?" if chunk.headings else f"{about}?"
    where = f" under “{chunk.headings[-1]}”" if chunk.headings else ""
    return f"What is said about {about}{where}?"


def _by_model(chunk: Chunk, sentence: str, say: Say) -> str:
    reply = say(_INSTRUCTION, f"Passage:\n{chunk.text}\n\nAsk for what this sentence says:\n{sentence}")
    found = _QUESTION.search(reply)
    return found[1].strip() if found else ""
