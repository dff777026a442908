"""LangChain: a retriever, a vector store and a document loader over a library or a server."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np

from footnotes.client import Client
from footnotes.embed import Matrix
from footnotes.errors import OptionError
from footnotes.integrations import Source, hit_metadata, open_library, require
from footnotes.library import Library
from footnotes.retrieve.where import Where, as_filter, both
from footnotes.types import Condition, Hit, Role, SearchResult
from footnotes.types import Document as StoredDocument

require("langchain_core", "langchain")

from langchain_core.callbacks import CallbackManagerForRetrieverRun  # noqa: E402
from langchain_core.document_loaders import BaseLoader  # noqa: E402
from langchain_core.documents import Document  # noqa: E402
from langchain_core.embeddings import Embeddings  # noqa: E402
from langchain_core.retrievers import BaseRetriever  # noqa: E402
from langchain_core.vectorstores import VectorStore  # noqa: E402

OWN = "langchain"
"""The field of metadata in which the store keeps a document's id, and which other fields were given with it."""


class FootnotesRetriever(BaseRetriever):
    """Passages of a library for a question. `metadata` of each says which characters of which document it is."""

    library: Any
    """An open `Library` or `Client`, a folder, or the address of a server."""
    key: str = ""
    k: int = 10
    where: Any = None
    collection: str | None = None
    mode: str | None = None
    reranker: str | None = None

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **changed: Any
    ) -> list[Document]:
        options = {name: changed.get(name, getattr(self, name)) for name in ("where", "collection", "mode", "reranker")}
        limit = int(changed.get("k", self.k))
        found = self._open_library.search(query, limit=limit, per_document=limit, **options)
        return [Document(id=hit.chunk_id, page_content=hit.text, metadata=hit_metadata(hit)) for hit in found.hits]

    @cached_property
    def _open_library(self) -> Library | Client:
        return open_library(self.library, key=self.key)


class FootnotesVectorStore(VectorStore):
    """A collection of a library as a vector store. Searches use both legs, or the one that `mode` names.

    Each LangChain document is a document of the library, found again by its id. With `citations`, what is found says
    in `metadata` where it stands. A text that the collection has already, under another id, is not kept twice.
    """

    def __init__(
        self,
        library: Source,
        *,
        collection: str = "default",
        mode: str | None = None,
        citations: bool = False,
        embedding: Embeddings | None = None,
        key: str = "",
    ) -> None:
        self._library = open_library(library, key=key)
        self._collection, self._mode, self._citations = collection, mode, citations
        self._embedding = embedding

    @property
    def embeddings(self) -> Embeddings | None:
        """The embeddings the library was opened with by `from_texts`; else its own embedder is used."""
        return self._embedding

    def add_texts(
        self,
        texts: Iterable[str],
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        **_: Any,
    ) -> list[str]:
        contents = list(texts)
        fields = metadatas or [{} for _ in contents]
        if len(fields) != len(contents) or (ids is not None and len(ids) != len(contents)):
            raise OptionError(f"{len(contents)} texts need as many metadatas and ids")
        names = [one or uuid.uuid4().hex for one in ids or [""] * len(contents)]
        metadata = [{**one, OWN: {"id": name, "fields": sorted(one)}} for one, name in zip(fields, names, strict=True)]
        sources = [_source(name) for name in names]
        added = self._library.add_texts(contents, sources=sources, metadata=metadata, collection=self._collection)
        for one in added:
            if one.error is not None:
                raise OptionError(f"{one.path}: {one.error.message}", remedy=one.error.remedy)
        return names

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        ids = kwargs.pop("ids", None) or [document.id or "" for document in documents]
        texts, metadatas = [one.page_content for one in documents], [one.metadata for one in documents]
        return self.add_texts(texts, metadatas, ids=ids, **kwargs)

    def delete(self, ids: list[str] | None = None, **_: Any) -> bool | None:
        """Documents by their ids, or all of the collection's; ids that are not there are passed over."""
        found = self._find_documents(ids)
        if found:
            self._library.delete(*(document.id for document in found))
        return True

    def get_by_ids(self, ids: Sequence[str], /) -> list[Document]:
        found = {document.metadata[OWN]["id"]: document for document in self._find_documents(ids)}  # type: ignore[index, call-overload]
        selected = [found[name] for name in ids if name in found]
        return [_document(one.metadata, self._library.text(one.id)) for one in selected]

    def similarity_search(self, query: str, k: int = 4, **options: Any) -> list[Document]:
        return [document for document, _ in self.similarity_search_with_score(query, k, **options)]

    def similarity_search_with_score(
        self,
        query: str,
        k: int = 4,
        filter: Where | None = None,  # noqa: A002 - LangChain's name
        **options: Any,
    ) -> list[tuple[Document, float]]:
        """Documents with their fused scores; higher is better. `filter` is a filter of Footnotes."""
        options = {"mode": self._mode, "limit": k, "per_document": k, **options}
        found: SearchResult = self._library.search(query, where=filter, collection=self._collection, **options)
        return [(self._to_document(hit), hit.score) for hit in found.hits]

    def _select_relevance_score_fn(self) -> Callable[[float], float]:
        return lambda score: min(max(score, 0.0), 1.0)

    @classmethod
    def from_texts(
        cls,
        texts: list[str],
        embedding: Embeddings | None,
        metadatas: list[dict[str, Any]] | None = None,
        *,
        ids: list[str] | None = None,
        library: Source = "~/.footnotes",
        **options: Any,
    ) -> FootnotesVectorStore:
        """A store with texts in it; `library` is where. Its folder is opened with `embedding`, where one is given."""
        if embedding is not None and not isinstance(library, Library | Client):
            library = Library(library, embedder=LangChainEmbedder(embedding))
        store = cls(library, embedding=embedding, **options)
        store.add_texts(texts, metadatas, ids=ids)
        return store

    def _find_documents(self, ids: Sequence[str] | None) -> list[StoredDocument]:
        condition = Condition("source", "glob", _source("*"))
        if ids is not None:
            condition = Condition("source", "in", [_source(name) for name in ids])
        return self._library.documents(where=both(condition), collection=self._collection)

    def _to_document(self, hit: Hit) -> Document:
        found = _document(hit.metadata, hit.text)
        if self._citations or OWN not in hit.metadata:
            found.metadata = {**found.metadata, **hit_metadata(hit)}
            found.metadata.pop(OWN, None)
        return found


def _source(name: str) -> str:
    return f"{OWN}:{name}"


def _document(metadata: Any, text: str) -> Document:
    own = metadata.get(OWN) or {"id": None, "fields": []}
    return Document(id=own["id"], page_content=text, metadata={name: metadata[name] for name in own["fields"]})


class FootnotesLoader(BaseLoader):
    """The documents of a library, whole or by their chunks, for whatever LangChain does with documents."""

    def __init__(
        self,
        library: Source,
        *,
        where: Where | None = None,
        collection: str | None = None,
        by: Literal["document", "chunk"] = "document",
        key: str = "",
    ) -> None:
        self._library = open_library(library, key=key)
        self._where, self._collection, self._by = as_filter(where), collection, by

    def lazy_load(self) -> Iterator[Document]:
        for found in self._library.documents(where=self._where, collection=self._collection):
            metadata = {
                **found.metadata,
                "document_id": found.id,
                "filename": found.filename,
                "title": found.title,
                "source": found.source,
                "collection": found.collection,
            }
            if self._by == "document":
                yield Document(id=found.id, page_content=self._library.text(found.id), metadata=metadata)
                continue
            for chunk in self._library.chunks(found.id):
                page = chunk.pages[0] if chunk.pages else None
                placed = {"start": chunk.start, "end": chunk.end, "page": page, "headings": list(chunk.headings)}
                yield Document(id=chunk.id, page_content=chunk.text, metadata={**metadata, **placed})


class LangChainEmbedder:
    """LangChain embeddings as an embedder of a library: `Library(folder, embedder=LangChainEmbedder(…))`."""

    max_tokens = 8_192

    def __init__(self, embeddings: Embeddings, *, name: str = "") -> None:
        self._embeddings = embeddings
        model = getattr(embeddings, "model", None) or getattr(embeddings, "model_name", None)
        self._name = name or f"langchain:{model or type(embeddings).__name__}"

    @property
    def name(self) -> str:
        return self._name

    @property
    def fingerprint(self) -> str:
        return f"{self._name}/{self.dimensions}"

    @cached_property
    def dimensions(self) -> int:
        return len(self._embeddings.embed_query("dimensions"))

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        if role == "query":
            return np.asarray([self._embeddings.embed_query(text) for text in texts], dtype=np.float32)
        return np.asarray(self._embeddings.embed_documents(list(texts)), dtype=np.float32)
