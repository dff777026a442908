"""Hits → the passages a model is shown."""

from __future__ import annotations

from dataclasses import replace

from footnotes.answer.context import build_context, heading_of
from footnotes.testing.hits import make_hit
from footnotes.text.tokens import count_tokens
from footnotes.types import Hit

ALPHA = "Alpha works on bridges in Basel. Alpha was founded in 1901 by two engineers."
BETA = "Beta bakes bread every morning. The ovens of Beta are made of clay and brick."
GAMMA = "Gamma sails to Norway in June. Its crew counts nine people and a cat."


def hit(text: str, document: str, score: float, **changes: object) -> Hit:
    return replace(make_hit(text, document=document, score=score), **changes)  # type: ignore[arg-type]


def test_lowest_scores_are_dropped_first_and_it_is_said() -> None:
    hits = [hit(ALPHA, "a", 0.3), hit(BETA, "b", 0.9), hit(GAMMA, "c", 0.6)]
    context = build_context(hits, budget=70, count=count_tokens)
    assert [passage.document_id for passage in context.passages] == ["b", "c"]
    assert [dropped.document_id for dropped in context.dropped] == ["a"]
    assert context.tokens <= 70 and "1 of the hits" in context.note()
    assert build_context(hits, budget=10_000, count=count_tokens).note() == ""


def test_chunks_are_whole_even_when_a_smaller_one_would_fit() -> None:
    hits = [hit(ALPHA * 10, "long", 0.9), hit(GAMMA, "short", 0.5)]
    assert build_context(hits, budget=60, count=count_tokens).passages == ()


def test_reading_order_is_by_document_then_position() -> None:
    text = f"{ALPHA}\n\n{BETA}\n\n{GAMMA}"
    last = replace(make_hit(text, text.index("Gamma")), score=0.9, index=2)
    first = replace(make_hit(text, 0, len(ALPHA)), score=0.5, index=0)
    other = hit("Delta is a river in Egypt that floods each year.", "delta", 0.7)
    context = build_context([last, other, first], budget=500, count=count_tokens)
    assert [(passage.document_id, passage.start) for passage in context.passages] == [
        ("handbook.md", 0),
        ("handbook.md", text.index("Gamma")),
        ("delta", 0),
    ]


def test_neighbours_become_one_passage_with_the_gap_read_from_the_store() -> None:
    text = f"{ALPHA}\n\n{BETA}"
    hits = [replace(make_hit(text, 0, len(ALPHA)), index=0), replace(make_hit(text, text.index("Beta")), index=1)]
    context = build_context(hits, budget=500, count=count_tokens, read=lambda _, start, end: text[start:end])
    assert [passage.text for passage in context.passages] == [text]
    assert len(build_context(hits, budget=500, count=count_tokens).passages) == 2


def test_near_duplicates_once() -> None:
    context = build_context([hit(ALPHA, "a", 0.9), hit(ALPHA + " ", "copy", 0.8)], budget=500, count=count_tokens)
    assert [passage.document_id for passage in context.passages] == ["a"]
    assert context.duplicates == 1 and "near-duplicate" in context.note()


def test_several_documents_when_scores_are_close() -> None:
    text = f"{ALPHA}\n\n{BETA}"
    same = [replace(make_hit(text, 0, len(ALPHA)), score=0.9), replace(make_hit(text, text.index("Beta")), score=0.89)]
    close = build_context([*same, hit(GAMMA, "other", 0.88)], budget=70, count=count_tokens)
    assert {passage.document_id for passage in close.passages} == {"handbook.md", "other"}
    far = build_context([*same, hit(GAMMA, "other", 0.5)], budget=70, count=count_tokens)
    assert {passage.document_id for passage in far.passages} == {"handbook.md"}


def test_the_heading_of_a_passage() -> None:
    passage = build_context(
        [hit(ALPHA, "re port.pdf", 1.0, pages=(3, 3), headings=("Firms", "Alpha\n& Co"))], budget=99, count=count_tokens
    ).passages[0]
    assert heading_of(2, passage) == "[2] re port.pdf, p. 3, Firms › Alpha & Co"
    unknown = build_context([hit(ALPHA, "a.txt", 1.0)], budget=99, count=count_tokens).passages[0]
    assert heading_of(1, unknown) == "[1] a.txt"
    ranged = build_context([hit(ALPHA, "a.pdf", 1.0, pages=(3, 5))], budget=99, count=count_tokens).passages[0]
    assert heading_of(1, ranged) == "[1] a.pdf, pp. 3–5"


def test_the_heading_of_a_passage_of_a_wiki_or_repository_names_type_and_path() -> None:
    page = replace(hit(ALPHA, "auth.md", 1.0, headings=("Auth",)), metadata={"type": "file", "path": "wiki/auth.md"})
    (passage,) = build_context([page], budget=99, count=count_tokens).passages
    assert heading_of(1, passage) == "[1] wiki/auth.md (file), Auth"
    (passage,) = build_context(
        [replace(page, metadata={**page.metadata, "describes": "src/auth.py"})], budget=99, count=count_tokens
    ).passages
    assert heading_of(1, passage) == "[1] wiki/auth.md (file, src/auth.py), Auth"
    code = {"type": "file", "path": "src/auth.py", "repository": "site", "commit": "1a2b3c4d5e"}
    source = replace(hit(ALPHA, "auth.py", 1.0), metadata=code, lines=None)
    (passage,) = build_context([source], budget=99, count=count_tokens).passages
    assert heading_of(1, passage) == "[1] src/auth.py @ 1a2b3c4 (file)"
