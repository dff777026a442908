"""What a key may do is what the page offers; what failed takes nothing away."""

from __future__ import annotations

from typing import Any

from libraries import HANDBOOK
from serving import Running, settled


def opened(running: Running, watch: Any, *scopes: str) -> Any:
    key, _ = running.app.state.keys.create("acme", scopes=scopes)
    watched = watch(running)
    watched.expected = ("401",)
    page = watched.open("#/library")
    page.fill("#key", key)
    page.click("text=Open the library")
    return page


def test_a_key_that_administers_may_write_too(keyed: Running, watch: Any) -> None:
    page = opened(keyed, watch, "admin")
    page.wait_for_selector("text=Add files")
    assert page.locator("text=This key may only read").count() == 0


def test_a_key_that_reads_is_offered_nothing_it_may_not(keyed: Running, watch: Any) -> None:
    writer = keyed.with_key(keyed.app.state.keys.create("acme", scopes=("read", "write"))[0])
    failed(keyed, writer)
    page = opened(keyed, watch, "read")
    page.wait_for_selector("text=This key may only read")
    page.wait_for_selector("li.job.failed")
    assert page.locator("li.job.failed button").count() == 0


def test_a_document_that_failed_takes_no_sample_questions_away(fresh: Running, watch: Any) -> None:
    failed(fresh, fresh.client)
    fresh.add("handbook.md", HANDBOOK)
    watched = watch(fresh)
    page = watched.open()
    page.wait_for_selector(".samples button")
    assert page.locator(".samples button").count() >= 1
    watched.quiet()


def failed(running: Running, client: Any) -> None:
    answer = client.post("/v1/documents", files={"file": ("broken.pdf", b"%PDF-1.4 nothing of the kind")})
    assert settled(client, answer.json()["jobs"][0]["id"])["state"] == "failed"
