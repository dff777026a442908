"""A model's stream, cut anywhere, gives the same answer."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from footnotes.answer.align import Aligner
from footnotes.answer.citations import cite
from footnotes.answer.generate import Transcript
from footnotes.answer.passages import passages_of
from footnotes.testing.hits import make_hit

SOURCE = "The notice period is three months. Lunch costs four euros. The cook is Maria Rossi from Bologna."
PASSAGES = passages_of([make_hit(SOURCE)])
TEXTS = (
    "The notice period is three months [1]. Lunch costs four euros [1][2]. Bananas are blue.",
    "  Lunch costs four euros【1†source】. The cook is Maria Rossi (source: 1).\n\nSources:\n[1] handbook.md",
    "- Lunch costs four euros [1]\n- The notice period is three months [1]\n\n",
    "The set [a, b] is open (see above). Lunch costs four euros<sup>1</sup>.",
    "Lunch costs four euros",
)


@given(st.sampled_from(TEXTS), st.lists(st.integers(1, 9), min_size=1, max_size=200), st.booleans())
def test_pieces_of_any_size_give_the_whole_answer(text: str, sizes: list[int], strict: bool) -> None:
    transcript = Transcript(Aligner(PASSAGES), strict=strict)
    events, begin = [], 0
    for size in sizes:
        events += transcript.add(text[begin : begin + size])
        begin += size
    events += transcript.add(text[begin:])
    events += transcript.finish()
    expected = cite(text, PASSAGES, strict=strict)
    assert "".join(event.text for event in events) == expected.text
    assert [event.citation for event in events if event.citation] == list(expected.citations)


def test_words_come_before_the_sentence_ends_and_footnotes_right_after() -> None:
    transcript = Transcript(Aligner(PASSAGES))
    first = list(transcript.add("The notice period is three "))
    assert [event.type for event in first] == ["token"]
    assert "".join(event.text for event in first) == "The notice period is three"
    after = list(transcript.add("months [1]. Lunch costs four"))
    assert [event.type for event in after] == ["token", "citation", "token"]


def test_strict_holds_a_sentence_until_it_is_known() -> None:
    transcript = Transcript(Aligner(PASSAGES), strict=True)
    assert list(transcript.add("Bananas are blue. Lunch costs ")) == []
    events = [*transcript.add("four euros."), *transcript.finish()]
    assert [event.type for event in events] == ["token", "citation"]
    assert events[0].text == "Lunch costs four euros."


def test_a_long_answer_costs_no_more_a_word_than_a_short_one() -> None:
    """The text that is looked at again for each piece stays short."""
    transcript = Transcript(Aligner(PASSAGES))
    longest = 0
    for _ in range(400):
        for word in ("Lunch ", "costs ", "four ", "euros ", "[1]. "):
            list(transcript.add(word))
            longest = max(longest, len(transcript._tail))
    assert longest < 200 and len(transcript.raw) > 10_000


def test_code_is_left_alone_wherever_it_is_cut() -> None:
    text = "Run this. Then see.\n\n```\nrow[1]. Then row[2]. Then more text here.\n```\n\nLunch costs four euros [1]."
    transcript = Transcript(Aligner(PASSAGES))
    events = [event for char in text for event in transcript.add(char)] + list(transcript.finish())
    assert "".join(event.text for event in events) == cite(text, PASSAGES).text
    assert "row[1]. Then row[2]." in cite(text, PASSAGES).text
