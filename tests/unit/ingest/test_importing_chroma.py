"""Collections of Chroma: in a folder, and behind its real server."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from chroma import ChromaServer
from footnotes.errors import ImportFormatError, IndexUnavailable, SourceUnreadable
from footnotes.library import Library
from importing import embedded, records, texts_of

chromadb = pytest.importorskip("chromadb", reason="Chroma needs the extra footnotes[chroma]")


def quiet() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)


def fill(client: Any, name: str, given: list[dict[str, Any]]) -> Any:
    """A collection as LangChain writes it."""
    collection = client.create_collection(name, embedding_function=None)
    texts = texts_of(given)
    collection.add(
        ids=[str(uuid.uuid4()) for _ in given],
        documents=texts,
        metadatas=[record["metadata"] for record in given],
        embeddings=embedded(texts),
    )
    return collection


def fill_server(server: ChromaServer, name: str) -> None:
    """The same, without Chroma's client, which leaves sockets open."""
    texts = texts_of(records())
    said = [record["metadata"] for record in records()]
    base = f"http://127.0.0.1:{server.port}/api/v2/tenants/default_tenant/databases/default_database/collections"
    with httpx.Client(trust_env=False) as client:
        made = client.post(base, json={"name": name}).raise_for_status().json()
        body = {"ids": texts, "documents": texts, "metadatas": said, "embeddings": embedded(texts)}
        client.post(f"{base}/{made['id']}/add", json=body).raise_for_status()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Any]:
    with chromadb.PersistentClient(path=str(tmp_path / "chroma"), settings=quiet()) as opened:
        yield opened


def test_a_folder_is_taken_over_with_its_vectors(
    library: Library, client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.chroma.PAGE", 2)
    fill(client, "docs", records())
    source = f"chroma:{tmp_path / 'chroma'}#docs"
    done = library.import_from(source)
    assert (done.source, done.records, done.added, done.chunks) == (source, 5, 2, 5)
    assert done.vectors.taken_over == 5
    handbook, _ = sorted(library.documents(), key=lambda document: document.filename)
    assert handbook.source == f"{source}#docs/handbook.pdf" and handbook.pages == 3
    assert library.import_from(source).added == 0 and library.verify().ok


def test_strings_stay_strings_and_lists_stay_lists(library: Library, client: Any, tmp_path: Path) -> None:
    said = {"tags": ["a", "b"], "packed": '["a", "b"]', "n": 3, "x": 1.5, "yes": True}
    collection = client.create_collection("docs", embedding_function=None)
    collection.add(ids=["one"], documents=["One."], metadatas=[said], embeddings=embedded(["One."]))
    library.import_from(f"chroma:{tmp_path / 'chroma'}#docs")
    (document,) = library.documents()
    assert {name: document.metadata[name] for name in said} == said and document.filename == "one"


def test_records_of_chroma_without_documents(library: Library, client: Any, tmp_path: Path) -> None:
    collection = client.create_collection("docs", embedding_function=None)
    collection.add(ids=["one", "two"], embeddings=embedded(["One.", "Two."]), metadatas=[{"text": "One."}, {"k": 1}])
    done = library.import_from(f"chroma:{tmp_path / 'chroma'}#docs")
    assert done.chunks == 1 and sum(done.left_out.values()) == 1
    client.create_collection("bare", embedding_function=None).add(ids=["x"], embeddings=embedded(["One."]))
    with pytest.raises(ImportFormatError, match="available fields: none"):
        library.import_from(f"chroma:{tmp_path / 'chroma'}#bare")


def test_a_collection_of_the_default_embedding_function_needs_none(
    library: Library, client: Any, tmp_path: Path
) -> None:
    collection = client.create_collection("docs")  # its configuration names a function that would fetch a model
    collection.add(ids=["one"], documents=["One."], embeddings=embedded(["One."]))
    assert library.import_from(f"chroma:{tmp_path / 'chroma'}#docs").vectors.taken_over == 1


def test_nodes_of_llama_index(library: Library, client: Any, tmp_path: Path) -> None:
    """As its store for Chroma writes them: the text as document, the node as JSON without it."""
    node = (
        '{{"id_": "n{0}", "text": "", "start_char_idx": {1}, "end_char_idx": {2}, "metadata": {{"file_name": "a.md"}}}}'
    )
    texts = ["Second part.", "First part."]
    collection = client.create_collection("docs", embedding_function=None)
    collection.add(
        ids=["n0", "n1"],
        documents=texts,
        embeddings=embedded(texts),
        metadatas=[
            {"file_name": "a.md", "_node_content": node.format(n, at, at + 9), "_node_type": "TextNode", "doc_id": "d"}
            for n, at in ((0, 90), (1, 5))
        ],
    )
    done = library.import_from(f"chroma:{tmp_path / 'chroma'}#docs")
    assert done.added == 1 and done.vectors.taken_over == 2
    (document,) = library.documents()
    assert document.filename == "a.md" and library.text(document.id) == "First part.\n\nSecond part."
    assert [chunk.metadata["start_char_idx"] for chunk in library.chunks(document.id)] == [5, 90]
    assert "_node_content" not in document.metadata


def test_folders_and_collections_that_are_not_there(library: Library, client: Any, tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable, match=r"chroma\.sqlite3"):
        library.import_from(f"chroma:{tmp_path / 'nowhere'}#docs")
    assert not (tmp_path / "nowhere").exists()
    with pytest.raises(SourceUnreadable, match="there is none"):
        library.import_from(f"chroma:{tmp_path / 'chroma'}#docs")
    for name in ("beta", "alpha"):
        client.create_collection(name, embedding_function=None)
    for source in (f"chroma:{tmp_path / 'chroma'}#docs", f"chroma:{tmp_path / 'chroma'}"):
        with pytest.raises(SourceUnreadable, match="alpha, beta"):
            library.import_from(source)
    assert library.documents() == []


def test_a_server(
    library: Library,
    chroma_server: ChromaServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("footnotes.ingest.importing.chroma.PAGE", 2)
    name = f"docs-{uuid.uuid4().hex}"
    fill_server(chroma_server, name)
    done = library.import_from(f"{chroma_server.address}/{name}")
    assert (done.records, done.added, done.vectors.taken_over) == (5, 2, 5)
    assert library.import_from(f"{chroma_server.address}/{name}?database=default_database").skipped == 2
    with pytest.raises(SourceUnreadable, match=name):
        library.import_from(f"{chroma_server.address}/none")
    with pytest.raises(SourceUnreadable, match=name):
        library.import_from(f"{chroma_server.address}")
    with pytest.raises(SourceUnreadable, match="there is none"):
        library.import_from(f"{chroma_server.address}/{name}?tenant=nobody")
    with pytest.raises(SourceUnreadable, match="does not respond like Qdrant"):
        library.import_from(f"qdrant://127.0.0.1:{chroma_server.port}/{name}")


def test_a_server_that_is_not_there(library: Library, tmp_path: Path) -> None:
    with pytest.raises(IndexUnavailable, match=r"cannot be reached at http://127\.0\.0\.1:1") as caught:
        library.import_from("chroma://127.0.0.1:1/docs")
    assert "--from" in caught.value.remedy
