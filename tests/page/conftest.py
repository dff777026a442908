"""A real browser at the real page of a real server. Everything the page does is watched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from browsing import SAMPLES, Watched, wait_until_idle
from serving import Running, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext

NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Chromium of the system: `make test` installs it where it may."""
    sync_api = pytest.importorskip(
        "playwright.sync_api", reason="browser tests need playwright: pip install 'footnotes[test]'"
    )
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        pytest.skip("browser tests need Chromium: `apt-get install chromium`, or name one in CHROMIUM")
    with sync_api.sync_playwright() as playwright:
        # A container has no namespaces for the sandbox; the only pages opened are our own.
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A server with the sample documents, for tests that only read."""
    with serving(tmp_path_factory.mktemp("page") / "library") as running:
        for path in sorted(SAMPLES.iterdir()):
            with path.open("rb") as file:
                running.client.post("/v1/documents", files={"file": (path.name, file)}).raise_for_status()
        wait_until_idle(running)
        yield running


@pytest.fixture
def keyed(tmp_path: Path) -> Iterator[Running]:
    """An empty server that wants a key."""
    with serving(tmp_path / "library", needs_keys=True) as running:
        yield running


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Running]:
    """An empty server, for a test that changes things."""
    with serving(tmp_path / "library") as running:
        yield running


@pytest.fixture
def watch(browser: Browser) -> Iterator[Any]:
    """Opens watched pages, and checks at the end that none did what it must not."""
    contexts: list[BrowserContext] = []
    pages: list[Watched] = []

    def opened(running: Running, **options: Any) -> Watched:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 900}, **options})
        contexts.append(context)
        pages.append(Watched(context, running.address))
        return pages[-1]

    try:
        yield opened
        for page in pages:
            page.quiet()
    finally:
        for context in contexts:
            context.close()
