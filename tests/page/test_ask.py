"""From an empty library to an answer whose footnote shows the boxed sentence, and back to nothing."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from browsing import SAMPLES, ask, wait_for
from serving import Running

QUESTION = "What does an estimate cost?"
SENTENCE = "An estimate is free of charge when the repair is ordered, and costs 40 euros otherwise."
LINE = (168, 118, 0)  # the border the server draws around a quoted sentence
SLACK = 6  # pixels of the picture as it is shown


def test_upload_ask_open_the_footnote_delete(fresh: Running, watch: Any) -> None:
    watched = watch(fresh)
    page = watched.open()
    page.get_by_text("The library is empty.").wait_for()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files(SAMPLES / "repairs.pdf")
    page.locator(".jobs", has_text="ready").wait_for()
    page.locator(".library .document-row", has_text="repairs.pdf").wait_for()

    page.get_by_role("link", name="Ask", exact=True).click()
    turn = ask(page, QUESTION)
    head, *rest = turn.locator(".answer").inner_text().splitlines()
    assert head == "How a repair goes › Estimate" and rest[0] == "repairs.pdf, p. 2"
    assert rest[-1].removesuffix("1") == SENTENCE
    assert turn.locator(".steps summary").inner_text().startswith("Searched your documents, read")
    turn.locator(".reference a").hover()
    assert SENTENCE in page.locator(".popover").inner_text()

    turn.locator(".reference a").click()
    picture = page.locator(".panel .page-sheet[data-page='2'] .page-picture")
    page.locator(".page-sheet[data-page='2'] .page-picture[src^='blob:']").wait_for()
    picture.evaluate("(image) => image.decode()")
    assert picture.get_attribute("alt") == "Page 2 of repairs.pdf; the quoted words are boxed"
    assert turn.locator(".supported.lit").inner_text() == SENTENCE
    assert_boxed(fresh, picture.screenshot())

    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    page.locator(".library .document-row", has_text="repairs.pdf").click()
    page.locator(".panel").get_by_role("button", name="Delete").click()
    page.get_by_text("No documents yet.").wait_for()
    assert len(fresh.client.get("/v1/documents").json()["documents"]) == 1, "there are ten seconds to undo it"
    page.get_by_role("button", name="Undo").click()
    row = page.locator(".library .document-row", has_text="repairs.pdf")
    row.get_by_role("checkbox").click()
    page.locator(".bulk").get_by_role("button", name="Delete").click()
    row.wait_for(state="detached")
    page.goto("about:blank")  # who leaves the page does not mean to undo
    wait_for(lambda: fresh.client.get("/v1/documents").json()["documents"] == [])


def assert_boxed(running: Running, shown: bytes) -> None:
    """The border stands around the words, where the server says they are, and nowhere else."""
    (document,) = running.client.get("/v1/documents").json()["documents"]
    text = running.client.get(f"/v1/documents/{document['id']}/text").json()["text"]
    start = text.index(SENTENCE)
    span = {"start": start, "end": start + len(SENTENCE)}
    boxes = running.client.get(f"/v1/documents/{document['id']}/pages/2/boxes", params=span).json()["boxes"]
    picture = np.asarray(Image.open(io.BytesIO(shown)).convert("RGB")).astype(int)
    height, width = picture.shape[:2]
    assert len(boxes) == 2, "the sentence stands on two lines"
    amber = np.argwhere(np.abs(picture - LINE).max(axis=2) < 45)[:, ::-1]
    pixels = [np.array(box) * (width, height, width, height) for box in boxes]
    for left, top, right, bottom in pixels:
        middle = ((left + right) / 2, (top + bottom) / 2)
        for edge in ((middle[0], top), (middle[0], bottom), (left, middle[1]), (right, middle[1])):
            assert (np.abs(amber - edge).max(axis=1) <= SLACK).any(), "a border on each side of the words"
    inside = [
        (amber >= (left - SLACK, top - SLACK)).all(axis=1) & (amber <= (right + SLACK, bottom + SLACK)).all(axis=1)
        for left, top, right, bottom in pixels
    ]
    assert np.logical_or.reduce(inside).all(), "a border where no quoted words are"


@pytest.mark.parametrize(
    ("question", "file", "shown", "marked"),
    [
        ("How long is the notice period?", "handbook.md", ".prose h4", "the notice period is three months to the end"),
        (
            "How many coats are usual for a violin?",
            "varnish.txt",
            ".prose.plain",
            "Twelve coats are usual for a violin.",
        ),
        ("Who approves moving house?", "handbook.md", "tr.marked", "moving house"),
    ],
)
def test_the_source_of_a_text_is_marked_in_its_own_form(
    server: Running, watch: Any, question: str, file: str, shown: str, marked: str
) -> None:
    page = watch(server).open()
    turn = ask(page, question)
    turn.locator(".reference a").first.click()
    page.locator(f".panel {shown}").first.wait_for()
    assert page.locator(".panel-head h2").inner_text() == file
    assert marked in " ".join(page.locator(".panel mark").first.inner_text().split())
    assert page.locator(".panel mark").first.is_visible()


def test_code_has_line_numbers_and_tables_their_row(fresh: Running, watch: Any) -> None:
    fresh.add("hours.py", 'def weekly_hours() -> int:\n    """A full week has 38 hours."""\n    return 38\n')
    fresh.add("cities.csv", "city,population\nLisbon,545000\nPorto,231800\n")
    page = watch(fresh).open("#/search")
    for query, shown, place, words in (
        ("full week hours", "weekly_hours", "li.marked .line-number", "1"),
        ("Porto population", "Porto", "tr", "Porto"),
    ):
        page.locator("#view-search input").fill(query)
        page.keyboard.press("Enter")
        page.locator(".hit", has_text=shown).first.click()  # that of the search before may still be there
        page.locator(".panel .text-viewer").wait_for()
        assert words in " ".join(page.locator(f".panel {place}").all_inner_texts())
        page.keyboard.press("Escape")


def test_source_has_colours_and_filters_can_be_taken_away(fresh: Running, watch: Any) -> None:
    code = '# The week <b>is</b> long.\ndef weekly_hours():\n    """A full\n    week."""\n    return "38"\n'
    fresh.add("hours.py", code)
    fresh.add("hours.txt", "A full week has 38 hours.")
    page = watch(fresh).open("#/search")
    page.locator("#view-search input").fill("full week language:python")
    page.keyboard.press("Enter")
    page.locator(".within button").wait_for()
    assert page.locator(".hit").count() == 1
    page.locator(".hit").first.click()
    page.locator(".panel .code-lines").wait_for()
    assert page.locator(".panel .is-comment").all_inner_texts() == ["# The week <b>is</b> long."]
    assert "def" in page.locator(".panel .is-keyword").all_inner_texts()
    assert page.locator(".panel .is-string").count() == 3  # the documentation stands on two lines
    lines = page.locator(".panel .code-lines code").all_text_contents()
    assert "\n".join(lines).rstrip() == code.rstrip()
    page.keyboard.press("Escape")
    page.locator(".within button").click()
    page.locator(".hit").nth(1).wait_for()
    assert page.locator("#view-search input").input_value() == "full week"
    assert page.locator(".within").count() == 0


def test_sources_show_what_each_leg_gave_and_can_be_narrowed(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "What does an estimate cost?")
    turn.get_by_role("button", name="Sources").click()
    panel = page.locator(".panel")
    assert "passages from" in panel.locator(".panel-sub").inner_text()
    assert "Words #1" in panel.locator(".score-line").first.inner_text()
    before = panel.locator(".passage").count()
    panel.get_by_label("Document").select_option(label="repairs.pdf")
    assert 0 < panel.locator(".passage").count() < before
    panel.get_by_role("button", name="ask only this").click()
    assert page.locator(".chip").inner_text() == "repairs.pdf"
    ask(page, "How many coats are usual for a violin?")
    assert page.locator(".turn").last.locator(".answer").inner_text().startswith("Nothing in these documents")


def test_copied_with_footnotes_as_markdown(server: Running, watch: Any) -> None:
    watched = watch(server, permissions=["clipboard-read", "clipboard-write"])
    page = watched.open()
    turn = ask(page, QUESTION)
    turn.get_by_role("button", name="Copy").click()
    turn.get_by_text("Copied").wait_for()
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{SENTENCE}[^1]\n\n[^1]: repairs.pdf, p. 2: “{SENTENCE}”"


def test_pages_are_turned_and_the_original_is_downloaded(server: Running, watch: Any, tmp_path: Path) -> None:
    page = watch(server).open()
    ask(page, QUESTION).locator(".reference a").click()
    page.get_by_label("Page", exact=True).fill("1")
    page.keyboard.press("Enter")
    page.locator(".page-picture[alt='Page 1 of repairs.pdf']").wait_for()
    assert "on another page" in page.locator(".page-viewer").inner_text()
    with page.expect_download() as download:
        page.locator(".source-foot").get_by_role("button", name="Download").click()
    download.value.save_as(tmp_path / "original")
    assert download.value.suggested_filename == "repairs.pdf"
    assert (tmp_path / "original").read_bytes() == (SAMPLES / "repairs.pdf").read_bytes()


def test_the_inspector_joins_the_legs_to_the_order(server: Running, watch: Any) -> None:
    page = watch(server).open("#/search")
    page.locator("#view-search input").fill("notice period")
    page.keyboard.press("Enter")
    page.get_by_text("How these were ranked").click()
    page.locator(".inspector").wait_for()
    assert {mark.lower() for mark in page.locator(".hit mark").all_inner_texts()} >= {"notice", "period"}
    found = server.client.post("/v1/search", json={"query": "notice period", "limit": 12, "per_document": 12}).json()
    first = found["hits"][:10]
    lines = sum(
        bool(hit["scores"][leg] and hit["scores"][leg]["rank"]) for hit in first for leg in ("lexical", "dense")
    )
    assert page.locator(".inspector-line").count() == lines
    page.locator(".inspector-node.main").first.hover()
    assert "Words rank 1" in page.locator(".inspector-said").inner_text()
    title = page.locator(".inspector-title").first.bounding_box()
    assert 10 < title["height"] < 20, "its words are no larger than those around it"


def test_a_folder_is_taken_in_with_its_own_paths(fresh: Running, watch: Any, tmp_path: Path) -> None:
    """Two files of one name in two folders are two documents; hidden files stay where they are."""
    for name in ("a/note.txt", "b/note.txt", "b/.hidden.txt"):
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(f"This is {name}.")
    page = watch(fresh).open("#/library")
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add a folder").click()
    chooser.value.set_files(tmp_path / "notes")
    page.locator(".library .document-row", has_text="note.txt").nth(1).wait_for()
    sources = [row["source"] for row in fresh.client.get("/v1/documents").json()["documents"]]
    assert sorted(sources) == ["upload:notes/a/note.txt", "upload:notes/b/note.txt"]


def test_files_dropped_anywhere_are_taken_in(fresh: Running, watch: Any) -> None:
    page = watch(fresh).open()
    page.get_by_text("The library is empty.").wait_for()
    page.evaluate(
        """() => { const held = new DataTransfer();
        held.items.add(new File(['Ravens remember faces.'], 'ravens.txt', { type: 'text/plain' }));
        for (const name of ['dragenter', 'dragover', 'drop']) {
          document.body.dispatchEvent(new DragEvent(name, { dataTransfer: held, bubbles: true, cancelable: true }));
        } }"""
    )
    page.locator(".library .document-row", has_text="ravens.txt").wait_for()
    page.get_by_role("link", name="Ask", exact=True).click()
    assert "Ravens remember faces." in ask(page, "What do ravens remember?").locator(".answer").inner_text()


def test_reindexing_and_collections(fresh: Running, watch: Any) -> None:
    fresh.add("ravens.txt", "Ravens remember faces.")
    page = watch(fresh).open("#/library")
    page.locator(".library-tools").get_by_role("button", name="Collection").click()
    page.get_by_role("dialog").get_by_label("Name").fill("birds")
    page.get_by_label("Instructions for answers").fill("Answer briefly.")
    page.get_by_role("button", name="Save").click()
    page.locator("#shelf").get_by_role("checkbox", name="birds").wait_for()
    rows = {row["name"]: row for row in fresh.client.get("/v1/collections").json()["collections"]}
    assert rows["birds"]["system_prompt"] == "Answer briefly."
    page.get_by_role("button", name="Everything").click()
    page.get_by_role("button", name="Reindex").click()
    page.get_by_role("dialog").get_by_role("button", name="Reindex").click()
    page.locator(".job", has_text="reindexed").wait_for()
