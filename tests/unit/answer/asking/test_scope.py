"""Which report a question means: by whose it is, and by its period."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from footnotes.answer.asking.scope import Report, documents_meant, names_asked, of_the_latest_quarter
from footnotes.library import Library
from footnotes.settings import Settings

REPORTS = [
    ("a3", "2022 Q3 AAA.pdf", "Apex Inc., Form 10-Q, June 25, 2022"),
    ("a1", "2023 Q1 AAA.pdf", "Apex Inc., Form 10-Q, December 31, 2022"),
    ("a2", "2023 Q2 AAA.pdf", "Apex Inc., Form 10-Q, April 1, 2023"),
    ("b2", "BOLT_2023Q2_10Q.pdf", "BOLT CORPORATION, Form 10-Q, July 30, 2023"),
    ("b", "BOLT_2023_10K.pdf", "BOLT CORPORATION, Form 10-K, December 31, 2023"),
    ("n", "notes.md", "Apex and how to climb it"),
]
DOCUMENTS = [Report(*each) for each in REPORTS]


@pytest.mark.parametrize(
    ("question", "meant"),
    [
        ("What was Apex's gross margin in its Q3 2022 10-Q?", {"a3"}),
        ("In the first quarter of 2023, how much did Apex spend?", {"a1"}),
        ("What does Apex say of leases in the most recent 10-Q?", {"a2"}),
        ("What tax rate did Apex report in its latest quarterly filing?", {"a2"}),
        ("How have Apex's sales changed over the reported quarters?", {"a1", "a2", "a3"}),
        ("How does the most recent quarter of Apex compare to previous ones?", {"a1", "a2", "a3"}),
        ("What are Bolt's total assets of FY2023?", {"b"}),
        ("What is Bolt's revenue of the second quarter of 2023?", {"b2"}),
        ("What is Bolt's revenue in 2019?", {"b", "b2"}),
        ("How do I climb?", set()),
        ("What was the revenue in 2023?", set()),
    ],
)
def test_a_report_is_meant_by_its_company_and_period(question: str, meant: set[str]) -> None:
    assert {each.id for each in documents_meant(question, DOCUMENTS)} == meant


def test_another_companys_report_does_not_answer(tmp_path: Path) -> None:
    said = "In the third quarter of {} {} repurchased shares of its common stock for {} billion dollars."
    with Library(tmp_path, settings=Settings(embedder="hashing")) as library:
        for year, name, amount in ((2022, "Apex", 19), (2023, "Apex", 21), (2023, "Bolt", 4)):
            text = f"# {name} Inc., Form 10-Q, September 30, {year}\n\n{said.format(year, name, amount)}"
            library.add_text(text, filename=f"{name.upper()}_{year}Q3_10Q.md")
        answer = library.ask("For how much did Apex repurchase shares, as told in its latest 10-Q?")
        assert {each.filename for each in answer.citations} == {"APEX_2023Q3_10Q.md"} and "21" in answer.answer
        assert any("APEX_2023Q3_10Q.md" in step.text for step in answer.steps)
        answer = library.ask("For how much did Bolt repurchase shares in Q3 2023?")
        assert "4 billion" in answer.answer and "21" not in answer.answer


def test_a_name_of_many_companies_means_none() -> None:
    alike = [replace(each, title=f"{each.title} Services") for each in DOCUMENTS]
    assert not documents_meant("What are Services?", alike)
    assert names_asked("What was Apex's margin in the Q3 2022 Form 10-Q, 10K or FY2022?") == {"apex"}
    assert "3m" in names_asked("What is the FY2018 margin of 3M?")


def test_the_quarter_of_a_report_is_the_latest_in_it() -> None:
    question = "In the first quarter of 2023, how much did Apex spend?"
    assert of_the_latest_quarter(question, {"a1"}) == "In the latest quarter, how much did Apex spend?"
    assert of_the_latest_quarter(question, {"a1", "a2"}) == question


def test_a_question_with_many_names_is_answered(tmp_path: Path) -> None:
    others = ", ".join(f"Firm{chr(97 + number % 26) * 3}{chr(97 + number // 26)}" for number in range(40))
    with Library(tmp_path, settings=Settings(embedder="hashing")) as library:
        text = "# Apex Inc., Form 10-Q, September 30, 2023\n\nApex repurchased shares for $21 billion."
        library.add_text(text, filename="APEX_2023Q3_10Q.md")
        answer = library.ask(f"For how much did Apex repurchase shares, unlike {others}?")
        assert answer.question


def test_a_company_with_many_reports_is_no_filter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnotes.store.filters.MAX_CONDITIONS", 20)
    monkeypatch.setattr("footnotes.answer.asking.run.MOST_MEANT", 8)
    with Library(tmp_path, settings=Settings(embedder="hashing")) as library:
        for number in range(14):
            text = f"# Apex Inc., Form 10-Q, September {number % 28 + 1}, 2023\n\nApex sold {number} lamps."
            library.add_text(text, filename=f"APEX_{number}_2023Q3_10Q.md")
        assert library.ask("How many lamps did Apex sell in Q3 2023?").citations
