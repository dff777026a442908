"""Documents are read on the page: pages with their words over them, texts set from blocks, passages by address."""

from __future__ import annotations

import io
from typing import Any

from docx import Document as WordDocument
from fpdf import FPDF

from browsing import ask, violations, wait_until_idle
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


def pdf_of(*pages: str, password: str = "") -> bytes:
    pdf = FPDF()
    pdf.set_font("helvetica", size=14)
    for words in pages:
        pdf.add_page()
        if words:
            pdf.cell(text=words)
        else:
            pdf.rect(20, 20, 100, 100, style="F")
    if password:
        pdf.set_encryption(owner_password="owner", user_password=password)
    return bytes(pdf.output())


def test_a_pdf_with_a_password_is_opened_on_the_page(fresh: Running, watch: Any) -> None:
    watched = watch(fresh)
    watched.expected = ("422",)  # the wrong password
    page = watched.open("#/library")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    content = pdf_of("The safe is opened with a brass key.", password="sesame")
    chooser.value.set_files([{"name": "safe.pdf", "mimeType": "application/pdf", "buffer": content}])
    field = page.get_by_label("Password of safe.pdf")
    field.fill("guessed")
    field.press("Enter")
    page.get_by_text("The password does not open safe.pdf.").wait_for()
    assert violations(page) == []
    field.fill("sesame")
    page.get_by_role("button", name="Open", exact=True).click()
    page.locator(".document-row", has_text="safe.pdf").wait_for()
    page.locator(".document-row", has_text="safe.pdf").click()
    page.locator(".page-words .line", has_text="brass key").wait_for()


def test_a_page_without_text_says_so_and_what_helps(fresh: Running, watch: Any) -> None:
    fresh.client.post("/v1/documents", files={"file": ("scan.pdf", pdf_of("The first page has words.", ""))})
    wait_until_idle(fresh)
    watched = watch(fresh)
    page = watched.page
    status = fresh.client.get("/v1/status").json()
    page.route("**/v1/status", lambda route: route.fulfill(json={**status, "recognises_text": True}))
    watched.open(f"#/d/{id_of(fresh, 'scan.pdf')}")
    page.get_by_label("Page", exact=True).fill("2")
    page.keyboard.press("Enter")
    second = page.locator(".page-sheet[data-page='2']")
    second.get_by_text("This page has no text").wait_for()
    assert page.locator(".page-sheet[data-page='1'] .page-without").count() == 0
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        second.get_by_role("button", name="Read it by OCR").click()
    assert sent.value.post_data_json == {"reindex": True}
    page.unroute("**/v1/status")
    page.reload()
    page.get_by_label("Page", exact=True).fill("2")
    page.keyboard.press("Enter")
    second.get_by_text("With the extra footnotes[ocr]").wait_for()


def test_a_message_has_its_head_once(fresh: Running, watch: Any) -> None:
    head = "From: Ann <ann@example.org>\nTo: Bob <bob@example.org>\nSubject: Delivery\nContent-Type: text/plain\n\n"
    document_id = fresh.add("delivery.eml", f"{head}The strings arrive on Friday.\n")
    page = watch(fresh).open(f"#/d/{document_id}")
    page.locator(".panel .mail-head").wait_for()
    said = page.locator(".panel-body").inner_text()
    assert said.count("ann@example.org") == 1 and "The strings arrive on Friday." in said
    text = fresh.client.get(f"/v1/documents/{document_id}/text").json()["text"]
    start = text.index("ann@example.org")
    page.goto(f"{fresh.address}/?again#/d/{document_id}?span={start}-{start + 15}")
    assert "ann@example.org" in page.locator(".panel mark.current").first.inner_text(), "what is looked for is shown"


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
    turn = ask(page, "How many coats are usual for a violin, and how long do they harden?")
    first, second = (one.inner_text() for one in turn.locator(".supported").all())
    assert turn.locator(".reference a").count() == 2
    for current, other in ((first, second), (second, first)):
        page.keyboard.press("n")
        page.locator(".panel mark.current", has_text=current[:20]).wait_for()
        assert said(page, "mark.current") == current and said(page, "mark.noted") == other
    strengths = [page.locator(f".panel {mark}").first.evaluate(BACKGROUND) for mark in ("mark.current", "mark.noted")]
    assert strengths[0] != strengths[1], "the current one is stronger"


BACKGROUND = "(mark) => getComputedStyle(mark).backgroundColor"


def said(page: Any, mark: str) -> str:
    """The marked words as one line."""
    return " ".join(" ".join(page.locator(f".panel {mark}").all_inner_texts()).split())


def test_a_name_after_an_at_sign_narrows_the_question(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator(".shelf-row").first.wait_for()
    page.locator("#question").press_sequentially("What does it cost? @repa")
    page.locator(".mentions li", has_text="repairs.pdf").wait_for()
    page.keyboard.press("Enter")
    assert page.locator(".composer .chip").inner_text() == "repairs.pdf"
    assert page.locator("#question").input_value() == "What does it cost? "
    page.get_by_text("1 document to answer from").wait_for()
    page.keyboard.press("Enter")
    page.locator(".turn .scope-note", has_text="Limited to repairs.pdf").wait_for()
    page.locator('.turn[aria-busy="false"]').wait_for()
    page.locator(".turn").get_by_role("button", name="Sources").click()
    assert "1 document" in page.locator(".panel-sub").inner_text()
    page.reload()
    page.locator(".turn .scope-note", has_text="Limited to repairs.pdf").wait_for()
    page.locator(".composer .chip", has_text="repairs.pdf").wait_for()  # what is asked next is asked of the same


def test_selected_words_are_asked_about_and_headings_lead_to_their_place(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator(".shelf-row", has_text="handbook.md").click()
    page.locator(".panel .prose p").first.wait_for()
    page.locator(".panel").get_by_role("button", name="Contents").click()
    heading = page.locator(".outline button").nth(1)
    name = heading.inner_text()
    heading.click()
    assert said(page, "mark.current") == name
    page.locator(".panel .prose p").first.select_text()
    page.get_by_role("button", name="Ask about it").click()
    assert page.locator("#question").input_value().startswith("“")
    assert page.locator(".composer .chip").inner_text() == "handbook.md"


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
    page.get_by_role("button", name="Show the text after this").click()
    page.get_by_role("button", name="Show the text before this").wait_for()
    page.get_by_label("Find in this document").fill("paragraph 1499")
    page.keyboard.press("Enter")
    page.locator(".panel mark.current", has_text="Paragraph 1499").wait_for()
