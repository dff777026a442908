"""The tools without a server, and their pages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from mcp import MCPError

from footnotes.errors import Forbidden, OptionError
from footnotes.library import Library
from footnotes.server.mcp import PAGE, list_documents
from footnotes.server.tools import TOOLS, ToolContext, call_tool
from libraries import quick_library


def test_tools_in_process(filled: Library) -> None:
    context = ToolContext(filled)
    found = call_tool("search_documents", {"query": "hotel", "limit": 1}, context)
    assert isinstance(found, dict) and found["hits"][0]["filename"] == "travel.txt"
    for name, arguments in (
        ("nothing", {}),
        ("ask", {}),
        ("ask", {"question": 3}),
        ("ask", {"question": "a", "unknown": 1}),
        ("search_documents", {"query": "a", "limit": 0}),
        ("search_documents", {"query": "a", "limit": True}),
        ("search_documents", {"query": "a", "fusion": "magic"}),
        ("search_documents", {"query": "a", "fusion": "rrf", "weights": [1]}),
        ("search_documents", {"query": "a", "fusion": "rrf", "weights": [1, "2"]}),
    ):
        with pytest.raises(OptionError):
            call_tool(name, arguments, context)
    with pytest.raises(Forbidden):
        call_tool("delete_document", {"document_id": "x"}, ToolContext(filled, scopes=frozenset(("read",))))
    assert all(json.dumps(tool.input_schema) for tool in TOOLS.values())


def test_many_documents_are_listed_page_by_page(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_texts([f"Text number {number}." for number in range(PAGE + 2)])
        first = list_documents(library, None)
        rest = list_documents(library, first.next_cursor)
        assert (len(first.resources), len(rest.resources), rest.next_cursor) == (PAGE, 2, None)
        with pytest.raises(MCPError):
            list_documents(library, "x")
