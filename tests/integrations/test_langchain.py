"""The tests LangChain publishes for retrievers and vector stores, and what they do not look at."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_core.vectorstores import VectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests, VectorStoreIntegrationTests

from footnotes.client import Client
from footnotes.integrations.langchain import (
    FootnotesLoader,
    FootnotesRetriever,
    FootnotesVectorStore,
    LangChainEmbedder,
)
from footnotes.library import Library
from serving import serving


class TestStandardRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _library(self, library: Library) -> None:
        self.opened = library

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return FootnotesRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"library": self.opened}

    @property
    def retriever_query_example(self) -> str:
        return "How long is the notice period?"


class TestStandardVectorStore(VectorStoreIntegrationTests):
    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with Library(tmp_path / "library", embedder=LangChainEmbedder(self.get_embeddings())) as library:
            yield FootnotesVectorStore(library, embedding=self.get_embeddings())


class TestStandardVectorStoreOfServer(VectorStoreIntegrationTests):
    """The same over a server, whose embedder is its own."""

    @pytest.fixture
    def vectorstore(self, tmp_path: Path) -> Iterator[VectorStore]:
        with serving(tmp_path / "library", serve_worker=False) as running, Client(running.address) as client:
            yield FootnotesVectorStore(client)


def test_metadata_of_a_passage_is_its_citation(library: Library) -> None:
    retriever = FootnotesRetriever(library=library, k=1, where="year=2024")
    (found,) = retriever.invoke("paid leave")
    said = found.metadata
    assert library.text(said["document_id"], said["start"], said["end"]) == found.page_content
    assert said["filename"] == "handbook.md" and said["year"] == 2024
    chain = retriever | RunnableLambda(lambda documents: documents[0].metadata["filename"])
    assert chain.invoke("paid leave") == "handbook.md"
    assert retriever.invoke("paid leave", collection="trips", where=None)[0].metadata["collection"] == "trips"


def test_vector_store_filters_and_cites(tmp_path: Path) -> None:
    embedding = DeterministicFakeEmbedding(size=16)
    texts, said = ["The bridge was built in 1974.", "Tea is hot."], [{"topic": "town"}, {"topic": "drinks"}]
    store = FootnotesVectorStore.from_texts(texts, embedding, said, library=tmp_path / "l", citations=True)
    (found,) = store.similarity_search("when was it built", k=2, filter={"topic": "town"})
    assert found.page_content == texts[0] and found.metadata["start"] == 0 and found.metadata["topic"] == "town"
    assert store.as_retriever(search_kwargs={"k": 1}).invoke("bridge")[0].metadata["document_id"]
    scores = [score for _, score in store.similarity_search_with_relevance_scores("bridge", k=2)]
    assert scores == sorted(scores, reverse=True) and all(0 <= score <= 1 for score in scores)
    store.delete()
    assert store.similarity_search("bridge") == []


@pytest.mark.parametrize("by", ["document", "chunk"])
def test_loader(library: Library, by: Any) -> None:
    found = FootnotesLoader(library, by=by, collection="trips").load()
    assert {one.metadata["filename"] for one in found} == {"travel.txt", "bees.txt"}
    assert all(isinstance(one, Document) and one.page_content for one in found)
    if by == "chunk":
        said = found[0].metadata
        assert library.text(said["document_id"], said["start"], said["end"]) == found[0].page_content
