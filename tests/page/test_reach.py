"""For everyone: by keyboard, by screen reader, in the dark, on a phone, with a key, with ten thousand documents."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from browsing import ask, until, violations
from libraries import HANDBOOK
from serving import Running

PAGE = Path(__file__).parents[2] / "src/footnotes/server/page"
FIRST_PAINT = 200_000
VIEWS = ("ask", "search", "library", "settings")


@pytest.mark.parametrize("locale", ["en", "ar"])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_axe_finds_nothing_in_any_state(server: Running, watch: Any, colours: str, locale: str) -> None:
    words = {} if locale == "en" else json.loads((PAGE / "words" / f"{locale}.json").read_text())

    def press(english: str, within: Any) -> None:
        within.get_by_role("button", name=words.get(english, english), exact=True).first.click()

    def look(state: str, shown: str) -> None:
        page.locator(shown).first.wait_for()
        found.extend((state, one) for one in violations(page))

    found: list[tuple[str, str]] = []
    page = watch(server, color_scheme=colours, locale=locale, reduced_motion="reduce").open()
    look("welcome", ".samples button")
    turn = ask(page, "How long is the notice period?")
    turn.locator(".reference a").first.click()
    look("source", ".panel mark.current")
    press("Sources", turn)
    look("passages", ".passage")
    page.keyboard.press("Escape")
    turn.locator(".steps summary").click()
    turn.locator(".judging button").first.click()
    look("judged, steps unfolded", ".judging input")
    turn.locator(".question-line button").focus()
    page.keyboard.press("Enter")
    look("edited", "textarea.edit")
    page.keyboard.press("Escape")
    turn = ask(page, "tungsten carbide boiling Neptune")
    look("nothing found", ".nearest:not([hidden])")
    press("Export", page.locator(".turn").first)
    look("export", "dialog")
    page.keyboard.press("Escape")
    page.locator("#question").fill("@hand")
    look("names", ".mentions li")
    page.locator("#question").fill("")
    page.keyboard.press("Escape")
    page.keyboard.press("Control+k")
    look("palette", ".palette li")
    page.keyboard.press("Escape")
    page.locator(".turn").first.focus()
    page.keyboard.press("?")
    look("keys", "dialog")
    page.keyboard.press("Escape")
    page.locator("#shelf input[type=checkbox]").first.click()
    look("narrowed", ".chip")
    page.goto(f"{server.address}/#/search")
    page.locator("#view-search input").fill("notice period")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    page.locator("#view-search summary").first.click()
    look("search", ".inspector")
    page.goto(f"{server.address}/#/library")
    page.locator(".library .document-row input").nth(1).click()
    look("chosen rows", ".bulk:not([hidden])")
    page.locator(".library .document-row", has_text="repairs.pdf").locator(".name").click()
    look("pages", ".panel .page-words .line")
    press("Details", page.locator(".panel"))
    look("report", ".panel .facts-list")
    page.locator(".panel .choice button").nth(1).click()
    look("chunks", ".panel .chunk")
    page.locator(".library .document-row", has_text="handbook.md").locator(".name").click()
    look("text", ".panel .text-viewer h2")
    page.goto(f"{server.address}/#/settings")
    look("settings", ".settings, #view-settings h2")
    press("New key", page)
    look("new key", "dialog")
    page.keyboard.press("Escape")
    press("Connect a model", page.locator("#view-settings"))
    look("connect a model", "dialog.connecting")
    assert found == []


FOCUS = "document.activeElement.closest('.reference') && document.activeElement.textContent"


def test_the_shelf_is_one_tab_stop_and_the_focus_never_falls_on_nothing(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator(".shelf-row").first.wait_for()
    stops = "[...document.querySelectorAll('#shelf :is(a, button, input)')].filter((one) => one.tabIndex === 0).length"
    assert page.evaluate(stops) == 1
    assert page.evaluate("document.activeElement.tagName") != "BODY"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#shelf')") is None, "the content has the focus first"
    page.locator("#views a").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.view") == "search"
    assert page.evaluate(stops) == 1
    page.locator(".shelf-row").first.click()
    page.locator(".panel .finder input").focus()
    page.evaluate("document.activeElement.remove()")
    until(page, "document.activeElement !== document.body")


def test_by_keyboard_alone(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.locator(".samples button").first.wait_for()
    page.keyboard.press("?")
    page.get_by_role("dialog").wait_for()
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "question"
    page.keyboard.type("How many coats are usual for a violin, and how long do they harden?")
    page.keyboard.press("Enter")
    page.locator(".turn-foot button").first.wait_for()
    page.keyboard.press("n")
    page.locator(".panel-sub", has_text="Footnote 1 of 2").wait_for()
    page.keyboard.press("n")
    page.locator(".panel-sub", has_text="Footnote 2 of 2").wait_for()
    page.keyboard.press("p")
    page.locator(".panel-sub", has_text="Footnote 1 of 2").wait_for()
    assert page.evaluate(FOCUS) == "1", "the focus follows"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.matches('.panel-body')"), "into the reader"
    page.locator(".panel mark.current").wait_for()
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.matches('.find-field')")
    page.keyboard.press("Escape")
    assert page.evaluate(FOCUS) == "1", "back at the footnote, the source still open"
    assert page.locator(".panel").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".panel").is_hidden()
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUS) == "2" and page.locator(".popover").is_visible()
    page.keyboard.press("g")
    page.keyboard.press("l")
    page.locator("#view-library h1").wait_for()
    page.keyboard.press("Control+k")
    page.get_by_role("combobox", name="Go to").fill("handb")
    page.keyboard.press("Enter")
    page.locator(".panel-head h2", has_text="Handbook").wait_for()
    assert page.evaluate("document.activeElement !== document.body")


def test_screen_readers_hear_the_answer_once_it_has_settled(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.evaluate(
        "window.heard = []; new MutationObserver(() => heard.push(document.getElementById('live').textContent))"
        ".observe(document.getElementById('live'), { childList: true, characterData: true, subtree: true })"
    )
    ask(page, "What does an estimate cost?")
    heard = page.evaluate("heard")
    assert (
        len(heard) == 1 and heard[0].startswith("Answer: An estimate is free of charge") and "1 footnote." in heard[0]
    )


def test_a_phone_needs_no_sideways_scrolling(server: Running, watch: Any) -> None:
    page = watch(server, viewport={"width": 360, "height": 740}, has_touch=True).open()
    wide = """() => [document.documentElement, ...document.querySelectorAll('.view, .panel-body')]
        .filter((one) => one.checkVisibility()).map((one) => one.scrollWidth - one.clientWidth + innerWidth)"""
    turn = ask(page, "What does an estimate cost?")
    turn.locator(".reference a").click()
    page.locator(".page-sheet[data-page='2'] .page-picture").wait_for()
    assert max(page.evaluate(wide)) <= 360
    assert page.evaluate("document.activeElement.closest('.panel') !== null"), "the focus goes along"
    page.get_by_role("button", name="Close").click()
    for view in VIEWS:
        page.locator(f"#views a[data-view={view}]").click()
        page.wait_for_timeout(150)
        assert max(page.evaluate(wide)) <= 360, view


def test_footnotes_stand_in_the_margin_beside_their_line(server: Running, watch: Any) -> None:
    page = watch(server, viewport={"width": 1500, "height": 900}).open()
    turn = ask(page, "How many coats are usual for a violin, and how long do they harden?")
    reference = turn.locator(".reference a").first.bounding_box()
    note = turn.locator(".note").first.bounding_box()
    answer = turn.locator(".answer").bounding_box()
    assert note["x"] > answer["x"] + answer["width"] and abs(note["y"] - reference["y"]) < 30
    second = turn.locator(".note").nth(1).bounding_box()
    assert second["y"] >= note["y"] + note["height"], "notes do not lie over each other"
    page.set_viewport_size({"width": 900, "height": 900})
    page.wait_for_timeout(200)
    assert (
        turn.locator(".note").first.bounding_box()["y"] > turn.locator(".answer").bounding_box()["y"] + answer["height"]
    )


def test_a_key_is_asked_for_kept_in_the_tab_and_sent(keyed: Running, watch: Any) -> None:
    key, _ = keyed.app.state.keys.create("acme", scopes=("read", "write"))
    keyed.add("handbook.md", HANDBOOK, keyed.with_key(key))
    watched = watch(keyed)
    watched.expected = ("401",)
    page = watched.open()
    page.get_by_label("Key").fill("fn_wrong_key")
    page.get_by_role("button", name="Open the library").click()
    page.locator("dialog .failure", has_text="key").wait_for()
    page.get_by_label("Key").fill(key)
    page.keyboard.press("Enter")
    page.locator("dialog").wait_for(state="detached")
    turn = ask(page, "How long is the notice period?")
    assert "three months" in turn.locator(".answer").inner_text()
    assert page.evaluate("[localStorage.getItem('footnotes.key'), document.cookie]") == [None, ""]
    page.reload()
    page.locator(".turn .reference").first.wait_for()
    assert page.locator("dialog").count() == 0
    page.goto(f"{keyed.address}/#/settings")
    page.get_by_text("Answers this month").wait_for()
    assert page.get_by_role("button", name="New key").count() == 0, "the key is no admin's"
    assert not any(key in url for url in watched.requests)


def test_the_first_key_locks_the_door_and_this_tab_stays_inside(fresh: Running, watch: Any) -> None:
    fresh.add("handbook.md", HANDBOOK)
    page = watch(fresh).open("#/settings")
    page.get_by_role("button", name="New key").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Amara")
    page.get_by_role("button", name="Create key").click()
    key = page.get_by_label("The key").input_value()
    page.get_by_role("button", name="Done").click()
    page.locator(".keys li", has_text="Amara").wait_for()
    assert fresh.client.get("/v1/documents").status_code == 401
    assert key not in page.content(), "shown once"
    page.get_by_role("button", name="New key").click()
    page.get_by_role("dialog").get_by_label("Name").fill("Phone")
    page.get_by_role("button", name="Create key").click()
    second = page.get_by_label("The key").input_value()
    page.get_by_role("button", name="Done").click()
    assert fresh.with_key(second).get("/v1/documents").status_code == 200
    page.locator(".keys li", has_text="Phone").get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    page.locator(".keys li", has_text="Phone").wait_for(state="detached")
    assert fresh.with_key(second).get("/v1/documents").status_code == 401
    page.get_by_role("link", name="Ask", exact=True).click()
    assert "three months" in ask(page, "How long is the notice period?").locator(".answer").inner_text()


def test_ten_thousand_documents_cost_the_rows_in_view(server: Running, watch: Any) -> None:
    """The server's own rows, said many times over: what is tested is what the page makes of them."""
    watched = watch(server)
    watched.expected = ("404",)  # the documents that are only said to be there have no chunks
    page = watched.page
    rows = server.client.get("/v1/catalogue").json()["documents"]
    status = server.client.get("/v1/status").json()
    status["collections"] = [{**status["collections"][0], "documents": 10_000}]

    made = [
        {**rows[n % len(rows)], "id": f"d{n}", "filename": f"note-{n:05}.txt", "path": f"box/{n % 40}/note-{n:05}.txt"}
        for n in range(10_000)
    ]
    page.route("**/v1/status", lambda route: route.fulfill(json=status))
    page.route("**/v1/catalogue", lambda route: route.fulfill(json={"documents": made, "next_offset": None}))
    watched.open("#/library")
    page.locator(".library .document-row", has_text="note-09999.txt").wait_for()
    most = page.evaluate(
        """async () => { const rows = document.querySelector('.library .rows'); let most = 0;
        for (let step = 0; step < 60; step += 1) {
          rows.scrollTop += 7333;
          await new Promise(requestAnimationFrame);
          most = Math.max(most, rows.querySelectorAll('li').length);
        }
        rows.scrollTop = rows.scrollHeight; return most }"""
    )
    assert 5 < most < 60
    page.locator(".library .document-row", has_text="note-00000.txt").wait_for()
    page.locator(".library .document-row .name").last.focus()
    page.keyboard.press("Home")
    page.locator(".library .document-row", has_text="note-09999.txt").wait_for()
    assert page.evaluate("document.activeElement.closest('li').getAttribute('aria-posinset')") == "1"
    page.get_by_role("button", name="Sort by Name").click()
    page.locator(".library .document-row", has_text="note-00000.txt").wait_for()
    page.locator(".list-tools input").fill("note-0123")
    page.locator(".library .rows ul[style*='480px']").wait_for()
    page.locator(".list-tools input").fill("")
    page.locator(".folders").get_by_role("button", name="Folders in box").click()
    page.locator(".folders").get_by_role("button", name="17 250").click()
    page.locator(".library .rows ul[style*='12000px']").wait_for()
    assert "box/17" in page.locator(".library .document-row").first.inner_text()
    assert len([url for url in watched.requests if "/v1/catalogue" in url]) == 1, "the list is fetched once"


def test_the_page_is_light_and_kept_by_the_browser(server: Running) -> None:
    index = server.client.get("/", headers={"Accept-Encoding": "gzip"})
    (version,) = set(re.findall(r"/static/([^/]+)/", index.text))
    files = ("style.css", "page.js", "theme.js", "fonts/serif.woff2")
    addresses = [f"/static/{version}/{name}" for name in files]
    first = [index, *(server.client.get(address, headers={"Accept-Encoding": "gzip"}) for address in addresses)]
    assert {file.status_code for file in first} == {200}
    assert sum(file.num_bytes_downloaded for file in first) < FIRST_PAINT
    assert index.headers["cache-control"] == "no-cache" and index.headers["content-encoding"] == "gzip"
    again = server.client.get("/", headers={"If-None-Match": index.headers["etag"]})
    assert again.status_code == 304 and again.content == b""
    address = f"/static/{version}/page.js"
    assert address in index.text
    assert "immutable" in server.client.get(address).headers["cache-control"]
    for wrong in (
        "/static/0/page.js",
        f"/static/{version}/../../app.py",
        f"/static/{version}/index.html",
    ):
        assert server.client.get(wrong).status_code == 404


def test_a_server_that_went_away_is_said_quietly_and_forgotten_when_it_is_back(server: Running, watch: Any) -> None:
    watched = watch(server)
    watched.expected = ("ERR_INTERNET_DISCONNECTED",)
    page = watched.open()
    page.locator(".samples button").first.wait_for()
    page.context.set_offline(True)
    turn = ask(page, "What does an estimate cost?")
    assert "The server does not answer." in turn.locator(".turn-notice.broken").inner_text()
    assert "tries again by itself" in page.locator(".banner").inner_text()
    page.context.set_offline(False)
    page.locator(".banner").wait_for(state="hidden")
    turn.get_by_role("button", name="Ask again").click()
    page.locator(".turn").last.locator(".reference").wait_for()
