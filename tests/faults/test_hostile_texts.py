"""Texts and questions made to keep the patterns of answers busy: they are answered, however long they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.answer.plain import plain_text, skim_text
from libraries import quick_library

SPACES = " " * 9_000


MARKS = ("\n", " \n", "A.", "`", ":a:", "a::\n", "_a", "{ ", "[", "<a ")


@pytest.mark.parametrize("marks", [*MARKS, "[a](", "*a ", " "])
def test_many_marks_are_removed_or_kept(marks: str) -> None:
    assert "end" in plain_text(f"{marks * 10_000} end")


@pytest.mark.parametrize("marks", [*MARKS, ".. note:: ", ".. a::\n", ".. a::\n :b: c\n", "```\n :a:\n", "===\n"])
def test_many_marks_are_skimmed(marks: str) -> None:
    assert "end" in skim_text(f"{marks * 5_000}\n\nend")


@pytest.mark.parametrize(
    "question",
    [
        "How do I set the zorble port?",
        f"difference between{SPACES}x",
        f"difference between zorble{SPACES}port",
        f"a vs{SPACES}b !",
        f"the{SPACES}x vs y",
        f"how {SPACES}zorble",
    ],
)
def test_empty_lines_and_spaces_hold_nothing_up(question: str, tmp_path: Path) -> None:
    with quick_library(tmp_path) as library:
        library.add_text("The zorble port is 8080 by default.", filename="a.md")
        library.add_text("The zorble port is 8080::\n" + "\n" * 20_000 + "   code\n", filename="b.rst")
        for citation in library.ask(question).citations:
            assert library.text(citation.document_id, citation.start, citation.end) == citation.quote
