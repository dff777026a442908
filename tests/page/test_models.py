"""A model is connected from the page, in a few clicks, and answers without a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browsing import ask, until, violations
from libraries import HANDBOOK
from provider import ScriptedProvider, says
from serving import Running, serving

KEY = "sk-quaggafish-0123456789"
ANSWER = "Either side may end the contract with three months of notice [1]."
NOTICE = "How long is the notice period?"


@pytest.fixture
def provider() -> Any:
    with ScriptedProvider(says(ANSWER)) as running:
        yield running


def test_a_model_is_connected_tested_chosen_and_removed(fresh: Running, watch: Any, provider: ScriptedProvider) -> None:
    provider.key = KEY
    fresh.add("handbook.md", HANDBOOK)
    page = watch(fresh).open()
    turn = ask(page, NOTICE)
    turn.get_by_role("button", name="Connect one").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Provider").select_option("compatible")
    dialog.get_by_label("Address").fill(provider.base_url)
    dialog.get_by_label("Key").fill("sk-wrong-0123456789")
    dialog.get_by_role("button", name="Test").click()
    dialog.locator(".result.failure").wait_for()
    assert violations(page) == []
    dialog.get_by_label("Key").fill(KEY)
    dialog.get_by_role("button", name="List models").click()
    dialog.get_by_text("2 models to choose from.").wait_for()
    dialog.get_by_label("Model").fill("small-chat")
    dialog.get_by_role("button", name="Test").click()
    dialog.get_by_text("It answers: “Either”").wait_for()
    dialog.get_by_role("button", name="Connect").click()
    dialog.wait_for(state="detached")
    turn = ask(page, NOTICE)
    assert "proved" in turn.locator(".kind-note").inner_text()
    assert "compatible:small-chat" in turn.locator(".facts").inner_text()
    page.get_by_label("Model").select_option("extractive")
    turn = ask(page, "How long is the notice?")
    assert "compatible:small-chat" not in turn.locator(".facts").inner_text()
    assert "proved" not in turn.locator(".kind-note").inner_text()
    page.reload()
    page.locator(".turn").nth(2).wait_for()
    # The choice is kept with the conversation.
    until(page, "document.querySelector('.picker select').value === 'extractive'")
    page.goto(f"{fresh.address}/#/settings")
    page.get_by_role("button", name="Disconnect compatible:small-chat").click()
    page.get_by_text("No model is connected: answers are quotations").wait_for()
    page.reload()
    while fresh.client.get("/v1/models/connections").json()["connections"]:
        page.wait_for_timeout(50)
    assert KEY not in page.content()


def test_four_clicks_from_an_empty_page_to_a_connected_model(
    fresh: Running, watch: Any, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(provider.base_url.rpartition(":")[2])
    monkeypatch.setattr("footnotes.answer.models.connect.USUAL_PLACES", (("LM Studio", "compatible", port),))
    provider.models = ["small-chat"]
    # ScriptedProvider answers below any path, as LM Studio does below /v1.
    page = watch(fresh).open()
    page.locator(".picker").get_by_role("button", name="Connect a model").click()
    page.get_by_role("dialog").get_by_role("button", name="LM Studio: small-chat").click()
    page.get_by_role("dialog").get_by_role("button", name="Connect").click()
    page.locator(".picker select").wait_for()
    assert fresh.client.get("/v1/status").json()["model"] == "compatible:small-chat"


def test_a_server_that_forbids_it_offers_nothing(tmp_path: Path, watch: Any) -> None:
    with serving(tmp_path / "library", serve_models=False) as running:
        running.add("handbook.md", HANDBOOK)
        page = watch(running).open()
        turn = ask(page, NOTICE)
        assert turn.get_by_role("button", name="Connect one").count() == 0
        assert page.locator(".picker").is_hidden()
        page.close()
