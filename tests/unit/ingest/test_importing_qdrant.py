"""Collections of a real Qdrant server."""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import IndexRefused, IndexUnavailable, OptionError, SourceUnreadable
from footnotes.library import Library
from importing import embedded, records, texts_of
from libraries import quick_library
from qdrant import QdrantServer, running


@pytest.fixture
def client(qdrant_server: QdrantServer) -> Iterator[Any]:
    opened = connected(qdrant_server)
    try:
        yield opened
    finally:
        opened.close()


def connected(server: QdrantServer) -> Any:
    from qdrant_client import QdrantClient

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a key over plain HTTP, on this machine
        return QdrantClient(url=server.url, api_key=server.api_key or None, check_compatibility=False)


def filled(client: Any, payloads: list[dict[str, Any]], vectors: list[Any], config: Any = None) -> str:
    from qdrant_client import models

    name = f"docs-{uuid.uuid4().hex}"
    client.create_collection(name, vectors_config=config or models.VectorParams(size=64, distance="Cosine"))
    points = [
        models.PointStruct(id=number, vector=vector, payload=payload)
        for number, (payload, vector) in enumerate(zip(payloads, vectors, strict=True))
    ]
    client.upsert(name, points, wait=True)
    return name


def test_a_collection_of_langchain(
    library: Library,
    qdrant_server: QdrantServer,
    client: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.qdrant.PAGE", 2)
    name = filled(client, records(), embedded(texts_of(records())))
    source = f"{qdrant_server.address}/{name}"
    done = library.import_from(source)
    assert (done.source, done.records, done.added, done.vectors.taken_over) == (source, 5, 2, 5)
    handbook, travel = library.documents()
    assert (handbook.filename, travel.filename, handbook.pages) == ("handbook.pdf", "travel.pdf", 3)
    assert [chunk.pages for chunk in library.chunks(travel.id)] == [(1, 1), (2, 2)]
    assert library.import_from(source).added == 0 and library.verify().ok


def test_named_vectors(library: Library, qdrant_server: QdrantServer, client: Any) -> None:
    from qdrant_client import models

    vector, texts = models.VectorParams, texts_of(records())
    config = {"text": vector(size=64, distance="Dot"), "old": vector(size=64, distance="Dot")}
    vectors = [{"text": one, "old": one[::-1]} for one in embedded(texts)]
    source = f"{qdrant_server.address}/{filled(client, records(), vectors, config)}"
    unsaid = library.import_from(source, collection="unsaid")
    assert unsaid.vectors.taken_over == 0 and any("--vector" in note for note in unsaid.notes)
    with quick_library(library.folder.parent / "fresh") as fresh:
        assert fresh.import_from(source, vector="text").vectors.taken_over == 5
    with quick_library(library.folder.parent / "other") as other:
        assert other.import_from(source, vector="old").vectors.taken_over == 0
    with pytest.raises(OptionError, match="text"):
        library.import_from(source, vector="txt")


def test_the_only_vector_that_can_fit_is_chosen(
    library: Library,
    qdrant_server: QdrantServer,
    client: Any,
) -> None:
    from qdrant_client import models

    vector, texts = models.VectorParams, texts_of(records())
    config = {"picture": vector(size=2, distance="Dot"), "text": vector(size=64, distance="Dot")}
    vectors = [{"text": one, "picture": [1.0, 0.0]} for one in embedded(texts)]
    done = library.import_from(f"{qdrant_server.address}/{filled(client, records(), vectors, config)}")
    assert done.vectors.taken_over == 5 and any("only text" in note for note in done.notes)


def test_nodes_of_llama_index_and_plain_payloads(
    library: Library,
    qdrant_server: QdrantServer,
    client: Any,
) -> None:
    def node(text: str, at: int) -> dict[str, Any]:
        packed = {"id_": "x", "text": text, "start_char_idx": at, "metadata": {"file_path": "a.md", "team": "all"}}
        return {"_node_content": json.dumps(packed), "_node_type": "TextNode", "file_path": "a.md", "doc_id": "None"}

    payloads = [node("Second.", 90), node("First.", 5), {"document": "Third.", "n": 1}, {"image": "cat.png"}]
    vectors = embedded(["Second.", "First.", "Third.", "none"])
    done = library.import_from(f"{qdrant_server.address}/{filled(client, payloads, vectors)}")
    assert (done.added, done.chunks, sum(done.left_out.values()), done.vectors.taken_over) == (2, 3, 1, 3)
    first, other = library.documents()
    assert library.text(first.id) == "First.\n\nSecond." and first.metadata["team"] == "all"
    assert other.metadata["n"] == 1 and library.text(other.id) == "Third."


def test_a_key_is_wanted_sent_and_never_shown(tmp_path: Path) -> None:
    key = "sesame-" + uuid.uuid4().hex
    with running(api_key=key) as server:
        client = connected(server)
        source = f"{server.address}/{filled(client, records(), embedded(texts_of(records())))}"
        client.close()
        for wrong in ("", "wrong-" + uuid.uuid4().hex):
            with quick_library(tmp_path / "library", import_api_key=wrong) as library:
                with pytest.raises(IndexRefused) as caught:
                    library.import_from(source)
                assert "import_api_key" in caught.value.remedy and (wrong or "x-x") not in caught.value.message
        with quick_library(tmp_path / "library", import_api_key=key) as library:
            assert library.import_from(source).added == 2


def test_collections_and_servers_that_are_not_there(
    library: Library,
    qdrant_server: QdrantServer,
    client: Any,
) -> None:
    name = filled(client, [{"text": "One."}], embedded(["One."]))
    for source in (f"{qdrant_server.address}/none", qdrant_server.address):
        with pytest.raises(SourceUnreadable, match=name):
            library.import_from(source)
    with pytest.raises(SourceUnreadable, match="does not respond like Chroma"):
        library.import_from(f"chroma://127.0.0.1:{qdrant_server.port}/{name}")
    with pytest.raises(IndexUnavailable):
        library.import_from("qdrant://127.0.0.1:1/docs")
    with pytest.raises(IndexUnavailable):
        library.import_from(f"qdrant+https://127.0.0.1:{qdrant_server.port}/{name}")
    assert library.documents() == []
