"""Hits → passages."""

from __future__ import annotations

import pytest

from footnotes.answer.passages import headings_at, page_of, passages_of, release_at, without_number
from footnotes.testing.hits import make_hit

TEXT = "Alpha one two. Beta three four. Gamma five six. Delta seven eight."


def test_overlapping_and_touching_hits_become_one_exact_passage() -> None:
    hits = [make_hit(TEXT, 32, 47, score=0.9), make_hit(TEXT, 0, 20, score=0.5), make_hit(TEXT, 15, 32, score=0.7)]
    (passage,) = passages_of(hits)
    assert (passage.start, passage.end, passage.rank) == (0, 47, 0)
    assert passage.text == TEXT[0:47]
    assert passage.score == 0.9


def test_a_hit_inside_another_adds_nothing() -> None:
    (passage,) = passages_of([make_hit(TEXT, 0, 40), make_hit(TEXT, 15, 31)])
    assert passage.text == TEXT[:40] and len(passage.hits) == 2


def test_gaps_and_other_documents_stay_apart_and_the_best_comes_first() -> None:
    hits = [make_hit(TEXT, 48), make_hit(TEXT, 0, 14, document="other.md"), make_hit(TEXT, 0, 14)]
    assert [(p.document_id, p.start) for p in passages_of(hits)] == [
        ("handbook.md", 48),
        ("other.md", 0),
        ("handbook.md", 0),
    ]


def test_texts_that_disagree_where_they_overlap_are_never_stitched() -> None:
    changed = TEXT.replace("Beta", "Zeta")
    assert len(passages_of([make_hit(TEXT, 0, 25), make_hit(changed, 15, 40)])) == 2


def test_no_hits_no_passages() -> None:
    assert passages_of([]) == []


def test_the_page_is_known_from_one_page_or_from_page_starts_and_else_unknown() -> None:
    assert page_of(passages_of([make_hit(TEXT)])[0], 3) is None
    assert page_of(passages_of([make_hit(TEXT, pages=(4, 4))])[0], 60) == 4
    assert page_of(passages_of([make_hit(TEXT, pages=(4, 6))])[0], 60) is None
    told = passages_of([make_hit(TEXT, pages=(4, 6), metadata={"page_starts": [[4, 0], [5, 15], [6, 48]]})])[0]
    assert [page_of(told, start) for start in (0, 14, 15, 47, 48)] == [4, 4, 5, 5, 6]


def test_headings_are_those_of_the_hit_a_position_lies_in() -> None:
    hits = [make_hit(TEXT, 0, 15, headings=("Terms",)), make_hit(TEXT, 15, 40, headings=("Terms", "Notice"))]
    (passage,) = passages_of(hits)
    assert headings_at(passage, 3) == ("Terms",)
    assert headings_at(passage, 30) == ("Terms", "Notice")


@pytest.mark.parametrize(
    ("heading", "is_release"),
    [
        ("2.1.4 (2024-03-01)", True),
        ("Version 3", True),
        ("v2.0", True),
        ("2.1. Terms", False),
        ("12.1.1.2. Notice of it", False),
    ],
)
def test_the_number_of_a_section_is_no_release(heading: str, is_release: bool) -> None:
    (passage,) = passages_of([make_hit(TEXT, headings=(heading,))])
    assert release_at(passage, 3) == (heading if is_release else "")


@pytest.mark.parametrize(
    ("heading", "bare"),
    [
        ("12.1.2. Lamps", "Lamps"),
        ("(6) Is it safe?", "Is it safe?"),
        ("Chapter 9. Oil", "Oil"),
        ("A lamp", "A lamp"),
        ("3D lamps", "3D lamps"),
    ],
)
def test_a_heading_has_a_name_without_its_number(heading: str, bare: str) -> None:
    assert without_number(heading) == bare
