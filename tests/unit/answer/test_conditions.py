"""Conditions and their consequences: the words may all be there, and the sentence say the reverse."""

from __future__ import annotations

import pytest

from footnotes.answer.citations import cite
from footnotes.answer.conditions import misjoined, turned_around
from footnotes.answer.passages import passages_of
from footnotes.testing.hits import make_hit

ESTIMATE = "An estimate is free of charge when the repair is ordered, and costs 40 euros otherwise."
NOTICE = "During the probation period notice is two weeks; after the probation period it is three months."
FARE = "Children travel free if they are under six, but pay half the fare after their sixth birthday."


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("An estimate costs 40 euros when the repair is ordered.", ESTIMATE),
        ("An estimate costs 40 euros if the repair is ordered.", ESTIMATE),
        ("Otherwise an estimate is free of charge.", ESTIMATE),
        ("After the probation period notice is two weeks.", NOTICE),
        ("Notice is three months during the probation period.", NOTICE),
    ],
)
def test_a_consequence_of_another_condition_is_seen(claim: str, source: str) -> None:
    assert misjoined(claim, source)


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        ("An estimate is free of charge when the repair is ordered.", ESTIMATE),
        ("An estimate is free when the repair is ordered, otherwise it costs 40 euros.", ESTIMATE),
        ("An estimate costs 40 euros otherwise.", ESTIMATE),
        ("Estimates may cost 40 euros.", ESTIMATE),
        ("Notice is two weeks during the probation period.", NOTICE),
        ("After the probation period notice is three months.", NOTICE),
        ("Children travel free if they are under six.", FARE),
        ("They pay half the fare after their sixth birthday.", FARE),
        (
            "When the bridge opened in 1932, it was 503 metres long.",
            "The bridge opened in 1932. It is 503 metres long.",
        ),
    ],
)
def test_what_the_source_says_is_no_reversal(claim: str, source: str) -> None:
    assert not misjoined(claim, source)


def test_a_reversed_condition_gets_no_footnote() -> None:
    result = cite("An estimate costs 40 euros when the repair is ordered [1].", passages_of([make_hit(ESTIMATE)]))
    assert not result.citations and len(result.unsupported) == 1


def test_a_letter_alone_is_no_word() -> None:
    source = "The sign ends in s when it is old, and in t when the letter s was lost."
    assert not misjoined("The sign ends in s when it is old.", source)


ALARM = "If the alarm rings, the outer door opens. The lights go out because the old battery is empty."


@pytest.mark.parametrize(
    ("claim", "is_reversed"),
    [
        ("If the outer door opens, the alarm rings.", True),
        ("The alarm rings when the outer door opens.", True),
        ("The old battery is empty because the lights go out.", True),
        ("The outer door opens if the alarm rings.", False),
        ("Once the alarm rings, the outer door opens.", False),
        ("Because the old battery is empty, the lights go out.", False),
        ("The alarm rings.", False),
    ],
)
def test_a_condition_and_its_consequence_that_changed_places(claim: str, is_reversed: bool) -> None:
    assert turned_around(claim, ALARM) == is_reversed
    assert bool(cite(f"{claim} [1]", passages_of([make_hit(ALARM)])).unsupported) == is_reversed
