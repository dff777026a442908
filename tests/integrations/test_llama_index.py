"""The retriever and the query engine inside LlamaIndex."""

from __future__ import annotations

import asyncio

from llama_index.core import QueryBundle
from llama_index.core.llms import MockLLM
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool

from footnotes.integrations.llama_index import FootnotesQueryEngine, FootnotesRetriever
from footnotes.library import Library

QUESTION = "How long is the notice period?"


def test_retriever(library: Library) -> None:
    retriever = FootnotesRetriever(library, similarity_top_k=2)
    found = retriever.retrieve(QUESTION)
    assert len(found) == 2 and found[0].score >= found[1].score
    node = found[0].node
    assert library.text(node.ref_doc_id, node.start_char_idx, node.end_char_idx) == node.get_content()
    assert [one.node_id for one in asyncio.run(retriever.aretrieve(QueryBundle(QUESTION)))] == [
        one.node_id for one in found
    ]


def test_retriever_serves_an_engine_of_llama_index(library: Library) -> None:
    engine = RetrieverQueryEngine.from_args(FootnotesRetriever(library), llm=MockLLM())
    answer = engine.query(QUESTION)
    assert "three months" in str(answer) and answer.source_nodes


def test_query_engine_keeps_citations(library: Library) -> None:
    engine = FootnotesQueryEngine(library)
    for answer in (engine.query(QUESTION), asyncio.run(engine.aquery(QUESTION))):
        assert "three months" in str(answer)
        (cited, *_) = answer.metadata["citations"]
        assert library.text(cited["document_id"], cited["start"], cited["end"]) == cited["quote"]
        assert answer.source_nodes[0].node.ref_doc_id == cited["document_id"]
    tool = QueryEngineTool.from_defaults(engine, name="handbook", description="Answers with footnotes")
    assert "three months" in str(tool.call(QUESTION))
