"""Parts and boxes of PDF pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import NotFound
from footnotes.parse import PART_CHARACTERS
from footnotes.parse.pdf_boxes import boxes, find_quote, isolated_boxes
from pdfs import WORDS, new_pdf, page_of


def test_many_pages_come_in_parts(parse) -> None:
    pdf = new_pdf()
    for _ in range(90):
        page_of(pdf, WORDS * 28)
    parsed = parse("a.pdf", bytes(pdf.output()))
    assert len(parsed.parts) == 2
    assert len(parsed.parts[0].text) < PART_CHARACTERS * 1.1
    assert {block.page for block in parsed.blocks} == set(range(1, 91))


def test_boxes_of_a_span_stand_where_the_words_do(tmp_path: Path) -> None:
    pdf = new_pdf()
    pdf.add_page()
    pdf.text(20, 50, "Alpha beta gamma")
    pdf.text(20, 60, "delta epsilon")
    path = tmp_path / "a.pdf"
    path.write_bytes(bytes(pdf.output()))
    span = find_quote(path, 1, "gamma\n delta")
    assert span is not None
    found = boxes(path, 1, *span)
    points = 72 / 25.4
    assert len(found.boxes) == 2
    gamma, delta = found.boxes
    assert gamma.left > 20 * points + 40
    assert delta.left == pytest.approx(20 * points, abs=2)
    for box, baseline in ((gamma, 50), (delta, 60)):
        assert box.bottom < found.height - baseline * points < box.top
    assert find_quote(path, 1, "not there") is None
    isolated = isolated_boxes(path, 1, *span)
    assert [tuple(box) for box in isolated.boxes] == [pytest.approx(tuple(box)) for box in found.boxes]
    with pytest.raises(NotFound):
        isolated_boxes(path, 2, *span)
