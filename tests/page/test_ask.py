"""From an empty library to an answer whose footnote shows the boxed sentence, and back to nothing."""

from __future__ import annotations

import io
from typing import Any

import pytest
from PIL import Image

from browsing import SAMPLES, ask
from serving import Running

QUESTION = "What does an estimate cost?"
SENTENCE = "An estimate is free of charge when the repair is ordered, and costs 40 euros otherwise."
LINE = (168, 118, 0)  # the border the server draws around a quoted sentence


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
    assert turn.locator(".answer").inner_text().replace("1", "").strip() == SENTENCE
    assert turn.locator(".steps summary").inner_text().startswith("Searched your documents, read")
    turn.locator(".reference button").hover()
    assert SENTENCE in page.locator(".popover").inner_text()

    turn.locator(".reference button").click()
    picture = page.locator(".panel .page-picture")
    page.locator(".page-picture[src^='blob:']").wait_for()
    picture.evaluate("(image) => image.decode()")
    assert picture.get_attribute("alt") == "Page 2 of repairs.pdf; the quoted words are boxed"
    assert turn.locator(".supported.lit").inner_text() == SENTENCE
    assert_boxed(fresh, picture.screenshot())

    page.keyboard.press("Escape")
    page.get_by_role("link", name="Library").click()
    page.locator(".library .document-row", has_text="repairs.pdf").click()
    page.locator(".panel").get_by_role("button", name="Delete").click()
    page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    page.get_by_text("No documents yet.").wait_for()
    assert fresh.client.get("/v1/documents").json()["documents"] == []


def assert_boxed(running: Running, shown: bytes) -> None:
    """The border stands around the words, where the server says they are, and nowhere else."""
    (document,) = running.client.get("/v1/documents").json()["documents"]
    text = running.client.get(f"/v1/documents/{document['id']}/text").json()["text"]
    start = text.index(SENTENCE)
    span = {"start": start, "end": start + len(SENTENCE)}
    boxes = running.client.get(f"/v1/documents/{document['id']}/pages/2/boxes", params=span).json()["boxes"]
    image = Image.open(io.BytesIO(shown)).convert("RGB")
    assert len(boxes) == 2, "the sentence stands on two lines"
    amber = {at for at in _places(image) if _is_amber(image.getpixel(at))}
    for left, top, right, bottom in boxes:
        middle_x, middle_y = (left + right) / 2 * image.width, (top + bottom) / 2 * image.height
        assert any(_near(at, (middle_x, top * image.height)) for at in amber), "a border above the words"
        assert any(_near(at, (middle_x, bottom * image.height)) for at in amber), "a border below the words"
        assert any(_near(at, (left * image.width, middle_y)) for at in amber), "a border before the words"
        assert any(_near(at, (right * image.width, middle_y)) for at in amber), "a border after the words"
    slack = 6
    for x, y in amber:
        assert any(
            box[0] * image.width - slack <= x <= box[2] * image.width + slack
            and box[1] * image.height - slack <= y <= box[3] * image.height + slack
            for box in boxes
        ), "a border where no quoted words are"


def _places(image: Image.Image) -> list[tuple[int, int]]:
    return [(x, y) for y in range(image.height) for x in range(image.width)]


def _is_amber(pixel: tuple[int, int, int]) -> bool:
    return all(abs(one - other) < 45 for one, other in zip(pixel, LINE, strict=True))


def _near(one: tuple[int, int], other: tuple[float, float]) -> bool:
    return abs(one[0] - other[0]) <= 6 and abs(one[1] - other[1]) <= 6


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
    turn.locator(".reference button").first.click()
    page.locator(f".panel {shown}").first.wait_for()
    assert page.locator(".panel-head h2").inner_text() == file
    assert marked in " ".join(page.locator(".panel mark").first.inner_text().split())
    assert page.locator(".panel mark").first.is_visible()


def test_code_has_line_numbers_and_tables_their_row(fresh: Running, watch: Any) -> None:
    fresh.add("hours.py", 'def weekly_hours() -> int:\n    """A full week has 38 hours."""\n    return 38\n')
    fresh.add("cities.csv", "city,population\nLisbon,545000\nPorto,231800\n")
    page = watch(fresh).open("#/search")
    for query, place, words in (
        ("full week hours", "li.marked .line-number", "1"),
        ("Porto population", "tr", "Porto"),
    ):
        page.locator("#view-search input").fill(query)
        page.keyboard.press("Enter")
        page.locator(".hit").first.click()
        page.locator(".panel .text-viewer").wait_for()
        assert words in " ".join(page.locator(f".panel {place}").all_inner_texts())
        page.keyboard.press("Escape")


def test_sources_show_what_each_leg_gave_and_can_be_narrowed(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "What does an estimate cost?")
    turn.get_by_role("button", name="Sources").click()
    panel = page.locator(".panel")
    assert "passages from" in panel.locator(".panel-sub").inner_text()
    assert "words #1" in panel.locator(".score-line").first.inner_text()
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


def test_the_inspector_joins_the_legs_to_the_order(server: Running, watch: Any) -> None:
    page = watch(server).open("#/search")
    page.locator("#view-search input").fill("notice period")
    page.keyboard.press("Enter")
    page.locator(".inspector").wait_for()
    assert page.locator(".hit mark").first.inner_text().lower() == "notice"
    found = server.client.post("/v1/search", json={"query": "notice period", "limit": 12, "per_document": 12}).json()
    first = found["hits"][:10]
    lines = sum(
        bool(hit["scores"][leg] and hit["scores"][leg]["rank"]) for hit in first for leg in ("lexical", "dense")
    )
    assert page.locator(".inspector-line").count() == lines
    page.locator(".inspector-node.main").first.hover()
    assert "Words rank 1" in page.locator(".inspector-said").inner_text()
