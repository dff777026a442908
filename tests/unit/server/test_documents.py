"""Documents over HTTP: handed over, listed, looked at, deleted."""

from __future__ import annotations

import io
import json
import time
import zipfile
from pathlib import Path

import httpx
import numpy as np
import pytest
from click.testing import CliRunner
from fpdf import FPDF
from PIL import Image

from footnotes.cli import main
from footnotes.library import Library
from footnotes.settings import load
from libraries import HANDBOOK
from serving import Running, events_of, serving, settled


def test_an_upload_is_accepted_at_once_and_found_soon_after(server: Running) -> None:
    answer = server.client.post(
        "/v1/documents",
        files=[
            ("file", ("handbook.md", HANDBOOK.encode())),
            ("file", ("folder/note.txt", b"The bridge was built in 1974.")),
        ],
        data={"collection": "staff", "metadata": '{"year": 2026}'},
    )
    assert answer.status_code == 202
    jobs = [settled(server.client, job["id"]) for job in answer.json()["jobs"]]
    assert [job["state"] for job in jobs] == ["ready", "ready"]
    listed = server.client.get("/v1/documents", params={"collection": "staff", "where": "year>=2026"}).json()
    assert [row["filename"] for row in listed["documents"]] == ["handbook.md", "note.txt"]
    hits = server.client.post("/v1/search", json={"query": "when was the bridge built"}).json()["hits"]
    assert hits[0]["filename"] == "note.txt"


def test_a_text_is_a_document(server: Running) -> None:
    answer = server.client.post("/v1/documents", json={"text": "Ravens remember faces.", "filename": "ravens.txt"})
    job = settled(server.client, answer.json()["jobs"][0]["id"])
    said = server.client.get(f"/v1/documents/{job['document_id']}/text", params={"start": 0, "end": 6}).json()
    assert said["text"] == "Ravens" and said["end"] == 6


def test_many_texts_are_handed_over_in_one_request(server: Running) -> None:
    given = [
        {"text": "Herons nest in March.", "metadata": {"month": 3}, "source": "birds/heron"},
        {"text": "Swifts come in May.", "metadata": {"month": 5}, "filename": "swift.txt"},
    ]
    answer = server.client.post("/v1/texts", json={"texts": given, "collection": "birds"})
    assert answer.status_code == 202
    jobs = [settled(server.client, job["id"]) for job in answer.json()["jobs"]]
    assert [job["state"] for job in jobs] == ["ready", "ready"]
    listed = server.client.get("/v1/documents", params={"collection": "birds"}).json()["documents"]
    assert [(row["source"], row["metadata"]["month"]) for row in listed] == [
        ("birds/heron", 3),
        ("upload:swift.txt", 5),
    ]
    hits = server.client.post("/v1/search", json={"query": "herons", "where": {"month": 3}}).json()["hits"]
    assert hits[0]["text"] == "Herons nest in March."


def test_texts_that_are_none_are_refused_together(server: Running) -> None:
    before = len(server.client.get("/v1/documents").json()["documents"])
    for texts in ([], [{"text": "One."}, {"text": ""}], [{"text": "One.", "unknown": 1}], [{"text": "x"}] * 1_001):
        answer = server.client.post("/v1/texts", json={"texts": texts})
        assert answer.status_code == 422 and answer.json()["error"]["code"] == "request_invalid"
    assert len(server.client.get("/v1/documents").json()["documents"]) == before


def test_the_same_bytes_are_one_document(server: Running) -> None:
    first = server.add("a.txt", "The tower is 300 metres high.")
    second = server.add("b.txt", "The tower is 300 metres high.")
    assert first == second


def test_an_address_on_this_machine_is_not_fetched(server: Running) -> None:
    answer = server.client.post("/v1/documents", json={"url": f"{server.address}/healthz"})
    job = settled(server.client, answer.json()["jobs"][0]["id"])
    assert job["state"] == "failed" and job["error"]["code"] == "url_blocked"


def test_an_archive_gives_its_members(server: Running) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("one.txt", "Otters hold hands while they sleep.")
        archive.writestr("two.txt", "Moles dig tunnels in the meadow.")
    answer = server.client.post("/v1/documents", files={"file": ("both.zip", packed.getvalue())})
    job = settled(server.client, answer.json()["jobs"][0]["id"])
    assert job["state"] == "ready" and len(job["documents"]) == 2


def test_a_failed_upload_says_why_and_can_be_tried_again_and_dismissed(server: Running, tmp_path: Path) -> None:
    answer = server.client.post("/v1/documents", files={"file": ("empty.pdf", b"%PDF-1.4 nothing")})
    job = settled(server.client, answer.json()["jobs"][0]["id"])
    assert job["state"] == "failed" and job["error"]["remedy"]
    assert server.client.post(f"/v1/jobs/{job['id']}/retry").status_code == 202
    again = settled(server.client, job["id"])
    assert again["state"] == "failed" and again["attempts"] == 2
    server.client.delete(f"/v1/jobs/{job['id']}")
    assert server.client.get(f"/v1/jobs/{job['id']}").status_code == 404
    assert not list((tmp_path / "library" / "spool").iterdir())


def test_a_deleted_document_is_gone_everywhere(server: Running, tmp_path: Path) -> None:
    kept, gone = server.add("keep.txt", "Herons fish at dawn."), server.add("go.txt", "Badgers dig at night.")
    assert server.client.delete(f"/v1/documents/{gone}").json() == {"deleted": [gone]}
    for path in ("", "/text", "/chunks", "/content", "/pages/1"):
        assert server.client.get(f"/v1/documents/{gone}{path}").status_code == 404
    assert [row["id"] for row in server.client.get("/v1/documents").json()["documents"]] == [kept]
    assert gone not in server.client.get("/v1/jobs").text


def test_pages_of_the_list(server: Running) -> None:
    ids = [server.add(f"{number}.txt", f"Number {number} is a number.") for number in range(3)]
    first = server.client.get("/v1/documents", params={"limit": 2}).json()
    rest = server.client.get("/v1/documents", params={"limit": 2, "offset": first["next_offset"]}).json()
    assert [row["id"] for row in first["documents"] + rest["documents"]] == ids and rest["next_offset"] is None


def test_the_original_is_only_ever_a_download(server: Running) -> None:
    page = "<html><script>alert(1)</script><p>Hello there, reader.</p></html>"
    document = server.add("page.html", page)
    answer = server.client.get(f"/v1/documents/{document}/content")
    assert answer.text == page
    assert answer.headers["content-disposition"].startswith("attachment")
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "sandbox" in answer.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name", ["../../evil.txt", "..\\evil.txt", "/etc/evil.txt", "%2e%2e/evil", "a" * 900, "-rf", "／x"]
)
def test_no_name_leaves_the_library(server: Running, tmp_path: Path, name: str) -> None:
    before = set(tmp_path.iterdir())
    document = server.add(name, f"This file is named {len(name)} characters long.")
    shown = server.client.get(f"/v1/documents/{document}").json()["filename"]
    assert "/" not in shown and "\\" not in shown and len(shown) <= 200
    assert set(tmp_path.iterdir()) == before


def _pdf() -> bytes:
    pdf = FPDF()
    pdf.set_font("helvetica", size=14)
    for text in ("The first page speaks of apples.", "The second page speaks of the long bridge over the river."):
        pdf.add_page()
        pdf.cell(text=text)
    return bytes(pdf.output())


def test_a_page_is_drawn_with_the_quoted_words_boxed(server: Running) -> None:
    answer = server.client.post("/v1/documents", files={"file": ("two.pdf", _pdf())})
    document = settled(server.client, answer.json()["jobs"][0]["id"])["document_id"]
    text = server.client.get(f"/v1/documents/{document}/text").json()["text"]
    start = text.index("long bridge")
    span = {"start": start, "end": start + len("long bridge"), "width": 800}
    place = server.client.get(f"/v1/documents/{document}/pages/2/boxes", params=span).json()
    ((left, top, right, bottom),) = place["boxes"]
    assert 0 < left < right < 1 and 0 < top < bottom < 0.2
    plain = _pixels(server.client, document, {"width": 800})
    boxed = _pixels(server.client, document, span)
    changed = np.argwhere((plain != boxed).any(axis=2))
    height, width = plain.shape[:2]
    assert changed[:, 1].min() == pytest.approx(left * width, abs=4) and changed[:, 1].max() == pytest.approx(
        right * width, abs=4
    )
    assert changed[:, 0].min() == pytest.approx(top * height, abs=4) and changed[:, 0].max() == pytest.approx(
        bottom * height, abs=4
    )
    assert server.client.get(f"/v1/documents/{document}/pages/3").status_code == 404


def _pixels(client: httpx.Client, document: str, params: dict[str, int]) -> np.ndarray:
    answer = client.get(f"/v1/documents/{document}/pages/2", params=params)
    assert answer.headers["content-type"] == "image/png"
    return np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"))


def test_progress_is_told_as_it_is_made(server: Running) -> None:
    job = server.client.post("/v1/documents", files={"file": ("long.txt", b"Words and words. " * 5000)}).json()["jobs"][
        0
    ]
    with server.client.stream("GET", f"/v1/jobs/{job['id']}/events") as answer:
        seen = [json.loads(data) for name, data in events_of(answer.iter_lines()) if name == "job"]
    assert seen[-1]["state"] == "ready" and seen[-1]["document_id"]
    assert {one["id"] for one in seen} == {job["id"]}


def test_reindexing_is_a_job(server: Running) -> None:
    server.add("handbook.md", HANDBOOK)
    job = server.client.post("/v1/reindex", json={"chunker": "sentence"}).json()
    assert settled(server.client, job["id"])["state"] == "ready"
    assert server.client.post("/v1/search", json={"query": "notice period"}).json()["hits"]


def test_what_was_accepted_before_a_crash_is_taken_in_after_it(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with serving(folder) as first:
        first.app.state.intake.stop()
        answer = first.client.post("/v1/documents", json={"text": "Accepted before the end.", "filename": "late.txt"})
        job_id = answer.json()["jobs"][0]["id"]
        first.app.state.database._writing.connection.execute("UPDATE jobs SET state = 'running'")
    with serving(folder) as second:
        assert settled(second.client, job_id)["state"] == "ready"
    with Library(folder) as library:
        assert [document.filename for document in library.documents()] == ["late.txt"]


def test_deleting_does_not_wait_for_a_long_intake(server: Running) -> None:
    document = server.add("short.txt", "Owls turn their heads.")
    long = " ".join(f"Sentence {n} speaks of item {n * 7} and of place {n % 89}." for n in range(30_000))
    job = server.client.post("/v1/documents", files={"file": ("long.txt", long.encode())}).json()["jobs"][0]
    while server.client.get(f"/v1/jobs/{job['id']}").json()["stage"] != "embedding":
        time.sleep(0.01)
    assert server.client.delete(f"/v1/documents/{document}").status_code == 200
    done = settled(server.client, job["id"])
    assert done["state"] == "ready" and done["documents"][0]["chunks"] > 100
    hits = server.client.post("/v1/search", json={"query": "Sentence 29999 speaks of item"}).json()
    assert "29999" in hits["hits"][0]["text"] and hits["legs"]["dense"]["status"] == "ok"


def test_a_server_that_stops_in_the_middle_goes_on_after_a_restart(tmp_path: Path) -> None:
    long = " ".join(f"Sentence {n} speaks of item {n * 7} and of place {n % 89}." for n in range(30_000))
    with serving(tmp_path / "library") as first:
        job = first.client.post("/v1/documents", files={"file": ("long.txt", long.encode())}).json()["jobs"][0]
        while first.client.get(f"/v1/jobs/{job['id']}").json()["stage"] != "embedding":
            time.sleep(0.01)
    with serving(tmp_path / "library") as second:
        assert settled(second.client, job["id"])["state"] == "ready"
        (document,) = second.client.get("/v1/documents").json()["documents"]
        assert document["status"] == "ready"


def test_collections(server: Running) -> None:
    server.add("handbook.md", HANDBOOK, collection="staff")
    changed = server.client.put("/v1/collections/staff", json={"chunker": "section", "system_prompt": "Be brief."})
    assert changed.json()["chunker"] == "section"
    assert [row["name"] for row in server.client.get("/v1/collections").json()["collections"]] == ["staff"]
    assert len(server.client.delete("/v1/collections/staff").json()["deleted"]) == 1
    assert server.client.delete("/v1/collections/staff").status_code == 404


def test_the_command_line_and_the_server_show_the_same_work(tmp_path: Path) -> None:
    folder, file = tmp_path / "library", tmp_path / "by-hand.txt"
    file.write_text("Storks nest on roofs.")
    with serving(folder) as running:
        running.app.state.intake.stop()
        job = running.client.post("/v1/documents", json={"text": "It waits.", "filename": "waits.txt"}).json()["jobs"][
            0
        ]
        with Library(folder, settings=load(folder, embedder="hashing")) as library:
            library.add(file)
        listed = running.client.get("/v1/jobs").json()
        assert [each["id"] for each in listed["jobs"]] == [job["id"]]
        assert [(run["kind"], run["source"], run["stage"]) for run in listed["runs"]] == [("add", str(file), "ready")]
        said = CliRunner().invoke(main, ["jobs", "--library", str(folder), "--all"]).output
    assert job["id"] in said and "waits.txt" in said and str(file) in said
    with serving(folder) as running:
        assert settled(running.client, job["id"])["state"] == "ready"
    assert "no running" in CliRunner().invoke(main, ["jobs", "--library", str(folder)]).output
