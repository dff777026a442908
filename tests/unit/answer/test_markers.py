"""Citation markers as models write them."""

from __future__ import annotations

import pytest

from footnotes.answer.citations import without_markers


@pytest.mark.parametrize(
    ("text", "clean", "numbers"),
    [
        ("It is three months [1].", "It is three months.", {1}),
        ("It is three months. [1]", "It is three months.", {1}),
        ("It is three months[1][2].", "It is three months.", {1, 2}),
        ("It is [1, 2; 4] so.", "It is so.", {1, 2, 4}),
        ("It is so [2-4].", "It is so.", {2, 3, 4}),
        ("It is so [^3].", "It is so.", {3}),
        ("It is so 【4†source】.", "It is so.", {4}),
        ("It is so [Source 2].", "It is so.", {2}),
        ("It is so [Document 2, p. 7].", "It is so.", {2, 7}),
        ("It is so (source: 3).", "It is so.", {3}),
        ("It is so<sup>2</sup>.", "It is so.", {2}),
        ("It is so [1](http://evil.example/x).", "It is so.", {1}),
        ("It is so [99].", "It is so.", {99}),
        ("It is so [chunk-77ab].", "It is so.", {77}),
    ],
)
def test_every_usual_form_is_taken_out(text: str, clean: str, numbers: set[int]) -> None:
    found, markers = without_markers(text)
    assert found == clean
    assert set().union(*(marker.numbers for marker in markers)) == numbers


@pytest.mark.parametrize(
    "text",
    [
        "Use `items[0]` and\n```\nrow[1]\n```\nhere.",
        "He wrote it in [1998] or later.",
        "The set [a, b] is closed.",
        "A note (see above) and (3) three.",
        "An [unfinished bracket",
    ],
)
def test_what_is_no_marker_stays(text: str) -> None:
    assert without_markers(text) == (text, [])


def test_a_list_of_sources_at_the_end_goes() -> None:
    text = "It is so [1].\n\n**Sources:**\n[1] handbook.pdf, p. 3\n[2] invented.pdf"
    assert without_markers(text)[0] == "It is so."


def test_hostile_brackets_take_linear_time() -> None:
    for text in (
        "[" * 50_000,
        "[1" * 30_000,
        "[1, " * 20_000,
        "`" * 50_001,
        "[source " * 10_000,
        "\n" * 50_000,
        "`x` [1] " * 10_000,
    ):
        assert len(without_markers(text)[0]) <= len(text)
