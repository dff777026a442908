"""How things are set: what is written in signs is shown as words, and what is beside each other stays readable."""

from __future__ import annotations

import json
from typing import Any

import pytest

from browsing import ALONE, ask, until, wait_until_idle
from serving import Running

GUIDE = """# Fusion { #fusion }

**Fusion** joins the `lexical` and the *dense* ranking into one order of passages.

/// tip | Good to know

A constant of sixty keeps the first ranks from counting too much in fusion.

///

| method | of what | needs |
| --- | --- | --- |
| reciprocal | ranks | nothing |
"""
WIDE = "| Participants | Accommodation | Responsibilities | Recommendations |\n| --- | --- | --- | --- |\n" + (
    "| five musicians | guesthouse | instrument maintenance | straightforward |\n" * 3
)
PLACES = """() => [...document.querySelectorAll('.library .document-row .name, .folders .folder')]
  .map((one) => one.getBoundingClientRect()).map(({ x, y }) => [Math.round(x), Math.round(y)])"""
BROKEN_WORDS = """() => [...document.querySelectorAll('.panel table.data th, .panel .prose th')].filter((cell) => {
  const word = document.createRange(); word.selectNodeContents(cell.firstChild);
  return !cell.textContent.includes(' ') && word.getClientRects().length > 1 }).length"""


def test_hits_are_shown_in_words_and_not_in_signs(fresh: Running, watch: Any) -> None:
    fresh.add("guide.md", GUIDE)
    fresh.add("kwargs.py", "def fuse(**fusion):\n    return fusion | {}\n")
    page = watch(fresh).open("#/search?q=fusion")
    page.locator(".hit-group", has_text="kwargs.py").locator(".hit").first.wait_for()
    said = "\n".join(page.locator(".hit-group", has_text="guide.md").locator(".hit-text").all_inner_texts())
    assert "Fusion joins the lexical and the dense ranking" in said
    assert not any(sign in said for sign in ("**", "`", "|", "///", "{ #", "---")), said
    assert "reciprocal · ranks · nothing" in said
    assert "**fusion" in page.locator(".hit-group", has_text="kwargs.py").locator(".hit-text").first.inner_text()


def test_hits_in_restructuredtext_are_shown_without_directives_and_roles(fresh: Running, watch: Any) -> None:
    fresh.add(
        "moving.rst",
        "Moving\n======\n\n.. _moving:\n\nThe :doc:`importer </importer>` moves files, see :meth:`~Item.move`.\n\n"
        ".. image:: a.png\n   :alt: A picture\n\n.. note::\n\n   Moving with ``--all`` is slow.\n",
    )
    page = watch(fresh).open("#/search?q=moving files")
    page.locator(".hit").first.wait_for()
    said = "\n".join(page.locator(".hit-text").all_inner_texts())
    assert "The importer moves files, see Item.move." in said and "Moving with --all is slow." in said
    assert not any(sign in said for sign in ("====", "::", "`", "A picture")), said


def test_a_hit_that_begins_in_a_table_has_no_strokes(fresh: Running, watch: Any) -> None:
    rows = "".join(f"| method {n} | fusion of {n} ranks and their many reasons | `none` |\n" for n in range(300))
    fresh.add("methods.md", f"# Methods\n\n| name | what | needs |\n| --- | --- | --- |\n{rows}")
    page = watch(fresh).open("#/search?q=method 250 fusion")
    page.locator(".hit").first.wait_for()
    said = page.locator(".hit-text").all_inner_texts()
    assert "method 250 · fusion of 250 ranks and their many reasons · none" in "\n".join(said)
    assert not any("|" in text or "`" in text for text in said), said


@pytest.mark.parametrize(
    ("name", "text", "shown"),
    [
        ("notes.md", "# Notes\n\nA word.\n", ".prose p"),
        ("sum.py", "total = 1\n", "code"),
        ("a.csv", "a,b\n1,2\n", "td"),
    ],
)
def test_words_are_made_larger_and_smaller(fresh: Running, watch: Any, name: str, text: str, shown: str) -> None:
    document_id = fresh.add(name, text)
    page = watch(fresh).open(f"#/d/{document_id}")
    words = page.locator(f".panel .text-viewer {shown}").first
    words.wait_for()
    size = "(one) => parseFloat(getComputedStyle(one).fontSize)"
    usual = words.evaluate(size)
    page.keyboard.press("+")
    larger = words.evaluate(size)
    page.keyboard.press("-")
    page.keyboard.press("-")
    assert words.evaluate(size) < usual < larger


def test_signs_for_programs_are_not_read(fresh: Running, watch: Any) -> None:
    document_id = fresh.add("guide.md", GUIDE)
    page = watch(fresh).open(f"#/d/{document_id}")
    page.locator(".panel h2", has_text="Fusion").last.wait_for()
    said = page.locator(".panel .text-viewer .prose").inner_text()
    assert "{ #" not in said and "///" not in said
    assert page.locator(".aside-name").inner_text() == "Good to know"
    page.get_by_role("button", name="As written").click()
    assert "{ #fusion }" in page.locator(".panel .prose.plain").inner_text()


def test_a_number_never_stands_alone_on_a_line(server: Running, watch: Any) -> None:
    page = watch(server, viewport={"width": 320, "height": 780}).open()
    turn = ask(page, "How many coats are usual for a violin, and how long do they harden?")
    assert turn.locator(".reference a").count() == 2
    for width in (320, 360, 375, 390, 412):
        page.set_viewport_size({"width": width, "height": 780})
        assert page.evaluate(ALONE) == 0, width
    copied = page.evaluate(
        "() => (getSelection().selectAllChildren(document.querySelector('.answer')), String(getSelection()))"
    )
    assert "hardens for two weeks" in copied and "\u2060" not in copied, "nothing unseen is copied"


def test_a_footnote_is_an_address_too(server: Running, watch: Any) -> None:
    page = watch(server).open()
    link = ask(page, "What does an estimate cost?").locator(".reference a").first
    assert link.get_attribute("href").startswith("#/d/")
    before = page.url
    link.click()
    page.locator(".panel .quoted").wait_for()
    assert page.url == before, "a click leaves the conversation where it is"
    with page.context.expect_page() as opened:
        link.click(modifiers=["ControlOrMeta"])
    opened.value.locator(".page-picture[data-boxes]:not([data-boxes='0'])").wait_for()


def test_a_table_has_its_columns_below_their_heads(fresh: Running, watch: Any) -> None:
    rows = [
        "<th></th><th>2023</th><th>2024</th>",
        "<td>Sales</td><td>14</td><td></td>",
        "<td></td><td>3</td><td>4</td>",
    ]
    page = "<table>" + "".join(f"<tr>{row}</tr>" for row in rows) + "</table>"
    shown = {
        fresh.add("sales.html", f"<h1>Sales</h1>{page}<p>Thus.</p>"): [["", "2023", "2024"], ["Sales", "14", ""]],
        fresh.add("cities.csv", "city,people,area\nLisbon,545000,\n"): [["city", "people", "area"]],
    }
    opened = watch(fresh).open()
    for document_id, expected in shown.items():
        opened.goto(f"{fresh.address}/?{document_id}#/d/{document_id}")
        opened.locator(".panel th").first.wait_for()
        cells = opened.locator(".panel tr").evaluate_all(
            "(rows) => rows.map((row) => [...row.children].map((cell) => cell.textContent))"
        )
        assert cells[: len(expected)] == expected
        assert len({len(row) for row in cells}) == 1, "no row is shorter than another"
        assert opened.locator(".panel tr").first.locator("th").count() == 3


def test_words_of_a_table_stay_whole(fresh: Running, watch: Any) -> None:
    document_id = fresh.add("people.md", WIDE)
    page = watch(fresh, viewport={"width": 1280, "height": 720}).open(f"#/d/{document_id}")
    page.locator(".panel th").first.wait_for()
    assert page.evaluate(BROKEN_WORDS) == 0
    frame = page.locator(".panel .table-frame")
    assert frame.evaluate("(one) => one.scrollWidth > one.clientWidth"), "what is too wide is scrolled"


@pytest.mark.parametrize("width", [1280, 1360, 1600])
def test_the_list_stays_usable_beside_a_document(fresh: Running, watch: Any, width: int) -> None:
    for folder in ("guide/start", "guide/security", "api"):
        fresh.add("index.md", f"# {folder}\n\nText.\n", source=f"upload:docs/{folder}/index.md")
    wait_until_idle(fresh)
    page = watch(fresh, viewport={"width": width, "height": 800}, reduced_motion="reduce").open("#/library")
    page.locator(".library .document-row").nth(2).wait_for()
    names = page.locator(".library .document-row .name")
    assert len({names.nth(row).inner_text() for row in range(3)}) == 3, "one index.md is told from another"
    places = page.evaluate(PLACES)
    names.nth(1).click()
    page.locator(".panel .text-viewer").wait_for()
    panel = page.locator(".panel").bounding_box()
    for row in range(3):
        box = names.nth(row).bounding_box()
        assert box["x"] + box["width"] <= panel["x"] and box["width"] > 150
    assert page.evaluate(PLACES) == places, "nothing moves"


def test_the_palette_is_left_at_once(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator(".samples button").first.wait_for()
    page.keyboard.press("Control+k")
    page.keyboard.type("handb")
    page.keyboard.press("Escape")
    page.get_by_role("dialog").wait_for(state="detached")


def test_the_way_to_the_quote_makes_it_readable(server: Running, watch: Any) -> None:
    page = watch(server, viewport={"width": 1280, "height": 720}).open()
    ask(page, "What does an estimate cost?").locator(".reference a").first.click()
    page.get_by_role("button", name="To the quote").click()  # also while its page is on the way
    page.locator(".page-sheet[data-page='2'] .page-words .line").first.wait_for()
    high = "() => document.querySelector(\".page-sheet[data-page='2']\").clientHeight"
    until(page, f"({high})() > 900")
    boxes = page.locator(".page-sheet[data-page='2'] .line", has_text="An estimate is free").first
    seen, panel = boxes.bounding_box(), page.locator(".panel-body").bounding_box()
    assert seen["height"] >= 14
    assert panel["y"] < seen["y"] < panel["y"] + panel["height"]


def test_what_is_not_certain_is_marked(server: Running, watch: Any) -> None:
    page = watch(server).open()
    ask(page, "What does an estimate cost?")

    def doubted(route: Any) -> None:
        found = json.loads(route.fetch().text())
        answer = found["turns"][0]["answer"]
        answer.update(model="openai:any", uncertain=[answer["citations"][0]["answer_span"]])
        route.fulfill(json=found)

    page.route("**/v1/conversations/*", doubted)
    page.reload()
    page.locator(".unsupported.uncertain").wait_for()
    assert page.locator(".kind-note").inner_text() == "0 of 1 sentence proved."
    page.locator(".unsupported.uncertain").hover()
    assert "It is not certain" in page.locator(".popover").inner_text()
    assert page.locator(".reference a").count() == 1
