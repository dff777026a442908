"""Encodes the input of the answer model: token ids of (evidence, claim) and of (question, sentences of a passage).

Training uses the same functions, so that the model sees the same input in use.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footnotes.text.sentences import sentence_spans

Tokenize = Callable[[str], list[int]]
"""Returns the token ids of a text, without the marks at either end."""

START, END, MARK = 101, 102, 103
"""[CLS], [SEP] and, before each sentence to be judged, [MASK]: the ids of BERT's vocabulary."""
CLAIM_TOKENS, QUESTION_TOKENS, TITLE_TOKENS, SENTENCE_TOKENS = 72, 40, 16, 96
PAIR_TOKENS, WINDOW_TOKENS = 128, 160
SEEN_AGAIN = 0.4
"""The weight left to a word of the claim that an earlier sentence of the evidence has."""
_WORD = re.compile(r"\w{3,}|\d+")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids, the start of the second part, and the positions of the marks where the model's output is read."""

    ids: list[int]
    second: int
    marks: tuple[int, ...]


def encode_claim(tokenize: Tokenize, evidence: str, claim: str, *, limit: int = PAIR_TOKENS) -> Encoded:
    """Encode evidence, then its claim; of long evidence only the sentences that share most words with the claim."""
    stated = tokenize(claim)[:CLAIM_TOKENS]
    room = limit - len(stated) - 3
    given = tokenize(evidence)
    if len(given) > room:
        given = _nearest_sentences(tokenize, evidence, claim, room)
    ids = [START, *given, END, *stated, END]
    return Encoded(ids, len(given) + 2, (0,))


def _nearest_sentences(tokenize: Tokenize, evidence: str, claim: str, room: int) -> list[int]:
    """Return the sentences, in order, that together have most of the claim's words; rare words weigh more."""
    spans = [evidence[start:end] for start, end in sentence_spans(evidence)]
    tokens = [tokenize(span)[:room] for span in spans]
    held = [set(_WORD.findall(span.lower())) for span in spans]
    counts = Counter(word for words in held for word in words)
    weights = {word: math.log(1 + len(spans) / counts[word]) for word in _WORD.findall(claim.lower()) if word in counts}
    taken: set[int] = set()
    left = set(range(len(spans)))

    def worth(place: int) -> float:
        return sum(weights.get(word, 0.0) for word in held[place]) / (4 + math.sqrt(len(tokens[place])))

    while left:
        best = max(left, key=lambda place: (worth(place), -place))
        left.remove(best)
        if len(tokens[best]) <= room:
            taken.add(best)
            room -= len(tokens[best])
            for word in held[best] & weights.keys():
                weights[word] *= SEEN_AGAIN
    return [each for place in sorted(taken) for each in tokens[place]]


def encode_window(
    tokenize: Tokenize, question: str, title: str, sentences: Sequence[str], *, limit: int = WINDOW_TOKENS
) -> Encoded:
    """Encode a question, a title and the sentences under it, each after a mark. Those that do not fit get none."""
    ids = [START, *tokenize(question)[:QUESTION_TOKENS], END]
    second = len(ids)
    ids += tokenize(title)[:TITLE_TOKENS]
    marks = [0]
    for sentence in sentences:
        tokens = tokenize(sentence)[:SENTENCE_TOKENS]
        if len(marks) > 1 and len(ids) + len(tokens) + 2 > limit:
            break
        marks.append(len(ids))
        ids += [MARK, *tokens]
    return Encoded([*ids, END], second, tuple(marks))
