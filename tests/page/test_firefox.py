"""The page in Firefox: asked, read and walked through by keyboard, with what must hold in Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from urllib.parse import urlsplit

import pytest

import firefox
from browsing import ALONE
from serving import Running

ENTER, ESCAPE, PAGE_DOWN = "\ue007", "\ue00c", "\ue00f"
QUESTION = "How many coats are usual for a violin, and how long do they harden?"
ANSWERED = "document.querySelector('.turn[aria-busy=\"false\"] .reference a') !== null"
PLACE = "(({ x, y, width }) => [x, y, width])(document.querySelector('.answer').getBoundingClientRect())"
FOCUS = "document.activeElement.closest('.reference') && document.activeElement.textContent"


@pytest.fixture(scope="module")
def fox() -> Iterator[firefox.Firefox]:
    if firefox.found() is None:
        pytest.skip("these tests need Firefox: `apt-get install firefox-esr`")
    with firefox.firefox() as opened:
        opened.size(1280, 720)
        yield opened


def violations(fox: firefox.Firefox) -> list[str]:
    """All that axe-core finds."""
    if not fox.run("'axe' in window"):
        script = resources.files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
        fox.run(f"(() => {{ {script}\n; return true }})()")
    found = fox.run("axe.run().then(({ violations }) => violations.map(({ id, nodes }) => `${id}: ${nodes[0].html}`))")
    return [str(one) for one in found]


def test_asked_and_read_by_keyboard(server: Running, fox: firefox.Firefox) -> None:
    fox.open(f"{server.address}/")
    fox.until("document.querySelectorAll('.samples button').length > 0")
    assert violations(fox) == []
    fox.type("/")
    assert fox.run("document.activeElement.id") == "question"
    fox.type(*QUESTION, ENTER)
    fox.until(ANSWERED)
    place = fox.run(PLACE)
    fox.type("n", "n")
    fox.until("document.querySelector('.panel mark.current') !== null")
    assert fox.run(FOCUS) == "2", "the focus follows"
    assert fox.run(PLACE) == place, "no text moves"
    assert fox.run(f"({ALONE})()") == 0, "no number begins a line"
    assert violations(fox) == []
    fox.type(ENTER)
    fox.until("document.activeElement.matches('.panel-body')")
    fox.type(PAGE_DOWN, ESCAPE)
    assert fox.run(FOCUS) == "2"
    fox.type("g", "l")
    fox.until("document.querySelectorAll('.document-row').length === 4")
    assert violations(fox) == []
    fox.run("(document.documentElement.dataset.theme = 'dark')")
    for view in ("settings", "search?q=notice period", "ask"):
        fox.run(f"(location.hash = '#/{view}')")
        fox.until(f"!document.getElementById('view-{view.partition('?')[0]}').hidden")
        if "?" in view:
            fox.until("document.querySelectorAll('.hit').length > 0")
        assert violations(fox) == [], view
    fox.run("delete document.documentElement.dataset.theme")
    assert fox.errors == []
    own = urlsplit(server.address).netloc
    assert {urlsplit(url).netloc for url in fox.requests if url.startswith("http")} == {own}


def test_arabic_from_the_right(server: Running, fox: firefox.Firefox) -> None:
    fox.open(f"{server.address}/")
    fox.run("localStorage.setItem('footnotes.language', 'ar')")
    fox.open(f"{server.address}/?ar")
    fox.until("document.querySelectorAll('.samples button').length > 0")
    assert fox.run("document.documentElement.dir") == "rtl"
    assert fox.run("document.querySelector('#shelf').getBoundingClientRect().right >= innerWidth - 1")
    assert violations(fox) == []
    fox.run("localStorage.removeItem('footnotes.language')")


def test_a_page_of_a_pdf_is_boxed(server: Running, fox: firefox.Firefox) -> None:
    found = server.client.get("/v1/documents").json()["documents"]
    (document,) = [one for one in found if one["filename"] == "repairs.pdf"]
    text = server.client.get(f"/v1/documents/{document['id']}/text").json()["text"]
    start = text.index("An estimate is free")
    fox.open(f"{server.address}/?pdf#/d/{document['id']}?span={start}-{start + 40}")
    fox.until("document.querySelector('.page-picture[data-boxes]:not([data-boxes=\"0\"])') !== null")
    words = fox.until("document.querySelectorAll('.page-words .line').length")
    assert words > 3 and json.dumps(fox.errors) == "[]"
