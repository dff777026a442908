"""Conversations on the page: kept, found again, edited, judged, restored in the middle of an answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browsing import ask
from libraries import HANDBOOK
from provider import ScriptedProvider, pauses
from serving import Running, serving

ENDLESS_UNDO = "const real = setTimeout; window.setTimeout = (f, ms) => (ms === 10000 ? 0 : real(f, ms));"
"""The ten seconds of an undo never pass: a busy machine must not fail a test."""
NOTICE = "How long is the notice period?"


@pytest.fixture
def talking(tmp_path: Path) -> Iterator[Running]:
    with serving(tmp_path / "library") as running:
        running.add("handbook.md", HANDBOOK)
        yield running


def talks(page: Any) -> Any:
    return page.locator(".talks a")


def test_a_reload_brings_the_conversation_back(talking: Running, watch: Any) -> None:
    page = watch(talking).open()
    turn = ask(page, NOTICE)
    said = turn.locator(".answer").inner_text()
    assert "#/c/" in page.url
    page.reload()
    page.locator(".turn .reference").first.wait_for()
    assert page.locator(".turn .answer").inner_text() == said
    page.locator(".turn .reference a").first.click()
    page.locator("#panel .source").wait_for()
    ask(page, "And for how long?")
    assert page.locator(".turn").count() == 2
    assert len(talking.client.get("/v1/conversations").json()["conversations"]) == 1


def test_conversations_are_opened_renamed_and_deleted_with_a_way_back(talking: Running, watch: Any) -> None:
    watched = watch(talking)
    watched.page.add_init_script(ENDLESS_UNDO)
    page = watched.open()
    ask(page, NOTICE)
    page.locator("#shelf").get_by_role("button", name="New conversation").click()
    page.get_by_text("What would you like to know?").wait_for()
    ask(page, "Who may take leave?")
    talks(page).nth(1).wait_for()
    assert [row.inner_text() for row in talks(page).all()] == ["Who may take leave?", NOTICE]
    talks(page).nth(1).click()
    page.locator(".turn .question", has_text=NOTICE).wait_for()
    talks(page).nth(1).press("F2")
    page.get_by_label("Name of the conversation").fill("Fristen")
    page.keyboard.press("Enter")
    page.locator(".talks a", has_text="Fristen").wait_for()
    page.locator(".talks a", has_text="Fristen").press("Delete")
    page.locator(".toast", has_text="Deleted “Fristen”.").wait_for()
    assert talks(page).count() == 1
    assert len(talking.client.get("/v1/conversations").json()["conversations"]) == 2, "it is not sent yet"
    page.locator(".toast").get_by_role("button", name="Undo").click()
    page.locator(".talks a", has_text="Fristen").wait_for()
    page.locator(".turn .question", has_text=NOTICE).wait_for()
    page.locator(".talks a", has_text="Fristen").press("Delete")
    page.locator(".toast").wait_for()
    page.reload()  # whoever leaves has decided
    page.locator(".talks a", has_text="Who may take leave?").wait_for()
    while len(talking.client.get("/v1/conversations").json()["conversations"]) > 1:
        page.wait_for_timeout(50)


def test_a_question_is_edited_and_asked_again(talking: Running, watch: Any) -> None:
    page = watch(talking).open()
    ask(page, NOTICE)
    ask(page, "Who may take leave?")
    first = page.locator(".turn").first
    first.locator(".question-line").hover()
    first.get_by_role("button", name="Edit the question").click()
    assert "are removed" in first.inner_text(), "it says that later questions are removed"
    first.get_by_label("Your question").fill("How many days of leave are there?")
    page.keyboard.press("Enter")
    page.locator(".turn .question", has_text="How many days of leave").wait_for()
    page.locator('.turn:last-child[aria-busy="false"]').wait_for()
    assert page.locator(".turn").count() == 1
    page.get_by_role("button", name="Ask again").click()
    page.locator('.turn:last-child[aria-busy="false"]').wait_for()
    (kept,) = talking.client.get("/v1/conversations").json()["conversations"]
    turns = talking.client.get(f"/v1/conversations/{kept['id']}").json()["turns"]
    assert [turn["question"] for turn in turns] == ["How many days of leave are there?"]


def test_an_answer_is_judged(talking: Running, watch: Any) -> None:
    page = watch(talking).open()
    turn = ask(page, NOTICE)
    turn.get_by_role("button", name="Not a good answer").click()
    turn.get_by_label("Why", exact=True).fill("It is six weeks.")
    turn.get_by_label("Why", exact=True).press("Enter")
    page.locator("#live", has_text="rating is saved").wait_for()
    (kept,) = talking.client.get("/v1/conversations").json()["conversations"]
    while not talking.client.get(f"/v1/conversations/{kept['id']}/turns/1").json()["reason"]:
        page.wait_for_timeout(50)
    page.reload()
    page.locator(".turn").get_by_role("button", name="Not a good answer").wait_for()
    judged = page.locator(".turn").get_by_role("button", name="Not a good answer")
    assert judged.get_attribute("aria-pressed") == "true"
    assert page.get_by_label("Why", exact=True).input_value() == "It is six weeks."


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Running, threading.Event]]:
    go_on = threading.Event()
    reply = pauses("Either side may end the contract with three months of notice [1]. ", "It ends in May.", go_on)
    with (
        ScriptedProvider(reply) as provider,
        serving(tmp_path / "x", model="openai:gpt-x", openai_base_url=provider.base_url, openai_api_key="k") as running,
    ):
        running.add("handbook.md", HANDBOOK)
        try:
            yield running, go_on
        finally:
            go_on.set()


def half(page: Any) -> None:
    page.fill("#question", NOTICE)
    page.press("#question", "Enter")
    page.locator(".turn .answer", has_text="three months").wait_for()


def test_a_reload_in_mid_answer_restores_what_came_and_then_the_rest(slow: Any, watch: Any) -> None:
    running, go_on = slow
    page = watch(running).open()
    half(page)
    page.reload()
    page.locator(".turn .answer", has_text="three months").wait_for()
    assert page.locator(".turn").get_attribute("aria-busy") == "true"
    go_on.set()
    page.locator('.turn[aria-busy="false"]').wait_for()
    assert "It ends in May." in page.locator(".turn .answer").inner_text()
    assert page.locator(".turn .reference").count() >= 1


def test_stopping_keeps_the_text_also_after_a_reload(slow: Any, watch: Any) -> None:
    running, _ = slow
    page = watch(running).open()
    half(page)
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("Stopped. The text so far is kept.").wait_for()
    (kept,) = running.client.get("/v1/conversations").json()["conversations"]
    while running.client.get(f"/v1/conversations/{kept['id']}/turns/1").json()["state"] == "asking":
        page.wait_for_timeout(50)
    page.reload()
    page.get_by_text("Stopped. The text so far is kept.").wait_for()
    assert "three months" in page.locator(".turn .answer").inner_text()


def test_an_address_of_nothing_says_so(talking: Running, watch: Any) -> None:
    watched = watch(talking)
    watched.expected = ("404",)
    page = watched.open("#/c/0123456789abcdef")
    page.get_by_text("This conversation does not exist.").wait_for()
    page.locator("#view-ask").get_by_role("button", name="New conversation").first.click()
    page.get_by_text("What would you like to know?").wait_for()


def test_a_server_that_keeps_none_answers_all_the_same(tmp_path: Path, watch: Any) -> None:
    with serving(tmp_path / "library", serve_conversations=0) as running:
        running.add("handbook.md", HANDBOOK)
        page = watch(running).open()
        ask(page, NOTICE)
        ask(page, "And for how long?")
        assert page.locator(".turn").count() == 2 and page.locator(".shelf-talks").is_hidden()
        page.close()
