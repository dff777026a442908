"""PDF files made by tests."""

from __future__ import annotations

from fpdf import FPDF

WORDS = "The committee considered the proposal in detail and agreed that more information was needed. "


def new_pdf() -> FPDF:
    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    return pdf


def page_of(pdf: FPDF, *paragraphs: str) -> None:
    pdf.add_page()
    for paragraph in paragraphs:
        pdf.multi_cell(0, 6, paragraph)
        pdf.ln(6)
