"""Nothing moves that is read: while an answer is written, when its source opens, on any screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import provider as fake
from browsing import ask
from libraries import HANDBOOK
from provider import ScriptedProvider
from serving import Running, serving

SHIFTS = """() => { window.shift = 0;
  new PerformanceObserver((list) => { for (const one of list.getEntries()) window.shift += one.value; })
    .observe({ type: 'layout-shift' }) }"""
SETTLED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
SAID = (
    "Either side may end the contract with three months of notice [1]. During probation two weeks are enough [1].\n\n"
    "- The first rule is about notice periods, which are counted from the end of a month [1].\n"
    "- The second rule is about the time of probation, which takes six months.\n\nThe cat is purple."
)


def shift(page: Any) -> float:
    page.evaluate(SETTLED)
    return float(page.evaluate("window.shift"))


def test_an_answer_that_is_written_moves_nothing(tmp_path: Path, watch: Any) -> None:
    with ScriptedProvider(fake.says(SAID)) as model:
        settings = {"model": "openai:any", "openai_base_url": model.base_url, "openai_api_key": "none"}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            page = watch(running, reduced_motion="reduce").open()
            page.locator(".welcome h1").wait_for()
            page.locator(".picker select").wait_for()
            page.locator(".shelf-row").first.wait_for()
            page.evaluate("document.fonts.ready")
            page.evaluate(SHIFTS)
            turn = ask(page, "How long is the notice period?")
            assert shift(page) <= 0.01
            assert turn.locator(".unsupported").count() > 0
            page.close()  # or the server would wait for its stream


def test_opening_a_source_moves_no_text(server: Running, watch: Any) -> None:
    for width in (1280, 1500, 1000):
        page = watch(server, viewport={"width": width, "height": 800}, reduced_motion="reduce").open()
        turn = ask(page, "How many coats are usual for a violin, and how long do they harden?")
        place = turn.locator(".answer").bounding_box()
        page.evaluate(SHIFTS)
        turn.locator(".reference a").first.click()
        page.locator(".panel mark.current").wait_for()
        assert turn.locator(".answer").bounding_box() == place, width
        assert shift(page) == 0, width
        panel = page.locator(".panel").bounding_box()
        assert width < 1120 or panel["x"] >= place["x"] + place["width"], "beside the text, not over it"
        assert page.locator(".popover").is_hidden()


def test_the_column_is_made_wider_by_the_arrows_and_stays_so(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "How many coats are usual for a violin?")
    turn.locator(".reference a").first.click()
    before = page.locator(".panel").bounding_box()["width"]
    page.get_by_role("separator").press("ArrowLeft")
    wider = page.locator(".panel").bounding_box()["width"]
    assert wider > before
    page.reload()
    page.locator(".turn .reference a").first.click()
    assert page.locator(".panel").bounding_box()["width"] == wider


def test_a_phone_has_a_sheet_with_the_sentence_above_it_and_its_conversations(server: Running, watch: Any) -> None:
    page = watch(server, viewport={"width": 390, "height": 780}, has_touch=True).open()
    turn = ask(page, "What does an estimate cost?")
    turn.locator(".reference a").click()
    page.locator(".page-sheet .page-picture[src^='blob:']").first.wait_for()
    said = page.locator(".panel-sentence")
    assert said.inner_text() == turn.locator(".supported").inner_text()
    assert said.bounding_box()["y"] >= page.locator(".panel").bounding_box()["y"] > 0
    page.get_by_role("button", name="Close").click()
    page.get_by_role("button", name="Show the library").click()
    page.locator(".talk a", has_text="What does an estimate").first.wait_for()
    page.locator("#views a[data-view=ask]").click()
    page.locator(".talk a").first.wait_for(state="hidden")


def test_the_first_paint_asks_for_little(server: Running, watch: Any) -> None:
    watched = watch(server)
    page = watched.open()
    page.locator(".samples button").first.wait_for()
    page.locator(".shelf-row").first.wait_for()
    asked = [url for url in watched.requests if not url.startswith("data:")]
    assert len(asked) <= 12, asked
    assert page.evaluate("document.fonts.check('16px \"Footnotes Serif\"')")
    assert page.evaluate("getComputedStyle(document.querySelector('.welcome h1')).fontFamily").startswith('"Footnotes')


def test_answers_of_the_api_are_compressed_and_streams_are_not(server: Running) -> None:
    asked = {"Accept-Encoding": "gzip"}
    whole = server.client.get("/openapi.json", headers=asked)
    assert whole.headers["content-encoding"] == "gzip" and whole.json()["openapi"]
    assert int(whole.headers["content-length"]) < len(whole.content) / 4
    assert "content-encoding" not in server.client.get("/openapi.json", headers={"Accept-Encoding": "identity"}).headers
    assert "content-encoding" not in server.client.get("/healthz", headers=asked).headers, "too small to be worth it"
    with server.client.stream(
        "POST", "/v1/ask", json={"question": "How long is it?"}, headers={**asked, "Accept": "text/event-stream"}
    ) as answer:
        assert "content-encoding" not in answer.headers
        assert b"event: done" in b"".join(answer.iter_bytes())
