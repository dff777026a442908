"""Answers that stream: in pieces, stopped, broken off, overtaken; and the modules that read them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import provider as fake
from browsing import ask
from libraries import HANDBOOK
from provider import ScriptedProvider
from serving import Running, serving


@pytest.fixture
def scripted(tmp_path: Path) -> Iterator[tuple[Running, ScriptedProvider]]:
    """A server whose model says what the test tells it."""
    with ScriptedProvider() as model:
        settings = {"model": "openai:any", "openai_base_url": model.base_url, "openai_api_key": "none"}
        with serving(tmp_path / "library", **settings) as running:
            running.add("handbook.md", HANDBOOK)
            yield running, model


def test_unsupported_sentences_look_different_and_say_why(scripted: Any, watch: Any) -> None:
    running, model = scripted
    model.script(fake.says("Either side may end the contract with three months of notice [1]. The cat is purple."))
    page = watch(running).open()
    turn = ask(page, "How long is the notice period?")
    doubted = turn.locator(".unsupported")
    assert doubted.inner_text() == "The cat is purple."
    doubted.hover()
    assert "Nothing in your documents supports" in page.locator(".popover").inner_text()
    assert turn.locator(".reference").count() == 1


def test_an_answer_that_is_cut_at_its_longest_is_continued(scripted: Any, watch: Any) -> None:
    running, model = scripted
    half = "Either side may end the contract with three months of notice [1]. Probation"
    model.script(
        fake.says(half, finish="length"),
        fake.says("How does the probation go on?"),
        fake.says("Probation lasts six months [1]."),
    )
    page = watch(running).open()
    turn = ask(page, "How long is the notice period?")
    assert "reached the length that the model may write" in turn.locator(".turn-notice").inner_text()
    assert turn.locator(".reference").count() == 1, "half a sentence has no footnote"
    assert turn.locator(".kind-note").inner_text() == "1 of 1 sentence proved.", "and is not counted"
    turn.get_by_role("button", name="Continue").click()
    page.locator(".turn").nth(1).locator(".answer", has_text="six months").wait_for()
    assert any(half.split(" [1]")[0] in asked.prompt for asked in model.requests[1:])
    assert turn.get_by_role("button", name="Continue").count() == 0


def test_an_answer_of_which_little_is_proved_stays_with_the_passages_below_it(scripted: Any, watch: Any) -> None:
    running, model = scripted
    model.script(fake.says("The cat is purple. The moon is made of brass."))
    page = watch(running).open()
    page.locator(".samples").wait_for(state="attached")
    place = page.locator(".welcome h1").bounding_box()
    page.mouse.move(place["x"] + 40, place["y"] + 20)  # where the answer will stand
    turn = ask(page, "How long is the notice period?")
    assert "The cat is purple." in turn.locator(".answer").inner_text()
    assert turn.locator(".unsupported").count() == 2
    assert page.locator(".popover").is_hidden(), "words that come under a pointer at rest were not pointed at"
    assert "0 of 2 sentences proved" in turn.locator(".kind-note").inner_text()
    assert "three months" in turn.locator(".nearest").inner_text()


def test_a_broken_stream_keeps_what_came_and_says_what_happened(scripted: Any, watch: Any) -> None:
    running, model = scripted
    model.script(fake.cuts("Either side may end the contract with three months of notice [1]. And the", reset=True))
    page = watch(running).open()
    turn = ask(page, "How long is the notice period?")
    assert "three months of notice" in turn.locator(".answer").inner_text()
    assert turn.locator(".reference").count() == 1, "half a sentence has no footnote"
    assert turn.locator(".kind-note").inner_text() == "", "an answer that broke off is not judged as a whole"
    assert turn.locator(".turn-notice").is_visible()
    assert (
        turn.get_by_role("button", name="Ask again").is_visible()
        or "broke off" in turn.locator(".turn-notice").inner_text()
    )


def test_stop_always_works_and_late_words_stay_away(scripted: Any, watch: Any) -> None:
    running, model = scripted
    model.script(fake.hangs(), fake.says("Either side may end the contract with three months of notice [1]."))
    page = watch(running).open()
    page.fill("#question", "Which question hangs?")
    page.press("#question", "Enter")
    while not model.requests:  # the model is asked, and says nothing
        page.wait_for_timeout(20)
    first = page.locator(".turn").first
    first.get_by_text("Waiting for the first words of the model: 3 seconds").wait_for()
    page.get_by_role("button", name="Stop").click()
    first.get_by_text("Stopped.").wait_for()
    assert first.locator(".kind-note").inner_text() == ""
    turn = ask(page, "How long is the notice period?")
    assert "three months" in turn.locator(".answer").inner_text()
    assert first.locator(".answer").inner_text() == ""
    model.released.set()
    assert page.locator(".turn").count() == 2


def test_markdown_of_a_model_is_set_and_its_footnotes_stand_where_they_belong(scripted: Any, watch: Any) -> None:
    running, model = scripted
    said = (
        "There are two rules:\n\n- **Either side** may end the contract with three months of notice [1].\n"
        "- During probation two weeks are enough [1]."
    )
    model.script(fake.says(said))
    page = watch(running).open()
    turn = ask(page, "How long is the notice period?")
    assert turn.locator(".answer li").count() == 2 and turn.locator(".answer strong").inner_text() == "Either side"
    assert turn.locator(".answer li .reference").count() >= 1


def test_the_steps_unfold_and_the_notes_stay_beside_their_lines(server: Running, watch: Any) -> None:
    page = watch(server).open()
    page.get_by_label("Look deeper, in steps").check()
    turn = ask(page, "How many coats are usual for a violin?")
    assert turn.locator(".steps > summary").inner_text().startswith("Searched “How many coats are usual for a violin?”")
    for _ in ("open", "closed"):
        turn.locator(".steps > summary").click()
        page.wait_for_timeout(200)
        note, reference = (turn.locator(one).first.bounding_box() for one in (".note", ".reference a"))
        assert abs(note["y"] - reference["y"]) < 30
    turn.locator(".steps > summary").click()
    turn.locator(".steps li summary", has_text="Found").click()
    assert "varnish.txt" in turn.locator(".steps pre").inner_text()


MODULES = (
    "const at = (name) => import(new URL(name, "
    "document.querySelector('script[type=module]').src.replace('page.js', 'modules/')));"
)


def test_events_are_read_however_they_are_cut(server: Running, watch: Any) -> None:
    page = watch(server).open()
    found = page.evaluate(
        """async () => { """
        + MODULES
        + """
        const { EventParser } = await at('./events.js');
        const stream = ': hello\\r\\nevent: token\\r\\ndata: {"text": "ä"}\\r\\n\\r\\n'
          + 'data: one\\rdata: two\\r\\revent: lost\\n\\ndata\\n\\nevent: cut\\ndata: no end\\n';
        const runs = [];
        for (let size = 1; size <= stream.length; size += 1) {
          const parser = new EventParser();
          const events = [];
          for (let place = 0; place < stream.length; place += size) {
            events.push(...parser.push(stream.slice(place, place + size)));
          }
          runs.push(JSON.stringify(events));
        }
        return [...new Set(runs)];
        }"""
    )
    (same,) = found
    assert [(event["name"], event["data"]) for event in json.loads(same)] == [
        ("token", '{"text": "ä"}'),
        ("message", "one\ntwo"),
        ("message", ""),
    ]


def test_offsets_count_code_points_as_the_server_does(server: Running, watch: Any) -> None:
    page = watch(server).open()
    text = "a😀b🎻c"
    found = page.evaluate(
        "async (text) => { " + MODULES + " const { unitsOf } = await at('./offsets.js'); const unit = unitsOf(text);"
        " return [0, 1, 2, 3, 4, 5, 9].map((point) => text.slice(unit(point)))}",
        text,
    )
    assert found == [text[point:] for point in (0, 1, 2, 3, 4, 5, 9)]


def test_every_span_of_markdown_finds_its_words(server: Running, watch: Any) -> None:
    """Whatever stands around them, the words between two places of the source are the words that are wrapped."""
    page = watch(server).open()
    source = (
        "# A &amp; B\n\nOne **two _three_** `four` [five](http://x.example) six\nseven\n\n- eight\n  - nine *ten*\n"
        "    more\n- [x] eleven\n\n> twelve\n> thirteen\n\n| a | b |\n| --- | --- |\n| fourteen | 15 |\n\n"
        "```py\ncode here\n```\n<b>html</b> end\r\nlast"
    )
    words = [
        "One",
        "two",
        "three",
        "four",
        "five",
        "seven",
        "eight",
        "nine",
        "ten",
        "more",
        "eleven",
        "thirteen",
        "fourteen",
        "code here",
        "last",
    ]
    found = page.evaluate(
        "async ([source, words]) => { " + MODULES + " const { markdownBlocks } = await at('./markdown.js');"
        " const { wrap } = await at('./spans.js');"
        " return words.map((word) => { const start = source.indexOf(word);"
        "   const mark = () => document.createElement('mark');"
        "   return markdownBlocks(source).flatMap(({ pieces }) => wrap(pieces, start, start + word.length, mark))"
        "     .map((mark) => mark.textContent).join(''); }) }",
        [source, words],
    )
    assert found == words
