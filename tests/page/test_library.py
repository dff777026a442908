"""Many documents at once: moved by hand or by a drag, tagged, deleted and brought back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from browsing import SAMPLES, violations, wait_for
from serving import Running


@pytest.fixture
def filled(fresh: Running) -> Running:
    for number in range(4):
        fresh.add(f"note-{number}.md", f"# Note {number}\n\nThe crane number {number} is green.\n", collection="inbox")
    fresh.add("kept.md", "# Kept\n\nThe bridge is red.\n", collection="archive")
    return fresh


def collections(running: Running) -> dict[str, str]:
    found = running.client.get("/v1/catalogue").json()["documents"]
    return {one["filename"]: one["collection"] for one in found}


def row(page: Any, name: str) -> Any:
    return page.locator(".library .document-row", has_text=name)


def choose(page: Any, *names: str) -> Any:
    for name in names:
        row(page, name).get_by_role("checkbox").click()
    return page.get_by_role("group", name="Selected documents")


def test_rows_are_dragged_to_a_collection(filled: Running, watch: Any) -> None:
    page = watch(filled).open("#/library")
    row(page, "note-3.md").wait_for()
    choose(page, "note-0.md", "note-1.md").get_by_text("2 documents selected").wait_for()
    row(page, "note-1.md").drag_to(page.locator(".collections label", has_text="archive"))
    wait_for(lambda: [collections(filled)[f"note-{one}.md"] for one in (0, 1)] == ["archive", "archive"])
    assert collections(filled)["note-2.md"] == "inbox", "only what was chosen"
    page.locator(".collections label", has_text="archive").get_by_text("3", exact=True).wait_for()


def test_a_move_that_fails_is_said(filled: Running, watch: Any) -> None:
    watched = watch(filled)
    watched.expected = ("500",)
    page = watched.open("#/library")
    row(page, "note-3.md").wait_for()
    told = {"error": {"code": "internal", "message": "the disk is full", "remedy": "Make room."}}
    page.route("**/v1/documents/*", lambda route: route.fulfill(status=500, json=told))
    row(page, "note-2.md").drag_to(page.locator(".collections label", has_text="archive"))
    assert "the disk is full" in page.get_by_role("dialog", name="Not everything was moved").inner_text()


def test_several_are_tagged_moved_and_found_by_their_tag(filled: Running, watch: Any) -> None:
    page = watch(filled).open("#/library")
    row(page, "note-3.md").wait_for()
    choose(page, "note-0.md", "note-2.md").get_by_role("button", name="Tag").click()
    page.get_by_role("dialog").get_by_label("Tags").fill("green, crane")
    page.get_by_role("dialog").get_by_role("button", name="Save").click()
    row(page, "note-2.md").locator(".tag", has_text="crane").wait_for()
    page.get_by_label("Find by name, path or tag").fill("crane")
    row(page, "note-1.md").wait_for(state="detached")
    assert page.locator(".library .document-row").count() == 2
    page.get_by_role("group", name="Selected documents").get_by_role("button", name="Move").click()
    page.get_by_role("dialog").get_by_label("To the collection").fill("cranes")
    page.get_by_role("dialog").get_by_role("button", name="Move").click()
    wait_for(lambda: [collections(filled)[f"note-{one}.md"] for one in (0, 2)] == ["cranes", "cranes"])


def test_a_deletion_of_many_is_undone_or_sent(filled: Running, watch: Any) -> None:
    page = watch(filled).open("#/library")
    row(page, "note-3.md").wait_for()
    choose(page, "note-0.md", "note-1.md").get_by_role("button", name="Delete").click()
    row(page, "note-0.md").wait_for(state="detached")
    page.get_by_role("button", name="Undo").click()
    row(page, "note-0.md").wait_for()
    assert len(collections(filled)) == 5, "nothing was sent"
    choose(page, "note-2.md").get_by_role("button", name="Delete").click()
    page.get_by_text("Deleted note-2.md.").first.wait_for()
    page.goto("about:blank")  # leaving sends what waits
    wait_for(lambda: "note-2.md" not in collections(filled))


def test_a_full_tray_hides_no_button_and_keeps_its_place(fresh: Running, watch: Any) -> None:
    watched = watch(fresh, viewport={"width": 1280, "height": 720})
    page = watched.page
    errors = ["encrypted_document", *(f"error_{number}" for number in range(8))]
    failed = [
        {
            "id": f"job-{code}",
            "kind": "upload",
            "name": "scan.pdf",
            "state": "failed",
            "retryable": True,
            "documents": [],
            "error": {"code": code, "message": f"scan.pdf is odd ({code})", "remedy": "Look at it."},
        }
        for code in errors
    ]
    page.route("**/v1/jobs?state=failed*", lambda route: route.fulfill(json={"jobs": failed, "next_offset": None}))
    watched.open("#/library")
    field = page.get_by_label("Password of scan.pdf")
    field.wait_for()
    for part in (page.get_by_role("button", name="Add files"), page.get_by_label("Find by name, path or tag")):
        box = part.bounding_box()
        assert box["height"] > 25 and box["y"] + box["height"] < 720
    field.click()
    page.keyboard.type("open ")
    tray = page.locator(".work")
    tray.evaluate("(one) => (one.scrollTop = 60)")
    fresh.add("kept.md", "# Kept\n\nThe bridge is red.\n")  # draws the tray anew
    tray.get_by_text("kept.md").wait_for()
    assert tray.evaluate("(one) => one.scrollTop") == 60
    page.keyboard.type("sesame")
    assert field.input_value() == "open sesame"
    shelf = page.locator("#shelf .shelf-row")
    fresh.add("index.md", "# One\n", source="upload:guide/index.md")
    shelf.nth(1).wait_for()
    assert page.locator("#shelf .path").count() == 0, "a name that stands alone needs no folder"
    fresh.add("index.md", "# Two\n", source="upload:manual/index.md")
    shelf.nth(2).wait_for()
    assert page.locator("#shelf .path").all_inner_texts() == ["manual", "guide"]


def test_a_folder_is_followed_and_left_alone_again(fresh: Running, watch: Any, tmp_path: Path) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "crane.md").write_text("# Crane\n\nThe crane is green.\n")
    page = watch(fresh).open("#/library")
    page.get_by_role("button", name="Add an address").click()
    dialog = page.get_by_role("dialog", name="Add an address")
    dialog.get_by_label("Address").fill(str(folder))
    dialog.get_by_label("Read it").select_option("every day")
    assert violations(page) == []
    dialog.get_by_role("button", name="Add").click()
    followed = page.locator(".followed li", has_text="notes")
    followed.wait_for()
    row(page, "crane.md").wait_for()
    followed.get_by_text("last run").wait_for()
    (source,) = fresh.client.get("/v1/sources").json()["sources"]
    assert source["every"] == 86_400
    followed.get_by_role("button", name="Stop following").click()
    page.get_by_role("button", name="Undo").click()
    followed.get_by_role("button", name="Stop following").click()
    page.locator(".toast", has_text="Its documents stay.").wait_for()
    page.goto("about:blank")  # who leaves the page does not mean to undo
    wait_for(lambda: fresh.client.get("/v1/sources").json()["sources"] == [])
    assert len(fresh.client.get("/v1/documents").json()["documents"]) == 1


def test_what_was_just_added_is_asked_about_before_the_counts_know_it(fresh: Running, watch: Any) -> None:
    page = watch(fresh).open("#/ask")
    stale = fresh.client.get("/v1/status").json()
    page.route("**/v1/status", lambda route: route.fulfill(json=stale))
    with page.expect_file_chooser() as chooser:
        page.get_by_role("button", name="Choose files").click()
    chooser.value.set_files([SAMPLES / "varnish.txt"])
    page.get_by_role("button", name="Ready: ask about these").click()
    page.locator(".samples button").first.click()
    page.locator('.turn[aria-busy="false"]').wait_for()
