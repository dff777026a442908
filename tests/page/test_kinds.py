"""Three honest kinds of answers, and what the page does where there is nothing to answer from."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from browsing import SAMPLES, ask, wait_until_idle
from provider import ScriptedProvider, status
from serving import Running, serving


def hand_over(running: Running, *names: str, collection: str = "default") -> None:
    for name in names:
        with (SAMPLES / name).open("rb") as file:
            answer = running.client.post("/v1/documents", files={"file": (name, file)}, data={"collection": collection})
            answer.raise_for_status()
    wait_until_idle(running)


def test_quotations_are_cards_that_say_where_they_stand(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "What does an estimate cost?")
    assert (
        turn.locator(".kind-note")
        .inner_text()
        .startswith("No model is connected: these are the closest passages. Connect one")
    )
    card = turn.locator(".quotation").first
    assert "How a repair goes › Estimate" in card.locator("figcaption").inner_text()
    assert "repairs.pdf, p. 2" in card.locator("figcaption").inner_text()
    assert "costs 40 euros otherwise." in card.inner_text()
    card.locator(".reference a").click()
    page.locator(".page-sheet[data-page='2'] .page-picture[data-boxes]").wait_for()


def test_a_quoted_table_is_a_table_and_code_is_code(fresh: Running, watch: Any) -> None:
    fresh.add("prices.md", "# Prices\n\n## Strings\n\n| Instrument | Price |\n| --- | --- |\n| Cello | 90 euros |\n")
    fresh.add(
        "start.md", "# Starting\n\n## The pump\n\nStart the pump with this command:\n\n```sh\npump --start\n```\n"
    )
    page = watch(fresh).open()
    turn = ask(page, "What is the price of cello strings?")
    assert turn.locator(".quotation table td", has_text="90 euros").count() > 0
    turn = ask(page, "How do I start the pump?")
    assert "pump --start" in turn.locator(".quotation pre").first.inner_text()
    assert "Starting › The pump" in turn.locator("figcaption").first.inner_text()


def test_every_document_has_a_card_of_its_own(fresh: Running, watch: Any) -> None:
    fresh.add("a.md", "# Leave\n\nEvery employee has thirty days of leave in a year.\n")
    fresh.add("b.md", "# Days off\n\nA trainee has twenty-five days of leave in a year.\n")
    page = watch(fresh).open()
    turn = ask(page, "How many days of leave are there in a year?")
    places = turn.locator(".quotation figcaption").all_inner_texts()
    assert any("a.md" in place for place in places) and any("b.md" in place for place in places)
    markers = turn.locator(".quotation .reference").count()
    assert markers >= 2


def test_where_nothing_answers_the_nearest_passages_and_other_ways_are_shown(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "tungsten carbide boiling Neptune")
    assert turn.locator(".nearest").get_by_role("button", name="Rephrase").is_visible()
    turn.get_by_role("button", name="Search for it").click()
    page.locator("#view-search .results").wait_for()
    assert "tungsten" in page.locator("#view-search input").input_value()


def test_a_model_that_fails_is_shown_as_one(tmp_path: Path, watch: Any) -> None:
    refusing = status(401, {"error": {"message": "no such key"}})
    with (
        ScriptedProvider(refusing) as provider,
        serving(
            tmp_path / "library", model="openai:gpt-x", openai_base_url=provider.base_url, openai_api_key="k"
        ) as running,
    ):
        hand_over(running, "handbook.md")
        page = watch(running).open()
        turn = ask(page, "How long is the notice period?")
        assert turn.locator(".kind-note.broken").inner_text().startswith("The model failed:")
        assert page.locator("#banner").is_hidden(), "search works: there is no banner that says it does not"
        assert "Nothing in these documents" not in turn.inner_text()
        page.close()  # or the server would wait for its stream


def test_an_empty_library_keeps_its_buttons(fresh: Running, watch: Any) -> None:
    page = watch(fresh).open()
    page.get_by_text("The library is empty.").wait_for()
    page.fill("#question", "What does an estimate cost?")
    page.press("#question", "Enter")
    assert page.get_by_role("button", name="Choose files").is_visible()
    assert page.locator(".turn").count() == 0
    assert page.locator("#question").input_value() == "What does an estimate cost?", "what was typed is kept"


def test_a_remark_on_the_passages_is_in_no_card(fresh: Running, watch: Any) -> None:
    for number in range(2):
        fresh.add(f"memo-{number}.md", f"# Memo {number}\n\nThe crane is painted green every {number + 2} years.\n")
    page = watch(fresh).open()
    turn = ask(page, "How often is the crane painted?")
    assert "The documents do not agree" in turn.locator(".lead-note").inner_text()
    cards = turn.locator(".quotation").all_inner_texts()
    assert len(cards) == 2 and not any("do not agree" in words for words in cards)


def test_counts_and_samples_follow_the_scope(fresh: Running, watch: Any) -> None:
    hand_over(fresh, "handbook.md", collection="people")
    hand_over(fresh, "repairs.pdf", "varnish.txt", collection="workshop")
    page = watch(fresh).open()
    page.get_by_text("3 documents to answer from").wait_for()
    page.locator("#shelf").get_by_text("people", exact=True).click()
    page.get_by_text("1 document to answer from").wait_for()


def test_a_source_of_the_answer_before_does_not_stay_open(server: Running, watch: Any) -> None:
    page = watch(server).open()
    turn = ask(page, "How many coats are usual for a violin?")
    turn.locator(".reference a").first.click()
    page.locator(".panel").wait_for()
    ask(page, "How long is the notice period?")
    assert page.locator("#panel").is_hidden()


def test_paper_has_all_turns_and_no_controls(server: Running, watch: Any) -> None:
    page = watch(server).open()
    ask(page, "How many coats are usual for a violin?")
    ask(page, "How long is the notice period?")
    page.emulate_media(media="print")
    assert page.locator(".composer").is_hidden() and page.locator("#shelf").is_hidden()
    assert all(turn.is_visible() for turn in page.locator(".turn").all())
    height = page.evaluate("document.documentElement.scrollHeight")
    bottom = page.locator(".turn").last.evaluate("(turn) => turn.getBoundingClientRect().bottom + scrollY")
    assert bottom <= height + 1, "the last turn is on the paper too"
    wide = f"<table>{'<th>Adjusted earnings</th>' * 14}</table>"
    over = page.locator(".answer").last.evaluate(
        "(answer, html) => { const made = new DOMParser().parseFromString(html, 'text/html').body.firstChild;"
        " const frame = document.createElement('div'); frame.className = 'table-frame'; frame.append(made);"
        " answer.append(frame); return made.getBoundingClientRect().right - frame.getBoundingClientRect().right }",
        wide,
    )
    assert over <= 1, "a wide table fits on the paper"
    page.emulate_media(media="screen")
    assert page.locator("h1").first.inner_text() == "Conversation"


def test_documents_that_are_out_of_date_are_counted(fresh: Running, watch: Any) -> None:
    hand_over(fresh, "handbook.md", "varnish.txt")
    made = {"chunker": "rules", "chunker_options": {"tokens": 64, "overlap": 0}}
    fresh.client.put("/v1/collections/default", json=made).raise_for_status()
    page = watch(fresh).open()
    page.locator("#banner").get_by_text("Made by an older version, chunker or model: 2 documents.").wait_for()
    page.close()  # or the server would wait for its stream
