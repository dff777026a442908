"""What a document is called, and what is known of its author and dates, in every format that states them."""

from __future__ import annotations

import io
from pathlib import Path

from footnotes.parse import Source
from footnotes.parse.open import parse_document
from footnotes.parse.outline import document_title
from footnotes.parse.pdf import cover_title, filing_title
from footnotes.parse.sniff import sniff
from footnotes.types import Part, Report
from format_samples import sample


def read(folder: Path, name: str, content: bytes) -> tuple[str, Report]:
    path = folder / name
    path.write_bytes(content)
    items = list(parse_document(Source(path, name, sniff(path, name).mime)))
    first, report = items[0], items[-1]
    assert isinstance(first, Part) and isinstance(report, Report)
    return document_title(name, first), report


def test_front_matter_states_title_author_and_dates(tmp_path: Path) -> None:
    content = (
        b"---\ntitle: The Guide\nauthors: [Ann, Bo]\ndate: 2024-05-06\nlastmod: 2024-06-01\n---\n# Chapter\n\nText.\n"
    )
    title, report = read(tmp_path, "guide.md", content)
    assert title == report.title == "The Guide"
    assert report.metadata["author"] == ["Ann", "Bo"]
    assert (report.metadata["created"], report.metadata["modified"]) == ("2024-05-06", "2024-06-01")


def test_a_page_without_a_heading_has_the_title_of_its_head(tmp_path: Path) -> None:
    page = (
        "<html><head><title>Prices</title><meta name=author content=Ann></head><body>{}<p>Ten euros.</p></body></html>"
    )
    title, report = read(tmp_path, "p.html", page.format("").encode())
    assert title == "Prices" and report.metadata["author"] == "Ann"
    assert read(tmp_path, "p.html", page.format("<h1>Our prices</h1>").encode())[0] == "Our prices"


def test_office_files_state_title_author_and_dates(tmp_path: Path) -> None:
    import docx

    document = docx.Document()
    document.core_properties.title, document.core_properties.author = "Plan", "Ann"
    document.add_paragraph("The plan is to wait.")
    file = io.BytesIO()
    document.save(file)
    title, report = read(tmp_path, "x.docx", file.getvalue())
    assert title == "Plan" and report.metadata["author"] == "Ann" and report.metadata["created"]


def test_a_workbook_states_title_and_author(tmp_path: Path) -> None:
    import xlsxwriter

    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as book:
        book.set_properties({"title": "Leave", "author": "Ann"})
        book.add_worksheet("First").write_row(0, 0, ["Name", "Days"])
    title, report = read(tmp_path, "x.xlsx", file.getvalue())
    assert title == report.title == "Leave"
    assert report.metadata["author"] == "Ann" and report.metadata["created"] and report.metadata["sheets"] == 1


def test_a_book_is_called_by_its_own_title(tmp_path: Path) -> None:
    title, report = read(tmp_path, "x.epub", sample("a.epub"))
    assert title == report.title == report.metadata["title"]


def test_a_mail_is_called_by_its_subject(tmp_path: Path) -> None:
    content = (
        b"From: ann@example.com\nTo: bo@example.com\nSubject: Lunch\nDate: Mon, 6 May 2024 07:18:09 +0200\n\nAt noon?\n"
    )
    title, report = read(tmp_path, "x.eml", content)
    assert title == "Lunch" and report.metadata["author"] == "ann@example.com"
    assert report.metadata["created"] == "2024-05-06T07:18:09+02:00"


def test_a_file_that_states_nothing_is_called_by_its_name(tmp_path: Path) -> None:
    assert read(tmp_path, "notes of may.txt", b"just some words, and no more of them.")[0] == "notes of may"


def test_a_filing_is_called_by_who_filed_it_and_for_when() -> None:
    page = (
        "UNITED STATES\nSECURITIES AND EXCHANGE COMMISSION\nWashington, D.C. 20549\nFORM 10-Q\n(Mark One)\n"
        "For the quarterly period ended July 29, 2023\nOR\nCommission File Number: 1-9595\nBEST BUY CO., INC.\n"
        "(Exact name of registrant as specified in its charter)\nMinnesota\n"
    )
    assert filing_title(page) == "BEST BUY CO., INC., Form 10-Q, July 29, 2023"
    assert filing_title("A report\nFORM 10-Q is explained here.") is None


def test_boilerplate_is_no_title() -> None:
    headings = ["UNITED STATES SECURITIES AND EXCHANGE COMMISSION", "FORM 10-K", "Table of Contents", "3M COMPANY"]
    assert cover_title(headings) == "3M COMPANY"
    assert cover_title(["Contents"]) == "Contents" and cover_title([]) is None
    assert cover_title(["United States trade policy", "x"]) == "United States trade policy"
