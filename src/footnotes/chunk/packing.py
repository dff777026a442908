"""Packs atoms of text into spans of bounded size, with an overlap.

An atom is a run that should not be cut: a paragraph, a sentence, or a piece of a sentence that is too long.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from footnotes.text.sentences import sentence_spans
from footnotes.text.tokens import TokenRuler

_WORD = re.compile(r"\S")
_CLOSE = 8
BYTES_A_CHARACTER = 4
"""A character has at most four bytes, and a token at least one, so a character has at most four tokens."""


class Atom(NamedTuple):
    """A run to keep whole. An atom that opens a section does not join a chunk that is large enough already."""

    start: int
    end: int
    opens_section: bool = False


class Fitted(NamedTuple):
    """A span and its exact token count."""

    start: int
    end: int
    tokens: int


class Measured:
    """A text with a ruler that measures and cuts it in tokens."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.ruler = TokenRuler(text)

    def tokens(self, start: int, end: int) -> int:
        """Count the tokens of a span exactly. The span must not end in white space."""
        return self.ruler.count(start, end)

    def exceeds(self, start: int, end: int, limit: int) -> bool:
        """Return whether a span has more than `limit` tokens. Counts exactly only near the limit."""
        near = self.ruler.between(start, end) - limit
        return near > 0 if abs(near) > _CLOSE else self.tokens(start, end) > limit

    def words(self, start: int, end: int, limit: int) -> Iterator[Fitted]:
        """Cut a run into pieces of at most `limit` tokens, between words unless a word is longer than that."""
        while start < end:
            stop = min(end, max(self.ruler.reach(start, limit), start + limit // BYTES_A_CHARACTER))
            if stop < end:
                between = self._word_end(start, stop)
                stop = between if between > start else stop
            yield from self.fitted(start, stop, limit)
            following = _WORD.search(self.text, stop, end)
            start = following.start() if following else end

    def _word_end(self, start: int, end: int) -> int:
        """Return the last end of a word after `start` and up to `end`; `start` if there is none."""
        piece = self.text[start:end]
        if not self.text[end : end + 1].isspace() and not piece[-1:].isspace():
            words = piece.rsplit(None, 1)
            piece = piece[: len(piece) - len(words[-1])] if len(words) > 1 else ""
        return start + len(piece.rstrip())

    def _halfway(self, start: int, end: int) -> int:
        """Return a place to cut near the middle: between words, or inside the word if there is only one."""
        middle = (start + end) // 2
        before = self._word_end(start, middle)
        if before > start:
            return before
        rest = self.text[middle:end].split(None, 1)
        return end - len(rest[1]) if len(rest) > 1 else middle

    def fitted(self, start: int, end: int, limit: int) -> list[Fitted]:
        """Return the span if it has at most `limit` tokens, else halve it until the pieces do."""
        end = start + len(self.text[start:end].rstrip())
        tokens = self.tokens(start, end)
        if tokens <= limit:
            return [Fitted(start, end, tokens)]
        middle = self._halfway(start, end)
        following = _WORD.search(self.text, middle, end)
        second = following.start() if following else end
        return [*self.fitted(start, middle, limit), *self.fitted(second, end, limit)]

    def overlap_start(self, low: int, end: int, tokens: int) -> int:
        """Return the start of the overlap with a span that ends at `end`: at a sentence if one fits, else at a word."""
        if tokens <= 0:
            return end
        start = max(low, self.ruler.reach_back(end, tokens))
        piece = self.text[start:end]
        spans = sentence_spans(piece)
        if len(spans) > 1:
            return start + spans[1][0]
        if start > 0 and not self.text[start - 1].isspace() and not piece[:1].isspace():
            words = piece.split(None, 1)
            return end - len(words[1]) if len(words) > 1 else end
        return end - len(piece.lstrip())


def pack(measured: Measured, atoms: Iterable[Atom], *, limit: int, overlap: int, small: int) -> Iterator[Fitted]:
    """Yield spans of whole atoms of at most `limit` tokens; each repeats up to `overlap` tokens of the one before.

    Overlap never reaches into a new section. A section joins the chunk before it only while that is `small`.
    """
    start = end = -1
    for atom in atoms:
        if start < 0:
            start, end = atom.start, atom.end
            continue
        full = measured.exceeds(start, atom.end, limit)
        if not full and not (atom.opens_section and measured.exceeds(start, end, small - 1)):
            end = atom.end
            continue
        pieces = measured.fitted(start, end, limit)
        yield from pieces
        last = pieces[-1].start
        start = atom.start if atom.opens_section else _next_start(measured, last, end, atom, limit, overlap)
        end = atom.end
    if start >= 0:
        yield from measured.fitted(start, end, limit)


def _next_start(measured: Measured, start: int, end: int, atom: Atom, limit: int, overlap: int) -> int:
    """Return where the span of `atom` begins: in the tail of the span before it, as far as there is room."""
    room = min(overlap, limit - measured.tokens(atom.start, atom.end))
    found = measured.overlap_start(start + 1, end, room)
    return found if found < end and not measured.exceeds(found, atom.end, limit) else atom.start
