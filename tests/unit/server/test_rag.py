"""/rag: what clients of a RAG service in PostgreSQL send and read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footnotes.testing.embedder import HashingEmbedder
from serving import Running, serving

TEXT = "The bridge was built in 1974.\n\nThe tower was built in 1889.\n\nThe tunnel was built in 1994."


def index(server: Running, **body: Any) -> dict[str, Any]:
    answer = server.client.post("/rag/index", json={"filename": "notes.md", "content": TEXT, **body})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_scores_are_reciprocal_ranks(server: Running) -> None:
    for number in range(4):
        index(server, filename=f"{number}.md", content=f"Bridge {number} was built in 197{number} over the river.")
    found = server.client.post("/rag/search", json={"query": "when was bridge 2 built", "limit": 3}).json()
    assert len(found["results"]) == 3
    for hit in found["results"]:
        assert {"id", "document_id", "content", "metadata", "filename", "chunk_index"} <= set(hit)
        ranks = [rank for rank in (hit["vector_rank"], hit["text_rank"]) if rank]
        assert hit["rrf_score"] == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
        assert hit["rrf_score"] <= 2 / 61 and isinstance(hit["vector_score"], float)
    best = found["results"][0]
    chunks = server.client.get(f"/v1/documents/{best['document_id']}/chunks").json()["chunks"]
    assert best["id"] in [chunk["id"] for chunk in chunks]


def test_a_search_takes_the_options_of_the_service(server: Running) -> None:
    index(server, collection="staff", metadata={"year": 2020})
    index(server, filename="other.md", content="The bridge is new.", metadata={"year": 2024})

    def search(**body: Any) -> list[dict[str, Any]]:
        answer = server.client.post("/rag/search", json={"query": "bridge built", **body})
        assert answer.status_code == 200, answer.text
        return list(answer.json()["results"])

    assert {hit["filename"] for hit in search(collection="staff")} == {"notes.md"}
    assert {hit["filename"] for hit in search(where={"year": {"$gte": 2022}})} == {"other.md"}
    (top, *_) = search(rrf_k=10, weights=[0.5, 0.5])
    assert top["rrf_score"] == pytest.approx(0.5 / (10 + top["text_rank"]) + 0.5 / (10 + top["vector_rank"]))
    assert search(fusion="alpha")[0]["rrf_score"] > 2 / 61
    assert len(search(limit=1)) == 1
    for wrong in ({"weights": [1]}, {"fusion": "magic"}, {"unknown": 1}, {"per_document": 0}):
        assert server.client.post("/rag/search", json={"query": "a", **wrong}).status_code == 422


@pytest.mark.parametrize(
    ("body", "least"),
    [({"method": "rule_based", "chunk_size": 16, "chunk_overlap": 0}, 3), ({"method": "semantic"}, 1)],
)
def test_the_method_cuts_the_document(server: Running, body: dict[str, Any], least: int) -> None:
    made = index(server, **body)
    assert made["status"] == "indexed" and made["chunks"] >= least
    again = index(server, **body)
    assert again == {**made, "status": "deduplicated"}


def test_the_same_content_takes_over_name_and_metadata(server: Running) -> None:
    made = index(server, metadata={"author": "Ada", "year": 1974})
    again = index(server, filename="renamed.md", metadata={"author": "Bob"})
    assert again == {**made, "status": "deduplicated"}
    (row,) = server.client.get("/rag/documents").json()["documents"]
    assert row["filename"] == "renamed.md" and row["metadata"]["author"] == "Bob" and "year" not in row["metadata"]
    search = {"query": "bridge built", "where": {"author": "Bob"}}
    (hit, *_) = server.client.post("/rag/search", json=search).json()["results"]
    assert hit["filename"] == "renamed.md" and "year" not in hit["metadata"]
    assert index(server, filename="renamed.md", metadata={"author": "Bob"})["status"] == "deduplicated"


def test_unknown_fields_are_mistakes(server: Running) -> None:
    body = {"filename": "notes.md", "content": TEXT, "chunksize": 200}
    answer = server.client.post("/rag/index", json=body)
    assert answer.status_code == 422 and "chunksize" in answer.json()["error"]["message"]
    body = {"filename": "notes.md", "content": TEXT, "method": "rule_based", "chunk_size": 20, "chunk_overlap": 30}
    assert server.client.post("/rag/index", json=body).status_code == 422


def test_documents_say_what_they_were_made_by(server: Running) -> None:
    ids = [index(server, filename=f"{n}.md", content=f"Text number {n}.")["id"] for n in range(3)]
    page = server.client.get("/rag/documents?limit=2").json()
    assert [row["id"] for row in page["documents"]] == ids[:2] and page["next_offset"] == 2
    rest = server.client.get("/rag/documents?limit=2&offset=2").json()
    assert [row["id"] for row in rest["documents"]] == ids[2:] and rest["next_offset"] is None
    one = server.client.get(f"/rag/documents/{ids[0]}").json()
    assert one == page["documents"][0]
    assert one["embedding_model"] == "hashing:64" and one["embedding_dim"] == HashingEmbedder().dimensions
    assert one["source"] == "upload:0.md" and one["ingestion_version"] == 1 and "/" in one["ingestion_fingerprint"]
    assert server.client.get("/rag/documents/d0").status_code == 404


def test_one_document_is_made_again(server: Running) -> None:
    made = index(server)
    before = server.client.get(f"/rag/documents/{made['id']}").json()
    server.client.put(
        "/v1/collections/default", json={"chunker": "rules", "chunker_options": {"tokens": 16, "overlap": 0}}
    )
    answer = server.client.post(f"/rag/documents/{made['id']}/reindex")
    assert answer.status_code == 200 and answer.json()["chunks"] == 3
    after = server.client.get(f"/rag/documents/{made['id']}").json()
    assert after["ingestion_version"] > before["ingestion_version"] and after["updated_at"] > before["updated_at"]
    assert after["ingestion_fingerprint"] != before["ingestion_fingerprint"]
    assert server.client.post("/rag/search", json={"query": "tower built"}).json()["results"][0]["id"]
    assert server.client.post("/rag/documents/d0/reindex").status_code == 404


def test_only_what_is_out_of_date_is_made_again(server: Running) -> None:
    index(server)
    index(server, filename="b.md", content="Another text.", collection="b")
    assert server.client.post("/rag/admin/reindex").json() == {"documents": 0, "status": "reindexed"}
    server.client.put("/v1/collections/b", json={"chunker": "window"})
    assert server.client.get("/v1/status").json()["outdated"] == 1
    assert server.client.post("/rag/admin/reindex").json()["documents"] == 1
    assert server.client.get("/v1/status").json()["outdated"] == 0
    before = {row["id"]: row for row in server.client.get("/rag/documents").json()["documents"]}
    assert server.client.post("/rag/admin/reindex?force=true").json()["documents"] == 2
    for row in server.client.get("/rag/documents").json()["documents"]:
        assert row["ingestion_version"] > before[row["id"]]["ingestion_version"]
        assert row["updated_at"] > before[row["id"]]["updated_at"]


def test_reindexing_everything_needs_an_admin(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        keys = running.app.state.keys
        writer = running.with_key(keys.create("a", scopes=("read", "write"))[0])
        admin = running.with_key(keys.create("a", scopes=("admin",))[0])
        writer.post("/rag/index", json={"filename": "a.md", "content": TEXT})
        assert writer.post("/rag/admin/reindex").status_code == 403
        assert admin.post("/rag/admin/reindex").status_code == 200


def test_another_embedder_is_a_conflict_for_writes_alone(tmp_path: Path) -> None:
    with serving(tmp_path / "library") as running:
        index(running)
    with serving(tmp_path / "library", embedder="local:minilm-l6") as running:
        refused = running.client.post("/rag/index", json={"filename": "b.md", "content": "More."})
        assert refused.status_code == 409
        error = refused.json()["error"]
        assert "hashing" in error["message"] and "local:minilm-l6" in error["message"] and "reindex" in error["remedy"]
        found = running.client.post("/rag/search", json={"query": "bridge built"}).json()
        assert found["results"][0]["vector_score"] is not None
