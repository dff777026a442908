"""The inputs to embed for a chunk: one text, or several whose mean is its vector."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.store.naming import embedding_input
from footnotes.text.sentences import sentence_spans
from footnotes.text.tokens import TokenRuler, count_tokens

BYTES_A_CHARACTER = 4
"""A character has at most four bytes, and a token at least one: a text has at most four tokens a character."""
MODEL_TOKENS = 1.25
"""A small model's own vocabulary counts about this many tokens where we count one."""
_BEGINNING = 400
_ENDS = 2
"""Tokens a model adds at both ends of a text."""

Span = tuple[int, int]
CountTokens = Callable[[str], int]


class Embeddable(Protocol):
    """The fields of a chunk that are needed to embed it, before or after storing."""

    @property
    def start(self) -> int: ...
    @property
    def tokens(self) -> int: ...
    @property
    def prefix(self) -> str: ...
    @property
    def headings(self) -> tuple[str, ...]: ...
    @property
    def parts(self) -> tuple[Span, ...]: ...


def pieces_to_embed(made: Embeddable, text: str, embedder: Embedder) -> tuple[str, ...]:
    """Return the texts to embed for a chunk, none longer than the embedder's input."""
    count: CountTokens | None = getattr(embedder, "count_tokens", None)
    return embedding_pieces(made, text, max_tokens=embedder.max_tokens, count=count)


def embedding_pieces(
    made: Embeddable, text: str, *, max_tokens: int, count: CountTokens | None = None
) -> tuple[str, ...]:
    """Return the texts to embed for a chunk, each with its prefix.

    Uses the chunker's parts if it named some; else the whole text, or equal pieces of whole sentences if it exceeds the
    model's `max_tokens`. 0 means a model without a limit. If the model's own `count` is known, a piece that is still
    too long (one long sentence, a row of numbers) is halved between words until it fits.
    """
    spans: Sequence[Span] = [(start - made.start, end - made.start) for start, end in made.parts] or [(0, len(text))]
    if max_tokens and not made.parts:
        room = int(max_tokens / MODEL_TOKENS) - count_tokens(made.prefix)
        if 0 < room < len(text) * BYTES_A_CHARACTER and (tokens := made.tokens or count_tokens(text)) > room:
            spans = equal_spans(text, math.ceil(tokens / room))
    if count is None or not max_tokens:
        return tuple(_with_prefix(made, text[start:end]) for start, end in spans)
    return tuple(piece for start, end in spans for piece in _fit(made, text[start:end], max_tokens, count))


def _fit(made: Embeddable, text: str, max_tokens: int, count: CountTokens) -> Iterator[str]:
    piece = _with_prefix(made, text)
    fits = len(piece) <= max_tokens - _ENDS or count(piece) <= max_tokens  # a token has one character at least
    middle = len(text) // 2
    if fits or not middle:
        yield piece
        return
    space = max(text.rfind(" ", middle // 2, middle), text.rfind("\n", middle // 2, middle))
    cut = space + 1 if space > 0 else middle
    for half in (text[:cut].strip(), text[cut:].strip()):
        if half:
            yield from _fit(made, half, max_tokens, count)


def _with_prefix(made: Embeddable, text: str) -> str:
    """Return the text with its title and sections before it, unless it begins with them or they are only a file name.

    A name such as `scan-0231` before every text makes all of them similar: with it, vectors found less.
    """
    beginning = text[:_BEGINNING]
    if not all(heading in beginning for heading in made.headings):
        return embedding_input(made.prefix, text)
    _, _, added = made.prefix.partition("\n")
    return embedding_input(added, text)


def equal_spans(text: str, count: int) -> list[Span]:
    """Split into runs of whole sentences with about equal tokens; fewer runs if there are not enough sentences."""
    ruler = TokenRuler(text)
    share = ruler.total / count
    found: list[Span] = []
    first = last = -1
    for start, end in sentence_spans(text):
        if first >= 0 and ruler.between(0, (start + end) // 2) > share * (len(found) + 1):
            found.append((first, last))
            first = -1
        first, last = (start if first < 0 else first), end
    return [*found, (first, last)] if first >= 0 else [(0, len(text))]


def mean_vector(vectors: Matrix) -> Matrix:
    """Return the mean of unit vectors, scaled to unit length."""
    mean: Matrix = vectors.mean(axis=0) if len(vectors) > 1 else vectors[0]
    norm = float(np.linalg.norm(mean))
    unit: Matrix = mean / norm if norm > 0 else vectors[0]
    return unit


def mean_vectors(vectors: Matrix) -> Matrix:
    """Return `mean_vector`, identical to the last bit, for each row of a three-dimensional matrix."""
    means: Matrix = vectors.mean(axis=1)
    norms = np.sqrt(np.array([mean.dot(mean) for mean in means]))[:, np.newaxis]
    units: Matrix = np.divide(means, norms, out=vectors[:, 0].copy(), where=norms > 0)
    return units
