from __future__ import annotations

import pytest
from fpdf.enums import AccessPermission, EncryptionMethod

from footnotes.errors import EmptyDocument, EncryptedDocument, ParseError
from pdfs import WORDS, new_pdf, page_of


def test_pages_paragraphs_and_headings(parse) -> None:
    pdf = new_pdf()
    pdf.set_title("Minutes")
    pdf.set_author("A. Clerk")
    pdf.add_page()
    pdf.set_font("Helvetica", size=20)
    pdf.cell(0, 12, "Annual meeting", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", style="B", size=11)
    pdf.cell(0, 10, "Opening", new_x="LMARGIN", new_y="NEXT")
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, WORDS * 4)
    page_of(pdf, WORDS * 3, "Second paragraph here. " + WORDS)
    parsed = parse("a.pdf", bytes(pdf.output()))
    assert parsed.report.pages == 2
    assert parsed.report.title == "Minutes"
    assert parsed.report.metadata["author"] == "A. Clerk"
    assert parsed.report.metadata["created"][:2] == "20"
    assert parsed.paths == [("Annual meeting",), ("Annual meeting", "Opening")]
    assert parsed.of("paragraph")[0] == (WORDS * 4).strip()
    assert [block.page for block in parsed.blocks if block.kind == "paragraph"] == [1, 2, 2]
    assert parsed.of("paragraph")[2].startswith("Second paragraph")


def two_columns(interleaved: bool) -> bytes:
    """Two columns of prose, written down column by column or line by line."""
    pdf = new_pdf()
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    lines = [
        (f"left{number} and some more words of the text", f"right{number} with other words of the text")
        for number in range(30)
    ]
    places = (
        [(side, number) for number in range(30) for side in (0, 1)]
        if interleaved
        else [(side, number) for side in (0, 1) for number in range(30)]
    )
    for side, number in places:
        pdf.text(15 + side * 95, 30 + number * 6, lines[number][side])
    return bytes(pdf.output())


@pytest.mark.parametrize("interleaved", [False, True])
def test_columns_are_read_one_after_the_other(parse, interleaved: bool) -> None:
    text = parse("a.pdf", two_columns(interleaved)).text
    found = [word for word in text.split() if word[:4] in ("left", "righ")]
    assert found == [f"left{number}" for number in range(30)] + [f"right{number}" for number in range(30)]


def test_rows_of_a_table_stay_rows(parse) -> None:
    pdf = new_pdf()
    pdf.add_page()
    rows = [
        ("Item", "2022", "2023"),
        *((f"Revenue part {number}", f"{number},100", f"{number},200") for number in range(12)),
    ]
    for column in range(3):  # written column by column, as some programs do
        for number, row in enumerate(rows):
            pdf.text(20 + column * 60, 40 + number * 7, row[column])
    parsed = parse("a.pdf", bytes(pdf.output()))
    assert parsed.of("table") == ["\n".join("\t".join(row) for row in rows)]
    assert parsed.blocks[0].attributes["header"] == "Item\t2022\t2023"


def test_words_divided_at_the_end_of_a_line_are_joined(parse) -> None:
    pdf = new_pdf()
    pdf.add_page()
    for number, line in enumerate(
        ["We need more infor-", "mation about the well-", "known matter, and the", "matter is re-", "solved."]
    ):
        pdf.text(20, 40 + number * 6, line)
    assert parse("a.pdf", bytes(pdf.output())).text == (
        "We need more information about the well-known matter, and the matter is resolved."
    )


def test_a_page_without_text_is_reported(parse) -> None:
    pdf = new_pdf()
    page_of(pdf, WORDS)
    pdf.add_page()
    pdf.rect(20, 20, 100, 100, style="F")
    page_of(pdf, WORDS)
    report = parse("a.pdf", bytes(pdf.output())).report
    assert report.pages_without_text == (2,)
    assert "page 2" in report.warnings[0]


def test_a_scan_is_empty_and_the_remedy_is_ocr(parse) -> None:
    pdf = new_pdf()
    pdf.add_page()
    pdf.rect(20, 20, 100, 100, style="F")
    with pytest.raises(EmptyDocument) as caught:
        parse("a.pdf", bytes(pdf.output()))
    assert "OCR" in caught.value.remedy


def test_a_password_is_named_as_the_cause(parse) -> None:
    pdf = new_pdf()
    page_of(pdf, WORDS)
    pdf.set_encryption("owner", "user", EncryptionMethod.RC4, AccessPermission.none())
    with pytest.raises(EncryptedDocument):
        parse("a.pdf", bytes(pdf.output()))


@pytest.mark.parametrize("content", [b"%PDF-1.7\n", b"%PDF-1.7\n" + b"garbage " * 500])
def test_a_damaged_file_is_a_parse_error(parse, content: bytes) -> None:
    with pytest.raises(ParseError):
        parse("a.pdf", content)


def test_repeated_headers_are_not_headings(parse) -> None:
    pdf = new_pdf()
    for number in range(6):
        pdf.add_page()
        pdf.set_font("Helvetica", style="B", size=16)
        pdf.cell(0, 10, f"Company report 2024 page {number + 1}", new_x="LMARGIN", new_y="NEXT")
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, WORDS * 6)
    assert parse("a.pdf", bytes(pdf.output())).paths == []


def test_nul_in_the_metadata_is_cleaned(parse) -> None:
    pdf = new_pdf()
    pdf.set_title("Ti\x00tle")
    page_of(pdf, WORDS)
    assert "\x00" not in (parse("a.pdf", bytes(pdf.output())).report.title or "")


# ── boxes
