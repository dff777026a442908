"""Writes samples/repairs.pdf. Run it after changing the text; the PDF is kept so that the demo needs no PDF writer."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from fpdf import FPDF

PAGES = [
    (
        "Repairs and warranty",
        [
            (
                "What is covered",
                "Every new instrument carries a warranty of five years from the day of delivery. It covers open seams, "
                "cracks that were not caused by a blow, and a neck that has moved. Strings, bow hair and the bridge "
                "are wearing parts and are not covered.",
            ),
            (
                "What is not covered",
                "Damage from heat, from damp or from a fall is not covered. An instrument left in a parked car in "
                "summer reaches 70 degrees within an hour; its glue softens at 60.",
            ),
        ],
    ),
    (
        "How a repair goes",
        [
            (
                "Estimate",
                "The workshop looks at the instrument within five working days and sends an estimate. An estimate is "
                "free of charge when the repair is ordered, and costs 40 euros otherwise.",
            ),
            (
                "Duration",
                "Gluing an open seam takes two days, a new bridge takes one week, and a soundpost crack about two "
                "months. A loan instrument is available for 15 euros a week.",
            ),
        ],
    ),
]


def main() -> None:
    pdf = FPDF(format="A4")
    pdf.set_creation_date(datetime(2026, 3, 1, tzinfo=UTC))
    pdf.set_title("Repairs and warranty")
    pdf.set_author("Larkspur Instruments")
    for title, sections in PAGES:
        pdf.add_page()
        pdf.set_font("helvetica", "B", 20)
        pdf.multi_cell(0, 12, title, new_x="LMARGIN", new_y="NEXT")
        for heading, body in sections:
            pdf.ln(4)
            pdf.set_font("helvetica", "B", 14)
            pdf.multi_cell(0, 9, heading, new_x="LMARGIN", new_y="NEXT")
            pdf.set_font("helvetica", "", 11)
            pdf.multi_cell(0, 6, body, new_x="LMARGIN", new_y="NEXT")
    pdf.output(str(Path(__file__).parent.parent / "samples" / "repairs.pdf"))


if __name__ == "__main__":
    main()
