"""Sketches tell how much two texts have in common."""

from __future__ import annotations

import random

import numpy as np

from footnotes.text.sketch import LEAST_LETTERS, Sketcher, _kept_runs, _minimum_hashes, resemblance, sketch_together


def sketch(*pieces: str) -> bytes:
    sketcher = Sketcher()
    for piece in pieces:
        sketcher.add(piece)
    made = sketcher.sketch()
    assert made is not None
    return made


def prose(seed: int, words: int = 1200) -> str:
    chosen = random.Random(seed)
    return " ".join("".join(chosen.choices("abcdefghij", k=chosen.randint(2, 9))) for _ in range(words))


def test_estimates_follow_the_share_of_text_in_common() -> None:
    text = prose(1)
    for share in (0.95, 0.9, 0.8, 0.5, 0.2):
        cut = text[: int(len(text) * share)]
        assert abs(resemblance(sketch(text), sketch(cut)) - share) < 0.16
    assert resemblance(sketch(text), sketch(prose(2))) < 0.05


def test_layout_case_and_punctuation_do_not_count() -> None:
    text = prose(3)
    other = text.upper().replace(" ", "\n   ").replace("\n   a", ", A")
    assert resemblance(sketch(text), sketch(other)) == 1.0


def test_texts_without_spaces_are_compared_too() -> None:
    chosen = random.Random(4)
    text = "".join(chr(chosen.randint(0x4E00, 0x9FFF)) for _ in range(2_000))
    assert resemblance(sketch(text), sketch(text[:100] + "改" + text[101:])) > 0.9


def test_pieces_are_one_text() -> None:
    text = prose(5)
    features = np.unique(_kept_runs([text.encode()])[0])
    halves = [_minimum_hashes(each, np.array([len(each)]))[0] for each in np.array_split(features, 2)]
    assert (np.minimum(*halves) == _minimum_hashes(features, np.array([len(features)]))[0]).all()
    assert resemblance(sketch(text), sketch(text[:3_000], text[3_000:])) > 0.95


def test_many_texts_at_once_get_the_sketches_they_get_alone() -> None:
    texts = [prose(6, 300), "", "a" * 15, "b" * 16, prose(7, 60), prose(8, 500)]
    sketchers = [Sketcher() for _ in texts]
    for sketcher, text in zip(sketchers, texts, strict=True):
        sketcher.add(text)
    alone = [Sketcher() for _ in texts]
    for sketcher, text in zip(alone, texts, strict=True):
        sketcher.add(text)
    assert sketch_together(sketchers) == [each.sketch() for each in alone]
    assert [each is None for each in sketch_together(alone)] == [False, True, True, True, False, False]


def test_a_short_text_has_none() -> None:
    sketcher = Sketcher()
    sketcher.add("a" * (LEAST_LETTERS - 1))
    assert sketcher.sketch() is None
    assert Sketcher().sketch() is None
