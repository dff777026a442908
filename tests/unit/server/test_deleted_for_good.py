"""A document that is deleted while its vectors are still being made does not come back."""

from __future__ import annotations

import time
from pathlib import Path

from serving import serving

LONG = "\n\n".join(f"Paragraph {n} speaks of the harbour, the ledger and the number {n * 37}." for n in range(3_000))


def test_a_job_does_not_bring_back_what_was_deleted(tmp_path: Path) -> None:
    with serving(tmp_path, embedder="local:minilm-l6") as server:
        client = server.client
        sent = client.post("/v1/documents", files={"file": ("long.txt", LONG.encode())}).json()["jobs"][0]["id"]
        deadline = time.monotonic() + 60
        while not (found := client.get("/v1/documents").json()["documents"]) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert found and found[0]["status"] != "ready", "its words are found, its vectors are being made"
        assert client.delete(f"/v1/documents/{found[0]['document_id']}").status_code == 200
        assert client.get(f"/v1/jobs/{sent}").status_code == 404
        other = client.post("/v1/documents", files={"file": ("short.txt", b"The lantern is lit at dusk.")})
        while client.get(f"/v1/jobs/{other.json()['jobs'][0]['id']}").json()["state"] in ("queued", "running"):
            assert time.monotonic() < deadline + 30
            time.sleep(0.05)
        names = [document["filename"] for document in client.get("/v1/documents").json()["documents"]]
        assert names == ["short.txt"]
        assert not list((tmp_path / "spool").iterdir())
