"""Hits → passages."""

from __future__ import annotations

from footnotes.answer.passages import headings_at, page_of, passages_of
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
