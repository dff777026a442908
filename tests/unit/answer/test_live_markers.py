"""Markers of an answer that is being written."""

from __future__ import annotations

from footnotes.answer.align import Aligner
from footnotes.answer.generate import Transcript
from footnotes.answer.passages import passages_of
from footnotes.testing.hits import make_hit
from footnotes.types import Event
from streamed import answer_of, shown

SOURCE = "The notice period is three months. Lunch costs four euros. The cook is Maria Rossi from Bologna."


def streamed(text: str, size: int) -> list[Event]:
    transcript = Transcript(Aligner(passages_of([make_hit(SOURCE)])))
    events: list[Event] = []
    for start in range(0, len(text), size):
        events += transcript.add(text[start : start + size])
    events += transcript.finish()
    return events


def test_markers_stand_behind_their_sentences_however_the_words_come() -> None:
    text = (
        "The notice period is three months [1]. Lunch costs four euros [1]. The cook is Maria Rossi [1]. "
        "Bananas are blue."
    )
    for size in (1, 3, 7, 200):
        events = streamed(text, size)
        citations = tuple(event.citation for event in events if event.citation)
        clean = "".join(event.text for event in events)
        answer = answer_of(clean, citations, unsupported=((len(clean) - 17, len(clean)),))
        whole, pieces = shown([*events, Event("done", answer=answer)])
        assert whole.startswith(
            "The notice period is three months. [1] Lunch costs four euros. [2] The cook is Maria Rossi. [3] "
            "Bananas are blue.\n"
        )
        assert "[?] Nothing in the documents supports: “Bananas are blue.”" in whole
        assert "[3] handbook.md: “The cook is Maria Rossi from Bologna.”" in whole
        if size == 1:
            assert len(pieces) > 10, "words are written before the answer is complete"
