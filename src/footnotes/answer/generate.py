"""A model's stream → checked text: words as they come without the model's markers, footnotes as they are settled."""

from __future__ import annotations

import re
from collections.abc import Iterator

from footnotes.answer.align import Aligner
from footnotes.answer.citations import Footnotes, named_at, sentences_with_gaps
from footnotes.answer.markers import ENDS_IN_SOURCES, Marker, without_markers
from footnotes.types import Event

_HELD = 200
"""How far back an open bracket can be the beginning of a marker."""
_OPEN = re.compile(r"<sup>\s?\d*\s?(?:<[^>]*)?\Z|[\[【(<`][^\]】)>`]*\Z", re.IGNORECASE)
_LAST_LINE = re.compile(r"\n[^\n]{0,30}\Z")
_SETTLED = 12
"""Characters of the next sentence that must have come before one is taken to have ended."""


class Transcript:
    """Takes a model's text in pieces and gives the events that may be shown after each.

    What has been shown is never taken back while the model speaks: an open bracket, trailing white space and a
    short last line are held until it is clear that they are no marker and no list of sources. Under `strict` a
    sentence is held until it is known to be supported.
    """

    def __init__(self, aligner: Aligner, *, strict: bool = False) -> None:
        self.raw = ""
        self._strict = strict
        self._shown = ""
        self._aligner = aligner
        self._footnotes = Footnotes()
        self._settled = 0  # where the first sentence begins that is not known to have ended

    def add(self, text: str) -> Iterator[Event]:
        """The events a further piece of text gives."""
        self.raw = (self.raw + text).lstrip()
        yield from self._show(self.raw[: _safe_end(self.raw)])

    def finish(self) -> Iterator[Event]:
        """What was held back."""
        yield from self._show(self.raw, last=True)

    def _show(self, raw: str, *, last: bool = False) -> Iterator[Event]:
        clean, markers = without_markers(raw)
        clean = clean.rstrip() if last else clean
        begin = self._settled
        for start, end, gap in sentences_with_gaps(clean[begin:]):
            if not last and len(clean) < begin + end + _SETTLED:
                break
            self._settled = begin + end
            yield from self._sentence(clean, begin + start, begin + end, gap, markers)
        if not self._strict:
            yield from self._new_text(clean)

    def _sentence(self, clean: str, start: int, end: int, gap: str, markers: list[Marker]) -> Iterator[Event]:
        """A sentence that has ended, and its footnotes."""
        supports = self._aligner.align(clean[start:end], named_at(markers, start, end))
        if not self._strict:
            yield from self._new_text(clean[:end])
        elif supports:
            yield from self._new_text(self._shown + (gap if self._shown else "") + clean[start:end])
        offset = len(self._shown) - (end - start) if self._strict else start
        for support in supports:
            yield Event("citation", citation=self._footnotes.add(support, offset))

    def _new_text(self, text: str) -> Iterator[Event]:
        if text.startswith(self._shown) and len(text) > len(self._shown):
            new = text[len(self._shown) :]
            self._shown = text
            yield Event("token", text=new)


def _safe_end(raw: str) -> int:
    """How much of the text can no longer turn out to be, or to stand before, a marker or a list of sources."""
    end = len(raw)
    if held := _OPEN.search(raw, max(0, end - _HELD)):
        end = held.start()
    if line := _LAST_LINE.search(raw, max(0, end - 40), end):
        end = line.start()
    end = len(raw[:end].rstrip())
    if sources := ENDS_IN_SOURCES.search(raw, max(0, end - 60), end):
        end = len(raw[: sources.start()].rstrip())
    return end
