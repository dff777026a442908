"""Questions in a conversation, and questions of several parts."""

from __future__ import annotations

import pytest

from footnotes.answer.condense import condense_by_rule, needs_context, what_to_answer
from footnotes.answer.decompose import follow_up, parts_of, sides_of
from footnotes.types import Turn

HISTORY = (Turn("user", "How long is the notice period?"), Turn("assistant", "Three months."))


@pytest.mark.parametrize(
    "question", ["And in probation?", "How long is it for managers?", "Why?", "What about trainees?"]
)
def test_a_question_that_points_back_takes_the_last_one_along(question: str) -> None:
    assert condense_by_rule(question, HISTORY) == f"How long is the notice period? {question}"


def test_a_short_question_that_names_its_own_thing_stands_alone() -> None:
    assert condense_by_rule("What does frobnicate do?", HISTORY) == "What does frobnicate do?"


def test_what_is_answered_is_the_new_question() -> None:
    question = "When will it light a second furnace?"
    joined = condense_by_rule(question, HISTORY)
    assert joined.startswith("How long") and what_to_answer(question, joined) == question
    fragment = "And in probation?"
    assert what_to_answer(fragment, condense_by_rule(fragment, HISTORY)).startswith("How long")


@pytest.mark.parametrize(
    ("last", "question", "asked"),
    [
        ("How many coats are usual for a violin?", "What about a cello?", "How many coats are usual for a cello?"),
        ("How many coats are usual for a violin?", "And what about cellos", "How many coats are usual for cellos?"),
        ("How long is the probation period?", "How about the notice period?", "How long is the notice period?"),
    ],
)
def test_the_same_is_asked_of_something_else(last: str, question: str, asked: str) -> None:
    assert condense_by_rule(question, (Turn("user", last), Turn("assistant", "Twelve."))) == asked


def test_a_question_that_stands_alone_stays() -> None:
    assert condense_by_rule("Who cooks lunch in the canteen?", HISTORY) == "Who cooks lunch in the canteen?"
    assert condense_by_rule("And in probation?", ()) == "And in probation?"
    assert not needs_context("Who cooks lunch in the canteen?")


@pytest.mark.parametrize(
    ("question", "parts"),
    [
        ("How long is the notice period?", ["How long is the notice period?"]),
        (
            "How long is the notice period and who signs the contract?",
            ["How long is the notice period", "who signs the contract?"],
        ),
        ("When was Acme founded? Who founded it?", ["When was Acme founded?", "Who founded it? (Acme)"]),
        (
            "What is the difference between Alpha and Beta?",
            ["What is the difference between Alpha", "What is the difference between Beta"],
        ),
        ("Salt and pepper prices?", ["Salt and pepper prices?"]),
        ("", [""]),
        (
            "What was learnt from Rome and from Old Bonn?",
            ["What was learnt from Rome?", "What was learnt from Old Bonn?"],
        ),
    ],
)
def test_parts_of_a_question(question: str, parts: list[str]) -> None:
    assert parts_of(question) == parts


def test_what_was_learnt_is_searched_next() -> None:
    sentence = "The treaty was signed by Maria Rossi in Bologna."
    assert follow_up("Where was the signer of the treaty born?", sentence) == (
        "Where was the signer of the treaty born? Maria Rossi Bologna"
    )
    assert follow_up("Where is Bologna?", "It is in the north of Bologna.") is None


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What does the second one cost?", "What does Caddy cost?"),
        ("Tell me more about the last of them.", "Tell me more about Nginx."),
        ("Is the fifth one free?", "Which proxies are there? Is the fifth one free?"),
    ],
)
def test_the_second_one_is_the_second_of_the_last_list(question: str, expected: str) -> None:
    said = "These can be used:\n\n- Traefik: renews certificates\n- Caddy: renews certificates\n- Nginx"
    history = [Turn("user", "Which proxies are there?"), Turn("assistant", said)]
    assert condense_by_rule(question, history) == expected


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("What is the difference between path and query parameters?", ("path parameters", "query parameters")),
        ("What is the difference between Path and Query parameters?", ("Path parameters", "Query parameters")),
        ("What is the difference between Docker and virtual machines?", ("Docker", "virtual machines")),
        ("What is the difference between def and async def?", ("def", "async def")),
        ("difference between lists and query parameters", ("lists", "query parameters")),
        ("fixed or flexible downtime?", ("fixed", "flexible downtime")),
        ("basic or advanced format for a new config", ("basic", "advanced format")),
        ("contains vs isequal vs startswith", ("contains", "isequal")),
        ("loading by file name or piping with cat: which is faster", None),
        ("Who sells bread and butter?", None),
    ],
)
def test_a_comparison_has_two_sides_that_may_share_a_noun(question: str, sides: tuple[str, str] | None) -> None:
    assert sides_of(question) == sides


def test_a_text_is_no_comparison() -> None:
    assert sides_of("What is the difference between a lease and a rent?") == ("a lease", "a rent")
    assert sides_of(f"What is the difference between a lease and a {'very ' * 120}long rent?") is None
