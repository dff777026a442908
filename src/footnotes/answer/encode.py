"""What the answer model reads: token ids of (evidence, claim) and of (question, sentences of a passage).

The training reads through the same functions, so that what was learnt is what is asked.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from footnotes.text.sentences import sentence_spans

Tokenize = Callable[[str], list[int]]
"""Text → token ids, without the marks at either end."""

START, END, MARK = 101, 102, 103
"""[CLS], [SEP] and, before each sentence that is to be judged, [MASK]: the ids of BERT's vocabulary."""
CLAIM_TOKENS, QUESTION_TOKENS, TITLE_TOKENS, SENTENCE_TOKENS = 72, 40, 16, 96
PAIR_TOKENS, WINDOW_TOKENS = 128, 160
SEEN_AGAIN = 0.4
"""What a word of the claim is still worth in a sentence of the evidence when one before has it."""
_WORD = re.compile(r"\w{3,}|\d+")


@dataclass(frozen=True, slots=True)
class Encoded:
    """Token ids, where the second part begins, and the places of the marks the model is read at."""

    ids: list[int]
    second: int
    marks: tuple[int, ...]


def encode_claim(tokenize: Tokenize, evidence: str, claim: str, *, limit: int = PAIR_TOKENS) -> Encoded:
    """A claim behind its evidence; of long evidence the sentences that share most words with the claim."""
    stated = tokenize(claim)[:CLAIM_TOKENS]
    room = limit - len(stated) - 3
    given = tokenize(evidence)
    if len(given) > room:
        given = _nearest_sentences(tokenize, evidence, claim, room)
    ids = [START, *given, END, *stated, END]
    return Encoded(ids, len(given) + 2, (0,))


def _nearest_sentences(tokenize: Tokenize, evidence: str, claim: str, room: int) -> list[int]:
    """The sentences that together hold most of the claim's words, the rarer in the evidence the heavier, in order."""
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
    """A question, then a title and the sentences under it, each behind a mark. What does not fit has no mark."""
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
