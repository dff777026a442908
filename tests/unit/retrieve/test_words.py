"""Filter words: exactly the documented ones, wherever they stand."""

from __future__ import annotations

import pytest

from footnotes.retrieve.where import as_filter
from footnotes.retrieve.words import WORDS, split_words, word_filter
from footnotes.types import AllOf, Condition


@pytest.mark.parametrize(
    "question",
    [
        "title:x",
        "tenant:b",
        "what is Layer:domain",
        "a layer: domain",
        "https://x.test/path:src",
        "xlayer:domain",
        'section:"never closed',
        "path:?",
        "user_id:a",
        "^a a* C++ (",
        "layer:",
        'layer:""',
    ],
)
def test_all_else_is_plain_text(question: str) -> None:
    assert split_words(question) == (question, None)


def test_words_leave_the_question() -> None:
    question, where = split_words('How is a token checked in layer:domain, section:"Getting started" ?')
    assert question == "How is a token checked in ?"
    assert where == AllOf((Condition("layer", "eq", "domain"), Condition("section", "eq", "Getting started")))


def test_words_alone_are_asked_by_their_values() -> None:
    assert split_words("symbol:validate_token path:src/**")[0] == "validate_token src/"


@pytest.mark.parametrize("key", WORDS)
def test_every_word_is_a_filter(key: str) -> None:
    assert split_words(f"{key}:value and more")[0] == "and more"
    assert as_filter(f"{key}:value") == word_filter(key, "value")


def test_a_sentence_may_end_after_a_word() -> None:
    assert split_words("what is in layer:domain?") == ("what is in", Condition("layer", "eq", "domain"))


def test_calls_are_symbols() -> None:
    assert word_filter("symbol", "foo.bar()") == Condition("symbol", "eq", "foo.bar")


def test_words_before_a_condition_and_conditions_as_before() -> None:
    assert as_filter("layer:domain year>=2020") == AllOf(
        (Condition("layer", "eq", "domain"), Condition("year", "gte", "2020"))
    )
    assert as_filter("title=about layer:domain") == Condition("title", "eq", "about layer:domain")
    assert as_filter(["author", "type:file"]) == AllOf((Condition("author", "exists"), Condition("type", "eq", "file")))
