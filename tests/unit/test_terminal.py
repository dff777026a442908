"""Answers as they come, on a terminal."""

from __future__ import annotations

from footnotes.cli.ask import HELD, step_line
from footnotes.types import Event, Leg, Step
from streamed import answer_of, shown


def test_an_answer_that_turns_into_an_abstention_says_so() -> None:
    whole, _ = shown([Event("token", text="Whales sing."), Event("done", answer=answer_of("Nothing answers this."))])
    assert whole == "Whales sing.\nNothing answers this.\n"
    same, _ = shown([Event("token", text="Nothing."), Event("done", answer=answer_of("Nothing."))])
    assert same == "Nothing.\n"


def test_a_break_is_said() -> None:
    legs = {"model": Leg("failed", "it broke off")}
    answer = answer_of("Lunch", incomplete=True, degraded=True, legs=legs, abstained=False)
    whole, _ = shown([Event("token", text="Lunch"), Event("error", answer=answer)])
    assert "broke off before its end" in whole and "model failed: it broke off" in whole


def test_steps_are_lines_and_nothing_draws_on_the_terminal() -> None:
    assert step_line(Step("action", tool="search", tool_input={"query": "a\x1b[2J"})) == r"→ search(query='a\x1b[2J')"
    assert step_line(Step("thought", "two\nlines")) == "· two lines"
    assert len(step_line(Step("tool_result", tool_output="x" * 500))) < 120
    whole, _ = shown([Event("token", text="a\x1b[2Jb" + "c" * HELD), Event("done", answer=answer_of("x"))])
    assert "\x1b" not in whole
