"""A page in a real browser, with everything it does watched."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from serving import Running

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request

SAMPLES = Path(__file__).parents[1] / "samples"
ALONE = """() => [...document.querySelectorAll('.reference')].filter((one) => {
  const word = document.createRange();
  const text = one.previousSibling.lastChild || one.previousSibling;
  word.setStart(text, Math.max(0, text.length - 1)); word.setEnd(text, text.length);
  const [number, last] = [one.getBoundingClientRect(), word.getBoundingClientRect()];
  return number.top > last.bottom || number.left < last.left }).length"""
"""How many numbers of footnotes stand on another line than the word before them."""


class Watched:
    """A page with all it asked for, said and did. `quiet` fails if any of it is not as it should be."""

    def __init__(self, context: BrowserContext, address: str) -> None:
        self.address = address
        self.requests: list[str] = []
        self.errors: list[str] = []
        self.dialogs: list[str] = []
        self.expected: tuple[str, ...] = ()
        self.page: Page = context.new_page()
        self.page.set_default_timeout(30_000)  # a busy machine must not fail a test
        self.page.on("console", self._said)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", self._dialog)
        context.on("request", self._asked)

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def _dialog(self, dialog: Any) -> None:
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def _asked(self, request: Request) -> None:
        self.requests.append(request.url)

    def open(self, view: str = "") -> Page:
        self.page.goto(f"{self.address}/{view}")
        return self.page

    def quiet(self) -> None:
        own = urlsplit(self.address).netloc
        foreign = [url for url in self.requests if urlsplit(url).netloc not in (own, "")]
        assert foreign == [], "the page asked another origin"
        assert self.dialogs == [], "something opened a dialog"
        surprises = [text for text in self.errors if not any(part in text for part in self.expected)]
        assert surprises == [], "the page complained on its console"


def wait_for(condition: Callable[[], bool], seconds: float = 300.0) -> None:
    """Until something is so."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it never became so"
        time.sleep(0.05)


def until(page: Page, script: str) -> None:
    """Until an expression holds in the page. Its policy forbids the `eval` with which playwright would wait."""
    wait_for(lambda: bool(page.evaluate(script)), 60.0)


def wait_until_idle(running: Running) -> None:
    """Until nothing waits to be taken in."""
    wait_for(lambda: running.client.get("/v1/status").json().get("queue") == 0, 900.0)


def ask(page: Page, question: str) -> Any:
    """Ask and wait for the end; the last turn."""
    page.fill("#question", question)
    page.press("#question", "Enter")
    turn = page.locator(".turn").last
    turn.locator(".question", has_text=question[:40]).wait_for()
    page.locator('.turn:last-child[aria-busy="false"]').wait_for()
    return turn


def violations(page: Any) -> list[str]:
    """All that axe-core finds."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [f"{one['id']}: {one['nodes'][0]['html'][:200]} {one['nodes'][0]['failureSummary'][:300]}" for one in found]
