"""Further searches for a question."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import ConfigError, OptionError
from footnotes.retrieve.expand import load_synonyms, merged_hits, variants_of
from footnotes.testing.hits import make_hit


def test_synonyms_add_the_words_that_are_not_there(tmp_path: Path) -> None:
    file = tmp_path / "synonyms.txt"
    file.write_text("PTO, paid time off, holiday  # leave\n\nHR = human resources\nalone\n")
    assert load_synonyms(str(file))[:2] == [["PTO", "paid time off", "holiday"], ["HR", "human resources"]]
    (variant,) = variants_of("How much PTO do I get?", ["synonyms"], synonyms=str(file))
    assert variant.query == "How much PTO do I get? paid time off holiday"
    assert variant.added == "Synonyms added: paid time off, holiday."
    (backwards,) = variants_of("Ask human resources", ["synonyms"], synonyms=str(file))
    assert backwards.query.endswith(" HR")
    assert variants_of("resources for humans", ["synonyms"], synonyms=str(file)) == []


def test_a_small_list_comes_with_it() -> None:
    (found,) = variants_of("Is MFA required?", ["synonyms"])
    assert "multi-factor authentication" in found.query and "mandatory" in found.query
    assert variants_of("Can you tell us the time of ar?", ["synonyms"]) == [], "two small letters are no abbreviation"
    (found,) = variants_of("Which US offices are there?", ["synonyms"])
    assert "United States" in found.query


def test_other_questions_are_read_from_any_list() -> None:
    said = "1. How long is notice?\n- When can I leave?\n\n* How long is notice?\nWhat is the term?\nA fourth one?"
    found = variants_of("Notice period?", ["multi"], say=lambda system, user: said)
    assert [variant.query for variant in found] == ["How long is notice?", "When can I leave?", "What is the term?"]
    assert all(variant.query in variant.added for variant in found)


def test_an_imagined_answer_is_searched_by_meaning() -> None:
    (found,) = variants_of("Notice period?", ["hyde"], say=lambda system, user: "Notice is\n three months.")
    assert found.query == "Notice period? Notice is three months." and found.mode == "dense"
    assert variants_of("Notice period?", ["hyde"], say=lambda system, user: " ") == []


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="chat model"):
        variants_of("x", ["multi"])
    with pytest.raises(ConfigError, match="cannot be read"):
        variants_of("x", ["synonyms"], synonyms=str(tmp_path / "none"))
    with pytest.raises(OptionError):
        variants_of("x", ["magic"])


def test_several_searches_are_merged_by_rank() -> None:
    one, two, three = (
        make_hit("x", document=name, score=score) for name, score in (("a", 0.9), ("b", 0.5), ("c", 0.1))
    )
    merged = merged_hits([[one, two], [two, three]], 10)
    assert [hit.document_id for hit in merged] == ["b", "a", "c"]
    assert all(0 < hit.score <= 1 for hit in merged)
    assert merged_hits([[one]], 10)[0].score == 1.0
    assert len(merged_hits([[one, two], [three]], 2)) == 2
