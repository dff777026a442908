"""Retakes docs/screenshots from a server that runs, with the sample documents and this manual in it.

    make screenshots        # PYTHONPATH=tests python scripts/screenshots.py

The answers are extractive and real. Only where a state cannot be held still, an answer half written and a model that
breaks off, a scripted model stands in for one.
"""

from __future__ import annotations

import io
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

from browsing import ask, wait_until_idle
from provider import Action, Asked, ScriptedProvider
from serving import Running, serving

ROOT = Path(__file__).parents[1]
OUT = ROOT / "docs" / "screenshots"
COLOURS = 128
QUESTION = "How many coats are usual for a violin, and how long do they harden?"
HALF = (
    "Spirit varnish is resin dissolved in alcohol [1]. Twelve coats are usual for a violin [1]. At least four hours "
    "pass between coats, and"
)
BROKEN = "Every new instrument carries a warranty of five years from the day of delivery [1]. Strings and bow hair are"


def main() -> None:
    OUT.mkdir(parents=True, exist_ok=True)
    found = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox", "--font-render-hinting=none"])
        empty_and_ingesting(browser, Path(folder) / "empty")
        with library(Path(folder) / "filled") as running:
            answers(browser, running)
            views(browser, running)
            arabic(browser, running)
            phone(browser, running)
        scripted(browser, Path(folder) / "scripted")
        browser.close()


@contextmanager
def library(folder: Path, **settings: Any) -> Iterator[Running]:
    """A server with two collections: the samples, and this manual."""
    with serving(folder, embedder="local:minilm-l6", **settings) as running:
        hand_over(running, "workshop", sorted((ROOT / "samples").iterdir()))
        hand_over(running, "manual", sorted((ROOT / "docs").glob("*.md"))[:12])
        wait_until_idle(running)
        yield running


def hand_over(running: Running, collection: str, paths: list[Path]) -> None:
    files = [("file", (path.name, path.read_bytes())) for path in paths]
    running.client.post("/v1/documents", files=files, data={"collection": collection}).raise_for_status()


def opened(browser: Browser, running: Running, view: str = "", **options: Any) -> Page:
    chosen = {
        "viewport": {"width": 1360, "height": 850},
        "device_scale_factor": 2,
        "reduced_motion": "reduce",
        **options,
    }
    page = browser.new_context(**chosen).new_page()
    page.goto(f"{running.address}/{view}")
    return page


def keep(page: Page, name: str) -> None:
    """Few colours are enough for paper and ink, and make a small file."""
    page.wait_for_timeout(350)
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(OUT / f"{name}.png", optimize=True)
    print(name, (OUT / f"{name}.png").stat().st_size)


def empty_and_ingesting(browser: Browser, folder: Path) -> None:
    with serving(folder, embedder="local:minilm-l6") as running:
        page = opened(browser, running)
        page.get_by_text("The library is empty.").wait_for()
        keep(page, "empty")
        with page.expect_file_chooser() as chooser:
            page.get_by_role("button", name="Choose files").click()
        manual = sorted((ROOT / "docs").rglob("*.md"), key=lambda path: -path.stat().st_size)[:20]
        chooser.value.set_files([{"name": "scan.pdf", "mimeType": "application/pdf", "buffer": b""}, *uploads(manual)])
        page.locator(".job.failed").wait_for()
        page.locator(".job .bar").first.wait_for()
        page.locator(".banner:not([hidden])").wait_for()
        keep(page, "ingesting")
        page.context.close()


def uploads(paths: list[Path]) -> list[Any]:
    return [{"name": path.name, "mimeType": "text/markdown", "buffer": path.read_bytes()} for path in paths]


def answers(browser: Browser, running: Running) -> None:
    page = opened(browser, running)
    page.locator(".samples button").first.wait_for()
    keep(page, "welcome")
    ask(page, QUESTION)
    turn = ask(page, "What does an estimate cost?")
    page.locator(".scroll").evaluate("(one) => one.scrollTo(0, 0)")
    keep(page, "answer")
    turn.locator(".reference a").first.click()
    page.locator(".page-sheet[data-page='2'] .page-picture[src^='blob:']").wait_for()
    keep(page, "source")
    page.context.close()
    dark = opened(browser, running, color_scheme="dark")
    turn = ask(dark, "How long is the notice period after the probation period?")
    turn.locator(".reference a").first.click()
    dark.locator(".panel mark").first.wait_for()
    keep(dark, "dark")
    dark.context.close()


def views(browser: Browser, running: Running) -> None:
    page = opened(browser, running, "#/search")
    page.locator("#view-search input").fill("when is a document found by its meaning")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    keep(page, "search")
    page.get_by_text("How these were ranked").click()
    page.locator(".inspector-node.main").nth(1).hover()
    keep(page, "inspector")
    page.goto(f"{running.address}/#/library")
    page.locator(".library .document-row").nth(8).wait_for()
    for row in (1, 2, 3):
        page.locator(".library .document-row input").nth(row).click()
    keep(page, "documents")
    page.get_by_role("button", name="Clear selection").click()
    page.locator("#shelf").get_by_text("workshop", exact=True).click()
    page.locator(".library .document-row", has_text="handbook.md").click()
    page.locator(".panel").get_by_role("button", name="Details").click()
    page.locator(".panel").get_by_role("button", name="Chunks").click()
    page.locator(".chunk").first.wait_for()
    keep(page, "library")
    page.keyboard.press("Escape")
    page.goto(f"{running.address}/#/settings")
    page.get_by_text("Since the server started").wait_for()
    keep(page, "settings")
    page.context.close()


def arabic(browser: Browser, running: Running) -> None:
    page = opened(browser, running, locale="ar")
    page.locator(".samples button").first.wait_for()
    turn = ask(page, QUESTION)
    turn.locator(".reference a").first.click()
    page.locator(".panel mark").first.wait_for()
    keep(page, "arabic")
    page.context.close()


def phone(browser: Browser, running: Running) -> None:
    page = opened(browser, running, viewport={"width": 390, "height": 780}, has_touch=True)
    turn = ask(page, QUESTION)
    keep(page, "phone")
    turn.locator(".reference a").first.click()
    page.locator(".panel mark").first.wait_for()
    keep(page, "phone-source")
    page.context.close()


def scripted(browser: Browser, folder: Path) -> None:
    with ScriptedProvider() as model:
        settings = {"model": "openai:scripted", "openai_base_url": model.base_url, "openai_api_key": "none"}
        with library(folder, **settings) as running:
            page = opened(browser, running)
            page.locator(".samples button").first.wait_for()
            model.script(writes(HALF, then=model.released.wait))
            page.fill("#question", "How is spirit varnish laid on?")
            page.press("#question", "Enter")
            page.locator(".answer", has_text="between coats, and").wait_for()
            keep(page, "answering")
            page.get_by_role("button", name="Stop").click()
            page.context.close()
            page = opened(browser, running)
            model.script(writes(BROKEN, then=lambda _: None))
            ask(page, "What does the warranty cover?")
            keep(page, "failure")
            page.context.close()


def writes(text: str, *, then: Callable[[float], object]) -> Action:
    """Streams a text word by word, waits or not, and goes without a farewell."""

    def act(handler: Any, asked: Asked) -> None:
        handler.begin("text/event-stream")
        for word in text.split(" "):
            handler.event({"choices": [{"index": 0, "delta": {"content": word + " "}}]})
            threading.Event().wait(0.01)
        then(20.0)
        handler.reset()

    return act


if __name__ == "__main__":
    main()
