"""Haystack: a retriever and an answerer as components of a pipeline."""

from __future__ import annotations

from typing import Any, TypeVar

from footnotes.client import Client
from footnotes.errors import OptionError
from footnotes.integrations import Source, answer_metadata, hit_metadata, open_library, require
from footnotes.library import Library
from footnotes.retrieve.where import Where
from footnotes.types import Hit

require("haystack", "haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402
from haystack.dataclasses import GeneratedAnswer  # noqa: E402
from haystack.utils import Secret  # noqa: E402

State = dict[str, Any]
"""The serialised form of a component."""
T = TypeVar("T")


class _Handle:
    """Opens the library at first use, and serialises a component with its address, never with a key."""

    def __init__(self, library: Source, key: Secret | None, **options: Any) -> None:
        self._where = library
        self._key = key
        self._options = options
        self._open: Library | Client | None = None

    @property
    def library(self) -> Library | Client:
        if self._open is None:
            self._open = open_library(self._where, key=(self._key.resolve_value() or "") if self._key else "")
        return self._open

    def close(self) -> None:
        """Close what was opened here; a library that was handed over open stays so."""
        if self._open is not None and self._open is not self._where:
            self._open.close()
        self._open = None

    def to_dict(self, owner: object) -> State:
        if isinstance(self._where, Library | Client):
            remedy = "Name its folder or the address of its server instead."
            raise OptionError("a component over an open library cannot be written down", remedy=remedy)
        key = self._key.to_dict() if self._key else None
        found: State = default_to_dict(owner, library=str(self._where), key=key, **self._options)
        return found


def _from_dict(kind: type[T], data: State) -> T:
    parameters = data["init_parameters"]
    if parameters.get("key") is not None:
        parameters["key"] = Secret.from_dict(parameters["key"])
    found: T = default_from_dict(kind, data)
    return found


@component
class FootnotesRetriever:
    """Passages of a library for a question; their `meta` holds the document and the exact offsets."""

    def __init__(
        self,
        library: Source,
        *,
        top_k: int = 10,
        filters: Where | None = None,
        collection: str | None = None,
        mode: str | None = None,
        reranker: str | None = None,
        key: Secret | None = None,
    ) -> None:
        self._options: dict[str, Any] = {"collection": collection, "mode": mode, "reranker": reranker}
        self._top_k, self._filters = top_k, filters
        self._handle = _Handle(library, key, top_k=top_k, filters=filters, **self._options)

    def close(self) -> None:
        """Close the library that was opened at first use."""
        self._handle.close()

    def to_dict(self) -> State:
        return self._handle.to_dict(self)

    @classmethod
    def from_dict(cls, data: State) -> FootnotesRetriever:
        return _from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, top_k: int | None = None, filters: dict[str, Any] | None = None
    ) -> dict[str, list[Document]]:
        """`filters` are filters of Footnotes, such as `{"year": {"$gte": 2020}}`."""
        limit = top_k or self._top_k
        where = self._filters if filters is None else filters
        found = self._handle.library.search(query, limit=limit, per_document=limit, where=where, **self._options)
        return {"documents": [document_of(hit) for hit in found.hits]}


@component
class FootnotesAnswerer:
    """Answers from a library. `meta["citations"]` of an answer are its footnotes."""

    def __init__(
        self,
        library: Source,
        *,
        filters: Where | None = None,
        collection: str | None = None,
        key: Secret | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._filters, self._collection, self._settings = filters, collection, settings or {}
        self._handle = _Handle(library, key, filters=filters, collection=collection, settings=settings)

    def close(self) -> None:
        """Close the library that was opened at first use."""
        self._handle.close()

    def to_dict(self) -> State:
        return self._handle.to_dict(self)

    @classmethod
    def from_dict(cls, data: State) -> FootnotesAnswerer:
        return _from_dict(cls, data)

    @component.output_types(answers=list[GeneratedAnswer])
    def run(self, query: str, filters: dict[str, Any] | None = None) -> dict[str, list[GeneratedAnswer]]:
        where = self._filters if filters is None else filters
        answer = self._handle.library.ask(query, where=where, collection=self._collection, **self._settings)
        documents = [document_of(hit) for hit in answer.hits]
        generated = GeneratedAnswer(data=answer.answer, query=query, documents=documents, meta=answer_metadata(answer))
        return {"answers": [generated]}


def document_of(hit: Hit) -> Document:
    return Document(id=hit.chunk_id, content=hit.text, meta=hit_metadata(hit), score=hit.score)
