from __future__ import annotations

import re
from html.parser import HTMLParser

from footnotes.evaluate.report import html_report
from footnotes.evaluate.run import Outcome, Run

EVIL = '<script>alert("x")</script>'


def run(name: str, *scores: float) -> Run:
    outcomes = tuple(
        Outcome(
            str(number), f"Question {number} {EVIL}", {"ndcg@10": score}, ("a.md",), ("a.md",), "both", 1.0 + number
        )
        for number, score in enumerate(scores)
    )
    return Run(name, outcomes, {"chunker": "rules"})


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.addresses += [value or "" for name, value in attrs if name in ("href", "src", "srcset", "action")]


def test_one_run_has_its_figures_plots_and_questions() -> None:
    page = html_report([run("now", 1.0, 0.5, 0.0)], title="Evaluation")
    reader = Reader()
    reader.feed(page)
    assert reader.tags.count("svg") == 3
    assert "0.5000" in page
    assert "rules" in page
    assert "Comparison" not in page


def test_two_runs_are_compared() -> None:
    page = html_report([run("A", *[0.2] * 30), run("B", *[0.4] * 29, 0.1)], title="A and B")
    assert "29 questions better, 1 worse" in page
    assert "better." in page


def test_the_page_needs_nothing_else_and_runs_nothing() -> None:
    reader = Reader()
    page = html_report([run(EVIL, 1.0)], title=EVIL)
    reader.feed(page)
    assert reader.addresses == []
    assert not {"script", "link", "img", "iframe"} & set(reader.tags)
    assert not re.search(r"url\(|@import|http", page)
