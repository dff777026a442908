"""LlamaIndex: a retriever, and a query engine whose answers have footnotes."""

from __future__ import annotations

import asyncio
from typing import Any

from footnotes.integrations import Source, answer_metadata, hit_metadata, open_library, require
from footnotes.retrieve.where import Where
from footnotes.types import Answer, Hit

require("llama_index.core", "llama_index")

from llama_index.core.base.base_query_engine import BaseQueryEngine  # noqa: E402
from llama_index.core.base.base_retriever import BaseRetriever  # noqa: E402
from llama_index.core.base.response.schema import Response  # noqa: E402
from llama_index.core.callbacks import CallbackManager  # noqa: E402
from llama_index.core.schema import (  # noqa: E402
    NodeRelationship,
    NodeWithScore,
    QueryBundle,
    RelatedNodeInfo,
    TextNode,
)


class FootnotesRetriever(BaseRetriever):
    """Passages of a library for a question, each with the exact characters of its document that it is."""

    def __init__(
        self,
        library: Source,
        *,
        similarity_top_k: int = 10,
        where: Where | None = None,
        collection: str | None = None,
        mode: str | None = None,
        reranker: str | None = None,
        key: str = "",
        callback_manager: CallbackManager | None = None,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._library = open_library(library, key=key)
        self._limit = similarity_top_k
        self._options: dict[str, Any] = {
            "where": where,
            "collection": collection,
            "mode": mode,
            "reranker": reranker,
        }

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        found = self._library.search(
            query_bundle.query_str, limit=self._limit, per_document=self._limit, **self._options
        )
        return [node_of(hit) for hit in found.hits]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


class FootnotesQueryEngine(BaseQueryEngine):
    """Answers of a library. `metadata["citations"]` are the footnotes; `source_nodes` the passages they stand in."""

    def __init__(
        self,
        library: Source,
        *,
        where: Where | None = None,
        collection: str | None = None,
        key: str = "",
        callback_manager: CallbackManager | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(callback_manager=callback_manager)
        self._library = open_library(library, key=key)
        self._options: dict[str, Any] = {"where": where, "collection": collection, **settings}

    def _query(self, query_bundle: QueryBundle) -> Response:
        return response_of(self._library.ask(query_bundle.query_str, **self._options))

    async def _aquery(self, query_bundle: QueryBundle) -> Response:
        return await asyncio.to_thread(self._query, query_bundle)

    def _get_prompt_modules(self) -> dict[str, Any]:
        return {}


def node_of(hit: Hit) -> NodeWithScore:
    parent = RelatedNodeInfo(node_id=hit.document_id, metadata={"filename": hit.filename})
    node = TextNode(
        id_=hit.chunk_id,
        text=hit.text,
        metadata=hit_metadata(hit),
        start_char_idx=hit.start,
        end_char_idx=hit.end,
        relationships={NodeRelationship.SOURCE: parent},
    )
    return NodeWithScore(node=node, score=hit.score)


def response_of(answer: Answer) -> Response:
    """The answer; its nodes are the passages that are cited, or those that were found where none is."""
    cited = [hit for hit in answer.hits if any(_stands_in(citation, hit) for citation in answer.citations)]
    nodes = [node_of(hit) for hit in cited or answer.hits]
    return Response(response=str(answer.answer), source_nodes=nodes, metadata=answer_metadata(answer))


def _stands_in(citation: Any, hit: Hit) -> bool:
    inside: bool = hit.document_id == citation.document_id and hit.start <= citation.start < hit.end
    return inside
