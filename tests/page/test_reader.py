"""Documents are read on the page: pages with their words over them, texts set from blocks, passages by address."""

from __future__ import annotations

import io
from typing import Any

from docx import Document as WordDocument

from browsing import ask, wait_until_idle
from serving import Running


def id_of(running: Running, filename: str) -> str:
    found = running.client.get("/v1/documents").json()["documents"]
    return str(next(document["id"] for document in found if document["filename"] == filename))


def test_a_click_opens_a_pdf_to_read_select_find_and_zoom(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator("#shelf .shelf-row", has_text="repairs.pdf").click()
    page.locator(".page-sheet").nth(1).wait_for()
    assert page.locator(".page-sheet").count() == 2, "the pages stand one below the other"
    first = page.locator(".page-sheet[data-page='1'] .page-words")
    first.locator(".line").first.wait_for()
    assert "Every new instrument carries a warranty of five years" in " ".join(first.inner_text().split())
    selected = page.evaluate(
        """() => { const line = [...document.querySelectorAll('.page-words .line')]
            .find((one) => one.textContent.includes('Every new instrument'));
            getSelection().selectAllChildren(line); return getSelection().toString(); }"""
    )
    assert selected.startswith("Every new instrument carries"), "words are copied as words"
    # Each word of the layer stands where the server says it is.
    off = page.evaluate(
        """async () => { const sheet = document.querySelector(".page-sheet[data-page='1']");
            const frame = sheet.getBoundingClientRect();
            return [...sheet.querySelectorAll('.line')].map((line) => {
              const box = line.getBoundingClientRect();
              return box.left >= frame.left - 1 && box.right <= frame.right + 1; }).every(Boolean); }"""
    )
    assert off
    page.get_by_label("Find in this document").fill("Soundpost")
    page.keyboard.press("Enter")
    page.locator(".page-words .sought").first.wait_for()
    assert page.locator(".page-words .sought").first.inner_text().lower() == "soundpost"
    assert page.get_by_label("Page", exact=True).input_value() == "2"
    before = page.locator(".page-sheet").first.bounding_box()["width"]
    page.get_by_role("button", name="Larger (+)").click()
    assert page.locator(".page-sheet").first.bounding_box()["width"] > before * 1.2
    page.get_by_role("button", name="Fit width").click()
    assert abs(page.locator(".page-sheet").first.bounding_box()["width"] - before) < 2
    page.get_by_label("Find in this document").fill("nowhere to be found")
    page.keyboard.press("Enter")
    page.get_by_text("not found", exact=True).wait_for()


def test_a_passage_has_an_address(server: Running, watch: Any) -> None:
    text = server.client.get(f"/v1/documents/{id_of(server, 'handbook.md')}/text").json()["text"]
    start = text.index("The first six months")
    page = watch(server).open(f"#/d/{id_of(server, 'handbook.md')}?span={start}-{start + 40}")
    page.locator(".panel mark.current").wait_for()
    assert page.locator(".panel mark.current").inner_text() == text[start : start + 40]
    pdf = id_of(server, "repairs.pdf")
    words = server.client.get(f"/v1/documents/{pdf}/text").json()["text"]
    at = words.index("An estimate is free of charge")
    page.goto(f"{server.address}/#/d/{pdf}?span={at}-{at + 29}")
    page.locator(".page-sheet[data-page='2'] .page-picture[alt*='boxed']").wait_for()


def test_all_footnotes_of_an_answer_are_marked_and_the_current_one_stronger(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "What are the notice period and the probation period in the handbook?")
    turn.locator(".reference button").first.wait_for()
    markers = {row.get_attribute("data-marker") for row in turn.locator(".reference button").all()}
    turn.locator(".reference button").first.click()
    page.locator(".panel mark.current, .panel tr.marked").first.wait_for()
    if len(markers) > 1:
        assert page.locator(".panel mark.noted, .panel .noted").count() >= 1


def test_a_word_document_is_set_from_its_blocks(fresh: Running, watch: Any) -> None:
    made = WordDocument()
    made.add_heading("Rules of the house", 1)
    made.add_paragraph("Guests may stay for three nights.")
    made.add_paragraph("Bring towels", style="List Bullet")
    made.add_paragraph("Bring <b>soap</b>", style="List Bullet")
    made.add_paragraph("مرحبا بكم في البيت الكبير")
    table = made.add_table(rows=2, cols=2)
    for row, (name, price) in enumerate((("Room", "Price"), ("Garden", "40 euros"))):
        table.cell(row, 0).text, table.cell(row, 1).text = name, price
    held = io.BytesIO()
    made.save(held)
    fresh.client.post("/v1/documents", files={"file": ("rules.docx", held.getvalue())}).raise_for_status()
    wait_until_idle(fresh)
    page = watch(fresh).open("#/library")
    page.locator(".library .document-row", has_text="rules.docx").click()
    prose = page.locator(".panel .prose")
    prose.locator("h2", has_text="Rules of the house").wait_for()
    assert [item.inner_text() for item in prose.locator("li").all()] == ["Bring towels", "Bring <b>soap</b>"]
    assert prose.locator("th").first.inner_text() == "Room"
    arabic = prose.locator("p", has_text="مرحبا")
    assert arabic.evaluate("(line) => getComputedStyle(line).direction") == "rtl"
    page.get_by_label("Find in this document").fill("garden")
    page.keyboard.press("Enter")
    page.locator(".panel tr.marked", has_text="40 euros").wait_for()


def test_a_long_text_is_read_on(fresh: Running, watch: Any) -> None:
    lines = "\n\n".join(f"Paragraph {n} speaks of the harbour and of number {n * 37}." for n in range(1_500))
    fresh.add("long.txt", lines)
    page = watch(fresh).open("#/library")
    page.locator(".library .document-row", has_text="long.txt").click()
    page.locator(".panel .prose", has_text="Paragraph 0 speaks").wait_for()
    page.get_by_role("button", name="Read on").click()
    page.get_by_role("button", name="Read what stands before this").wait_for()
    page.get_by_label("Find in this document").fill("paragraph 1499")
    page.keyboard.press("Enter")
    page.locator(".panel mark.current", has_text="Paragraph 1499").wait_for()
