"""The curl lines of other systems, word for word."""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from serving import Running

pytestmark = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")


def curl(server: Running, line: str, folder: Path) -> tuple[int, Any]:
    """Run a curl line against the server; the status and the JSON."""
    words = shlex.split(line.replace("http://localhost:8000", server.address))
    done = subprocess.run(
        [*words, "-s", "--noproxy", "*", "-w", "\n%{http_code}"], capture_output=True, text=True, cwd=folder, check=True
    )
    body, _, status = done.stdout.rpartition("\n")
    return int(status), json.loads(body)


def test_rag(server: Running, tmp_path: Path) -> None:
    index = """curl -X POST http://localhost:8000/rag/index -H 'Content-Type: application/json' """ + (
        """-d '{"filename": "bridge.md", "content": "The bridge was built in 1974.", "metadata": {"author": "Ada"}}'"""
    )
    status, made = curl(server, index, tmp_path)
    assert status == 200 and made["status"] == "indexed" and made["chunks"] == 1
    status, again = curl(server, index, tmp_path)
    assert again == {**made, "status": "deduplicated"}
    status, found = curl(
        server,
        """curl -X POST http://localhost:8000/rag/search -H 'Content-Type: application/json' """
        """-d '{"query": "when was the bridge built", "limit": 5}'""",
        tmp_path,
    )
    (hit,) = found["results"]
    assert hit["filename"] == "bridge.md" and hit["metadata"]["author"] == "Ada"
    assert all(isinstance(hit[name], float) for name in ("rrf_score", "vector_score", "text_score"))
    status, listed = curl(server, "curl http://localhost:8000/rag/documents", tmp_path)
    assert [row["id"] for row in listed["documents"]] == [made["id"]]
    status, done = curl(server, "curl -X POST http://localhost:8000/rag/admin/reindex", tmp_path)
    assert status == 200 and done["documents"] == 0
    status, done = curl(server, "curl -X POST 'http://localhost:8000/rag/admin/reindex?force=true'", tmp_path)
    assert status == 200 and done["documents"] == 1
    status, gone = curl(server, f"curl -X DELETE http://localhost:8000/rag/documents/{made['id']}", tmp_path)
    assert status == 200
    status, gone = curl(server, f"curl -X DELETE http://localhost:8000/rag/documents/{made['id']}", tmp_path)
    assert status == 404 and gone["error"]["code"] == "not_found"


def test_api(server: Running, tmp_path: Path) -> None:
    (tmp_path / "handbook.txt").write_text("The notice period is three months. Every employee has 28 days of leave.")
    status, made = curl(server, "curl -X POST http://localhost:8000/api/upload -F file=@handbook.txt", tmp_path)
    assert status == 200 and made["filename"] == "handbook.txt"
    status, found = curl(server, "curl 'http://localhost:8000/api/search?q=notice+period'", tmp_path)
    assert status == 200 and set(found) == {"results"} and found["results"][0]["doc_id"] == made["doc_id"]
    status, said = curl(
        server, "curl 'http://localhost:8000/api/search?q=notice+period+three+months&rag=true'", tmp_path
    )
    assert status == 200 and set(said) == {"results", "rag"} and said["results"] == []
    rag = said["rag"]
    assert set(rag) == {
        "query", "final_answer", "model", "token_usage", "retrieved_chunks", "final_prompt", "agent_steps",
        "debug_logs", "degraded", "rateLimit",
    }  # fmt: skip
    assert "three months" in rag["final_answer"] and set(rag["rateLimit"]) == {"limit", "remaining", "resetDate"}
    (chunk,) = rag["retrieved_chunks"]
    assert set(chunk) == {"doc_id", "filename", "chunk_id", "text", "similarity", "start_offset", "end_offset"}
    text = server.client.get(f"/v1/documents/{made['doc_id']}/text").json()["text"]
    assert text[chunk["start_offset"] : chunk["end_offset"]] == chunk["text"] and chunk["similarity"] >= 0.25
    assert set(rag["agent_steps"][1]) == {"type", "text", "tool", "tool_input", "tool_output"}
    status, refused = curl(server, "curl 'http://localhost:8000/api/search?q='", tmp_path)
    assert status == 400 and refused["code"] == "query_empty" and refused["error"] == "q is empty"


def test_subjects(server: Running, tmp_path: Path) -> None:
    server.add("one.txt", "Subject matter.", collection="42")
    server.add("two.txt", "Another matter.", collection="7")
    status, done = curl(server, "curl -X POST http://localhost:8000/subjects/42/reindex", tmp_path)
    assert (status, done) == (200, {"ok": True, "reindexed": 1})
    status, _ = curl(server, "curl -X POST http://localhost:8000/subjects/43/reindex", tmp_path)
    assert status == 404
