"""The page in six languages: no string is left out, nothing is left in English, and Arabic runs from the right."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from browsing import ask, until, violations
from serving import Running

PAGE = Path(__file__).parents[2] / "src/footnotes/server/page"
LANGUAGES = ("de", "fr", "es", "zh", "ar")
VALUE = re.compile(r"\{\w+\}")
COMMENT = re.compile(r"^\s*/\*\*?[\s\S]*?\*/|^\s*//.*$", re.MULTILINE)
SPOKEN = re.compile(r'\bt\(\s*("(?:[^"\\]|\\.)*")')
COUNTED = re.compile(r'\bcount\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*?, "([a-z]+)"\)')
NAMES = {"Enter", "Escape", "Delete", "Infinity", "Files", "Footnotes", "Markdown", "Word", "Esc", "Footnote"}
NAMES |= {"OpenAI", "Anthropic", "Gemini", "Cohere", "Ollama", "ApiError", "AbortError", "Ctrl K", "Content-Type"}
SHOWN = re.compile(r'element\("[a-z0-9]+", \{[^{}]*\}, "([A-Za-z][^"]+)"|(?:aria-label"|placeholder|title): "([^"]+)"')


def modules() -> dict[str, str]:
    return {path.name: COMMENT.sub("", path.read_text()) for path in sorted((PAGE / "modules").glob("*.js"))}


def wanted() -> set[str]:
    html = (PAGE / "index.html").read_text().partition("<body")[2]
    found = {one or other for one, other in re.findall(r'data-words>([^<]+)<|(?:aria-label|title)="([^"]+)"', html)}
    for text in modules().values():
        found |= {json.loads(one) for one in SPOKEN.findall(text)}
        found |= {f"{{n}} {noun}s" for noun in COUNTED.findall(text)}
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_string_has_its_translation_with_the_same_values(language: str) -> None:
    known = json.loads((PAGE / "words" / f"{language}.json").read_text())
    assert set(known) == wanted(), "said in the modules and nowhere else"
    for english, said in known.items():
        for form in [said] if isinstance(said, str) else said.values():
            assert form.strip() and sorted(VALUE.findall(form)) == sorted(VALUE.findall(english)), (english, form)


def test_what_a_module_shows_goes_through_the_catalogue() -> None:
    loose = [
        (name, words)
        for name, text in modules().items()
        for words in ["".join(pair) for pair in SHOWN.findall(text)]
        if words not in NAMES and "/" not in words and re.search(r"[A-Za-z]", words)
    ]
    assert loose == []


OTHERS = (  # words of documents, of whoever asks, and what is said to screen readers
    "#live, #language, .answer, .note, .question, .samples, .brand, .shelf-row, .talk, .name, kbd, .panel-sub, .prose"
)
VISIBLE = """(others) => { const found = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) { const { data, parentElement: holder } = walk.currentNode;
    if (holder.checkVisibility() && !holder.closest(others)) found.push(data.trim()); }
  return found.filter(Boolean) }"""
ENGLISH = re.compile(r"\b(the|and|your|documents?|this|search|ask|files?|settings|library|answers?)\b", re.IGNORECASE)


def test_nothing_of_the_page_is_left_in_english(server: Running, watch: Any) -> None:
    page = watch(server, locale="de-DE").open()
    page.locator(".samples button").first.wait_for()
    assert page.evaluate("document.documentElement.lang") == "de"
    assert page.locator("h1", has_text="Was möchten Sie wissen?").is_visible()
    turn = ask(page, "How long is the notice period?")
    assert "Quellen" in turn.inner_text() and "Kein Modell ist verbunden" in turn.inner_text()
    seen = page.evaluate(VISIBLE, OTHERS)
    for view in ("search", "library", "settings"):
        page.goto(f"{server.address}/#/{view}")
        page.locator(f"#view-{view} h1").wait_for()
        until(page, "document.querySelectorAll('.document-row').length > 0")
        seen += page.evaluate(VISIBLE, OTHERS)
    assert [words for words in seen if ENGLISH.search(words) and "extractive" not in words] == []
    page.locator("#language").select_option("en")
    page.locator("h1", has_text="Settings and status").wait_for()


@pytest.mark.parametrize("colours", ["light", "dark"])
def test_arabic_runs_from_the_right(server: Running, watch: Any, colours: str) -> None:
    page = watch(server, locale="ar", color_scheme=colours, reduced_motion="reduce").open()
    page.locator(".samples button").first.wait_for()
    assert page.evaluate("document.documentElement.dir") == "rtl"
    assert page.locator("#views svg path").first.get_attribute("fill") == "none", "only words are translated"
    shelf, main = page.locator("#shelf").bounding_box(), page.locator("#main").bounding_box()
    assert shelf["x"] >= main["x"] + main["width"] - 1, "the shelf stands on the right"
    turn = ask(page, "How long is the notice period?")
    place = turn.locator(".answer").bounding_box()
    assert turn.locator(".note").first.bounding_box()["x"] < place["x"]
    turn.locator(".reference a").first.click()
    page.locator(".panel mark.current").wait_for()
    panel = page.locator(".panel").bounding_box()
    assert panel["x"] == 0 and panel["x"] + panel["width"] <= place["x"], "the source on the left, over no text"
    assert turn.locator(".answer").bounding_box() == place
    assert violations(page) == []
    page.goto(f"{server.address}/#/library")
    page.locator(".document-row").first.wait_for()
    assert re.search("\u2066[\\d.]+ KB\u2069", page.locator(".document-row").last.inner_text()), "6 KB is not KB 6"
    assert violations(page) == []
