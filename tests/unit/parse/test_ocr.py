from __future__ import annotations

import pytest
from fpdf import FPDF
from PIL import Image, ImageDraw, ImageFont

pytest.importorskip("rapidocr", reason="the extra ocr is not installed")


def picture(lines: list[str]) -> Image.Image:
    image = Image.new("RGB", (1200, 800), "white")
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((80, 80 + number * 80), line, fill="black", font=ImageFont.load_default(48))
    return image


def test_only_pages_without_text_are_recognised(parse) -> None:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=12)
    pdf.add_page()
    pdf.multi_cell(0, 6, "A page with a text layer.")
    pdf.add_page()
    pdf.image(picture(["The notice period is three months", "and begins on Monday"]), x=10, y=10, w=180)
    parsed = parse("scan.pdf", bytes(pdf.output()))
    assert "notice period is three months" in parsed.text
    assert (parsed.blocks[0].page, parsed.blocks[0].attributes) == (1, {})
    assert all(block.attributes["ocr"] is True for block in parsed.blocks if block.page == 2)
    assert parsed.report.pages_without_text == ()
    assert parsed.report.metadata["ocr_pages"] == [2]
    assert parsed.report.warnings == ("read by OCR: page 2 of 2",)
