"""Numbers, names and denial: what must agree between a claim and its source."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.answer.denial import denied_otherwise
from footnotes.answer.facts import facts_of, missing_fact
from footnotes.answer.numbers import numbers_in
from footnotes.text.analysis import analyze


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("1,442 costumes", [{1442, 1.442}]),
        ("1.500,75 Euro", [{1500.75}]),
        ("3.5 and 50%", [{3.5}, {50}]),
        ("2 million", [{2_000_000}]),
        ("two hundred and five", [{205}]),
        ("twenty-four", [{24}]),
        ("the 4th of 2024-03-31", [{4}, {2024}, {3}, {31}]),
        ("twelve, five", [{12}, {5}]),
        ("5½ sacks", [{5}, {0.5}]),
        ("no numbers", []),
    ],
)
def test_numbers_are_read_in_digits_and_words(text: str, values: list[set[float]]) -> None:
    assert [set(number.values) for number in numbers_in(text)] == values


@given(st.text(max_size=200))
def test_any_text_has_readable_numbers(text: str) -> None:
    assert all(number.values and text[number.start : number.end] for number in numbers_in(text))


def missing(claim: str, source: str) -> str | None:
    return missing_fact(facts_of(claim), source, frozenset(analyze(source)), source)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("It took three months.", "The work lasted 3 months."),
        ("It cost 2,000,000 euros.", "The price was two million euros."),
        ("The rule of 31 March 2024 applies.", "In force since 2024-03-31."),
        ("Jared Allen had 136 sacks.", "Jared Allen was the career sack leader with 136."),
        ("One of the managers agreed.", "A manager agreed."),
        ("Employees must agree.", "Staff must agree."),
        ("The V&A opened.", "It opened as the V&A in May."),
    ],
)
def test_facts_in_other_spellings_are_found(claim: str, source: str) -> None:
    assert missing(claim, source) is None


@pytest.mark.parametrize(
    ("claim", "source", "fact"),
    [
        ("It took four months.", "The work lasted 3 months.", "four"),
        ("It won 20 to 20.", "It won 20 to 18.", "20"),
        ("The cook is Maria Rossi.", "The cook is Maria Bianchi.", "rossi"),
        ("Jared Smith won.", "Jared Allen won.", "smith"),
        ("It began in April.", "It began in March.", "april"),
        ("It gave 12 days to 3 people.", "It gave 3 days to 12 people.", "12"),
    ],
)
def test_a_changed_fact_is_missed(claim: str, source: str, fact: str) -> None:
    assert missing(claim, source) == fact


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The contract may not be ended.", "The contract may be ended."),
        ("The contract may be ended.", "The contract may never be ended."),
        ("Staff don't pay for lunch.", "Staff pay for lunch."),
        ("The rent increased in May.", "The rent decreased in May."),
        ("Dogs are allowed in the office.", "Dogs are forbidden in the office."),
        ("Der Vertrag kann nicht gekündigt werden.", "Der Vertrag kann gekündigt werden."),
    ],
)
def test_denial_is_caught_both_ways(claim: str, source: str) -> None:
    assert denied_otherwise(claim, source)
    assert denied_otherwise(source, claim)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("The contract may be ended.", "The contract may be ended."),
        ("The contract cannot be ended.", "It is not possible to end the contract."),
        ("The contract may be ended in writing.", "The contract may be ended in writing, but faxes do not count."),
        ("The rent increased and then decreased.", "The rent decreased."),
    ],
)
def test_agreement_is_no_denial(claim: str, source: str) -> None:
    assert not denied_otherwise(claim, source)


REVENUE = "Revenue was 40 million in 2017 and 50 million in 2018. Of 200 staff, 50 work in Bonn."


@pytest.mark.parametrize(
    ("claim", "is_right"),
    [
        ("Revenue rose from 40 million to 50 million, an increase of 25%.", True),
        ("Revenue was 50 million, up 25% from 40 million.", True),
        ("Revenue rose from 40 million to 50 million, an increase of 20%.", False),
        ("Revenue rose from 40 million to 50 million, a difference of 10 million.", True),
        ("Revenue of 40 million and 50 million makes 90 million in total.", True),
        ("Revenue of 40 million and 50 million makes 95 million in total.", False),
        ("50 of 200 staff work in Bonn, or 25%.", True),
        ("50 of 200 staff work in Bonn, or 40%.", False),
        ("Revenue rose by 25%.", False),
    ],
)
def test_a_figure_that_was_worked_out_stands_where_the_sum_is_right(claim: str, is_right: bool) -> None:
    assert (missing(claim, REVENUE) is None) == is_right
