"""Turns a model's stream into checked text: words as they arrive, without markers, footnotes once they are final."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from footnotes.answer.align import Aligner
from footnotes.answer.citations import ENDS_IN_SOURCES, Cited, Footnotes, Marker, passages_named_at, without_markers
from footnotes.answer.claims import claims_in
from footnotes.answer.models import ChatRequest, Message
from footnotes.answer.prompt import escape
from footnotes.types import Event

_HELD = 200
"""How far back an open bracket may begin a marker."""
_OPEN = re.compile(r"<sup>\s?\d*\s?(?:<[^>]*)?\Z|[\[【(<`][^\]】)>`]*\Z", re.IGNORECASE)
_LAST_LINE = re.compile(r"\n[^\n]{0,30}\Z")
_SETTLED = 12
"""Characters of the next sentence that must have arrived before one counts as ended."""

REPEATS = 4
"""How often a model may repeat a sentence before it counts as looping."""
_WORDS_OF_A_SENTENCE = 4


class Transcript:
    """Takes a model's text in pieces and yields the events that may be shown after each.

    Shown text is never taken back while the model writes: an open bracket, trailing white space and a short last line
    are held until they are known to be no marker and no list of sources. Under `strict` a sentence is held until it
    is known to be supported.
    """

    def __init__(self, aligner: Aligner, *, strict: bool = False) -> None:
        self.raw = ""
        self.circles = False  # the model repeats itself
        self._said: Counter[str] = Counter()
        self._strict = strict
        self._aligner = aligner
        self._footnotes = Footnotes()
        self._tail = ""  # the text after the last sentence known to have ended
        self._base = 0  # its start in the text without markers
        self._settled = 0  # how much of it is final although it cannot be dropped yet
        self._shown = ""  # the part of it already shown
        self._written = 0  # characters shown in total

    def add(self, text: str) -> Iterator[Event]:
        """Add a piece of text and yield its events."""
        text = text if self.raw else text.lstrip()
        self.raw += text
        self._tail += text
        yield from self._show(self._tail[: _safe_end(self._tail)])

    def finish(self) -> Iterator[Event]:
        """Yield what was held back."""
        yield from self._show(self._tail, last=True)

    def _show(self, tail: str, *, last: bool = False) -> Iterator[Event]:
        clean, markers = without_markers(tail)
        clean = clean.rstrip() if last else clean
        begin = self._settled
        for start, end, gap, stated in claims_in(clean, begin):
            if not last and (len(clean) < end + _SETTLED or _in_open_fence(clean, start)):
                break
            self._settled = end
            yield from self._sentence(clean, (start, end), gap, markers, stated=stated)
        if not self._strict:
            yield from self._new_text(clean)
        self._let_go(tail, markers)

    def _sentence(
        self, clean: str, span: tuple[int, int], gap: str, markers: list[Marker], *, stated: bool
    ) -> Iterator[Event]:
        """Yield a sentence that has ended, and its footnotes."""
        start, end = span
        self._note(clean[start:end])
        supports = self._aligner.align(clean[start:end], passages_named_at(markers, start, end)) if stated else []
        offset = self._base + start
        if not self._strict:
            yield from self._new_text(clean[:end])
        elif supports or not stated:
            text = (gap if self._written else "") + clean[start:end]
            self._written += len(text)
            offset = self._written - (end - start)
            yield Event("token", text=text)
        for support in supports:
            yield Event("citation", citation=self._footnotes.add(support, offset))

    def _note(self, sentence: str) -> None:
        words = sentence.lower().split()
        if len(words) >= _WORDS_OF_A_SENTENCE:
            said = " ".join(words)
            self._said[said] += 1
            self.circles = self.circles or self._said[said] >= REPEATS

    def _new_text(self, clean: str) -> Iterator[Event]:
        if clean.startswith(self._shown) and len(clean) > len(self._shown):
            new = clean[len(self._shown) :]
            self._shown = clean
            yield Event("token", text=new)

    def _let_go(self, tail: str, markers: list[Marker]) -> None:
        """Drop final text, so that a long answer costs no more per word than a short one."""
        raw = self._settled + sum(marker.removed for marker in markers if marker.position <= self._settled)
        if not self._settled or tail[:raw].count("```") % 2:
            return
        self._tail = self._tail[raw:]
        self._base += self._settled
        self._shown = self._shown[self._settled :]
        self._settled = 0


def _in_open_fence(text: str, start: int) -> bool:
    """Return whether a piece is inside a code fence that is still open."""
    return text.count("```") % 2 == 1 and start >= text.rfind("```")


def _safe_end(raw: str) -> int:
    """Return how much of the text can no longer be, or precede, a marker or a list of sources."""
    end = len(raw)
    if held := _OPEN.search(raw, max(0, end - _HELD)):
        end = held.start()
    if line := _LAST_LINE.search(raw, max(0, end - 40), end):
        end = line.start()
    end = len(raw[:end].rstrip())
    if sources := ENDS_IN_SOURCES.search(raw, max(0, end - 60), end):
        end = len(raw[: sources.start()].rstrip())
    return end


# ── gives a model with unsupported sentences one more attempt: it is told which ones, and writes again ────────


_ASKS = (
    "These sentences of your answer are not supported by the passages:\n{findings}\n\n"
    "Write the whole answer again. Leave out what the passages do not say, or say it as they do, a condition together "
    "with its consequence. Reply with the answer alone."
)


def findings_of(cited: Cited) -> list[str]:
    """Return the sentences that are unsupported or doubted."""
    return [" ".join(cited.text[start:end].split()) for start, end in (*cited.unsupported, *cited.uncertain)]


def repair_request(request: ChatRequest, said: str, cited: Cited) -> ChatRequest:
    """Build the request for a second answer, with the first one and its faults."""
    listed = "\n".join(f"- {escape(each)}" for each in findings_of(cited))
    asked = (Message("assistant", said), Message("user", _ASKS.format(findings=listed)))
    return ChatRequest(
        messages=(*request.messages, *asked),
        temperature=request.temperature,
        max_tokens=request.max_tokens,
        stop=request.stop,
        seed=request.seed,
    )


def is_better(new: Cited, old: Cited) -> bool:
    """Return whether a second answer is supported and has less in doubt than the first."""
    return bool(new.citations) and _doubts(new) < _doubts(old)


def _doubts(cited: Cited) -> int:
    spans: Sequence[tuple[int, int]] = (*cited.unsupported, *cited.uncertain)
    return sum(end - start for start, end in spans)
