"""The small model that reads: what it is given, what it says, and what happens when its file is not the one shipped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from footnotes.answer import Answerer, reader
from footnotes.answer.align import Aligner
from footnotes.answer.citations import cite
from footnotes.answer.encode import END, MARK, START, Encoded, encode_claim, encode_window
from footnotes.answer.passages import passages_of
from footnotes.answer.reader import Logits, Reader, Verdict, Window
from footnotes.errors import ModelDamaged
from footnotes.settings import Settings
from footnotes.testing.hits import make_hit
from footnotes.types import Leg

BRIDGE = Window(
    "The bridge",
    (
        "The bridge crosses the river at its narrowest place.",
        "It was designed by Clara Holm and opened to traffic in 1931.",
        "About 4,000 cars a day use it.",
    ),
)


@pytest.fixture(scope="module")
def small() -> Reader:
    return Reader()


def letters(text: str) -> list[int]:
    return [1_000 + ord(char) for char in text]


def test_a_claim_stands_behind_its_evidence() -> None:
    encoded = encode_claim(letters, "ab", "c")
    assert encoded.ids == [START, *letters("ab"), END, *letters("c"), END]
    assert encoded.second == 4 and encoded.marks == (0,)


def test_of_long_evidence_the_sentences_with_the_claims_words_are_read() -> None:
    evidence = "Nothing of this matters here at all. " * 20 + "The fee is nine euros. " + "Other words follow it. " * 20
    encoded = encode_claim(letters, evidence, "The fee is nine euros.", limit=120)
    read = "".join(chr(each - 1_000) for each in encoded.ids if each >= 1_000)
    assert len(encoded.ids) <= 120 and read.count("The fee is nine euros.") == 2


def test_every_sentence_of_a_window_has_a_mark_until_it_is_full() -> None:
    encoded = encode_window(letters, "q", "t", ["a" * 10, "b" * 10, "c" * 10], limit=32)
    assert [encoded.ids[place] for place in encoded.marks] == [START, MARK, MARK]


def test_the_sentence_that_answers_is_chosen(small: Reader) -> None:
    (choice,) = small.choose("When was the bridge opened?", [BRIDGE])
    (other,) = small.choose("How many cars use the bridge every day?", [BRIDGE])
    assert max(range(3), key=choice.sentences.__getitem__) == 1
    assert max(range(3), key=other.sentences.__getitem__) == 2


def test_a_window_that_does_not_answer_is_less_likely_to(small: Reader) -> None:
    (answers,) = small.choose("Who designed the bridge?", [BRIDGE])
    (not_there,) = small.choose("What does a ticket for the museum cost?", [BRIDGE])
    assert answers.passage > not_there.passage


def test_windows_are_judged_alike_alone_and_together(small: Reader) -> None:
    short = Window("", BRIDGE.sentences[:1])
    together = small.choose("Who designed the bridge?", [short, BRIDGE])
    alone = [small.choose("Who designed the bridge?", [each])[0] for each in (short, BRIDGE)]
    assert [each.passage for each in together] == pytest.approx([each.passage for each in alone], abs=1e-6)


def test_chances_of_a_verdict_add_up(small: Reader) -> None:
    (verdict,) = small.verify([("The bridge opened in 1931.", "The bridge opened in 1931.")])
    assert verdict.supported + verdict.unsupported + verdict.contradicted == pytest.approx(1.0, abs=1e-5)
    assert verdict.supported > 0.5


def test_another_file_is_not_loaded_and_the_answer_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reader.SHA256, "chooser", "0" * 64)
    with pytest.raises(ModelDamaged):
        Reader().load("chooser")
    hits = [make_hit("The notice period is three months. The cook is Maria Rossi.")]
    legs = {"lexical": Leg("ok", "")}
    answer = Answerer(Settings()).answer("How long is the notice period?", hits, legs=legs, degraded=False)
    assert answer.degraded and answer.legs["reader"].status == "failed"
    assert answer.answer.startswith("The notice period is three months.")
    without = Answerer(Settings(reader=False)).answer("How long is the notice period?", hits, legs=legs, degraded=False)
    assert not without.degraded and "reader" not in without.legs


def test_the_second_chooser_is_loaded_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(reader.SHA256, reader.SECOND, "0" * 64)
    with pytest.raises(ModelDamaged):
        Reader().load("chooser")
    Reader().load("verifier")


class Recording(Reader):
    """Keeps what each model was given, and what it returned."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: dict[str, list[tuple[Encoded, Logits]]] = {}

    def _run(self, name: str, encoded: Sequence[Encoded]) -> list[Logits]:
        found = super()._run(name, encoded)
        self.runs[name] = [(each, logits.copy()) for each, logits in zip(encoded, found, strict=True)]
        return found


def test_the_likeliest_windows_are_read_twice_and_their_log_odds_averaged() -> None:
    recording = Recording()
    other = Window("Lunch", ("Lunch costs four euros.", "It is served at noon."))
    choices = recording.choose("Who designed the bridge?", [other, BRIDGE, other, other, other])
    first, second = recording.runs["chooser"], recording.runs[reader.SECOND]
    assert len(first) == 5 and len(second) == reader.READ_TWICE
    assert second[0][0] == first[1][0]  # the window on the bridge is the likeliest
    mean = (first[1][1] + second[0][1])[0, 0] / 2
    assert choices[1].passage == pytest.approx(1 / (1 + float(np.exp(-mean))), abs=1e-6)
    alone = first[4][1][0, 0]
    assert choices[4].passage == pytest.approx(1 / (1 + float(np.exp(-alone))), abs=1e-6)


class Doubting(Reader):
    """A verifier that finds everything, or nothing, supported."""

    def __init__(self, supported: float) -> None:
        super().__init__()
        self._supported = supported

    def verify(self, pairs: object) -> list[Verdict]:
        return [Verdict(self._supported, 1 - self._supported, 0.0)]


def test_where_words_and_verifier_disagree_a_sentence_is_not_certain() -> None:
    passages = passages_of([make_hit("The workshop lends its tools to all members of the club for a week.")])
    said = "The workshop lends all its tools for a week to members."
    assert cite(said, passages, reader=Doubting(0.9)).uncertain == ()
    doubted = cite(said, passages, reader=Doubting(0.05))
    assert doubted.uncertain == ((0, len(said)),) and doubted.citations and not doubted.unsupported
    invented = "Boats are sold on Sundays."
    assert not cite(invented, passages, reader=Doubting(0.99)).citations
    assert Aligner(passages, reader=Doubting(0.05)).align("The workshop lends its tools to all members")[0].certain
