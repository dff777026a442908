# ruff: noqa: E501 (questions read better whole)
"""Other names of what is asked about, and instructions that are no part of the question."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.answer.asking.names import (
    named_documents,
    other_names,
    use_document_names,
    without_fiscal,
    without_instructions,
)
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.hits import make_hit


@pytest.mark.parametrize(
    ("question", "text", "known", "expected"),
    [
        ("Is MFA required?", "For all staff multi-factor authentication is mandatory.", False, "multi-factor authentication"),
        ("Is MFA required?", "We use multi-factor authentication (MFA).", True, "multi-factor authentication"),
        ("What does the WHO say?", "The World Health Organization (WHO) said so.", True, "World Health Organization"),
        ("What is SSE?", "SSE (Server-Sent Events) is a way to stream.", True, "Server-Sent Events"),
        ("What is PDF?", "Portable things are fine. PDF is a format.", True, None),
    ],
)  # fmt: skip
def test_letters_stand_for_words_of_the_documents(question: str, text: str, known: bool, expected: str | None) -> None:
    found = other_names(question, [text], lambda term: 0.005 if known else 0.0)
    assert (
        found.get(question.split()[-1].strip("?") if "SSE" in question or "PDF" in question else next(iter(found), ""))
        == expected
    )


def test_a_users_list_names_things_otherwise() -> None:
    found = other_names(
        "How much did JnJ earn?", ["Johnson & Johnson earned much."], None, [["JnJ", "Johnson & Johnson"]]
    )
    assert use_document_names("How much did JnJ earn?", found) == "How much did Johnson & Johnson earn?"


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (
            "What is the FY2018 capital expenditure amount for 3M? Give a response to the question by relying on the details shown in the cash flow statement.",
            "What is the FY2018 capital expenditure amount for 3M?",
        ),
        (
            "Assume that you are a public equities analyst. Answer the following question by primarily using information that is shown in the balance sheet: what is the year end FY2018 net PPNE for 3M? Answer in USD billions.",
            "what is the year end FY2018 net PPNE for 3M? Answer in USD billions.",
        ),
        ("How do I answer a question in the forum?", "How do I answer a question in the forum?"),
    ],
)  # fmt: skip
def test_instructions_are_no_part_of_the_question(question: str, expected: str) -> None:
    assert without_instructions(question) == expected


@pytest.mark.parametrize(
    "written", ["Q2 of FY2024", "Q2 FY 2024", "FY2024Q2", "Q2'2024", "Q22024", "2024 Q2", "Q2 of fiscal 2024"]
)
def test_quarters_are_named_as_reports_name_them(written: str) -> None:
    assert without_fiscal(f"Did sales rise in {written}?") == "Did sales rise in second quarter 2024?"


def test_fiscal_years_are_years() -> None:
    assert without_fiscal("capital expenditure in FY2018 and FY 19") == "capital expenditure in 2018 and 2019"


def test_letters_in_a_question_find_the_words_they_stand_for(tmp_path: Path) -> None:
    (tmp_path / "rules.md").write_text(
        "# Access\n\nFor all staff, multi-factor authentication is mandatory.\n\nDoors are locked at ten.\n"
    )
    (tmp_path / "lunch.md").write_text("# Lunch\n\nLunch is served at noon and costs four euros.\n")
    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(tmp_path / "rules.md")
        library.add(tmp_path / "lunch.md")
        answer = library.ask("Is MFA required for staff?")
        assert answer.kind == "answer"
        assert "multi-factor authentication is mandatory" in answer.citations[0].quote
        assert any("multi-factor authentication" in step.text for step in answer.steps)


def test_letters_that_the_documents_use_themselves_stay_as_they_are() -> None:
    text = "CORS or Cross-Origin Resource Sharing (CORS) is about origins."
    assert other_names("What is the default max_age for CORS?", [text], lambda term: 0.05) == {}


def test_a_name_written_as_one_word_in_a_file_name_names_the_document() -> None:
    hits = [make_hit("Sales fell.", document="BESTBUY_2023_10K.pdf"), make_hit("Sales rose.", document="ACME_2023.pdf")]
    assert named_documents("Did Best Buy's sales fall?", hits) == {hits[0].document_id}


def test_a_name_that_other_documents_speak_of_names_no_document() -> None:
    hits = [make_hit("How to run it.", document="garden-cli.md"), make_hit("Garden is fast.", document="speed.md")]
    assert named_documents("Why is Garden fast?", hits) == set()


def test_a_report_that_the_first_search_missed_is_found_by_its_name(tmp_path: Path) -> None:
    pages = {
        "ACME_2023_EARNINGS.txt": "Acme filing of July. " * 12,
        "ACME_2022_8K.txt": "On the first day the substitute issuer took over all covenants of the former issuer.",
        "OTHER_2022.txt": "Another firm filed nothing. " * 4,
    }
    with Library(tmp_path / "library", settings=Settings(embedder="hashing", answer_passages=2)) as library:
        for name, text in pages.items():
            library.add_text(text, filename=name)
        library.settle()
        answer = library.ask("What was in ACME's filing of July on the issuer?")
    assert "ACME_2022_8K.txt" in {hit.filename for hit in answer.hits}
