"""The official MCP client over both transports, and the tools in process."""

from __future__ import annotations

import asyncio
import os
import sys
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import PromptReference

from footnotes.server.tools import TOOLS
from libraries import HANDBOOK
from serving import Running, serving


async def through(client: Client) -> dict[str, Any]:
    """Everything an agent does: look, index, list, search, ask, delete."""
    tools = await client.list_tools()
    assert {tool.name for tool in tools.tools} == set(TOOLS)
    made = await said(client, "index_document", filename="handbook.md", content=HANDBOOK, metadata={"year": 2026})
    listed = await said(client, "list_documents")
    found = await said(client, "search_documents", query="notice period", where={"year": 2026}, limit=3)
    answer = await said(client, "ask", question="How long is the notice period?")
    texts = [{"filename": "a.txt", "content": "Herons nest in March."}, {"filename": "b.txt", "content": ""}]
    several = (await said(client, "index_documents", documents=texts))["documents"]
    assert [one["status"] for one in several] == ["indexed", "failed"] and several[1]["error"]["code"]
    await said(client, "delete_document", document_id=several[0]["id"])
    gone = await said(client, "delete_document", document_id=made["id"])
    after = await said(client, "search_documents", query="notice period")
    refused = await client.call_tool("delete_document", {"document_id": made["id"]})
    assert refused.is_error and refused.structured_content["error"]["code"] == "not_found"
    return {"made": made, "listed": listed, "found": found, "answer": answer, "gone": gone, "after": after}


async def said(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result
    return dict(result.structured_content)


def check(seen: dict[str, Any]) -> None:
    assert seen["made"]["status"] == "indexed"
    assert [row["filename"] for row in seen["listed"]["documents"]] == ["handbook.md"]
    assert "notice" in seen["found"]["hits"][0]["text"]
    assert "three months" in seen["answer"]["answer"] and "[1] handbook.md" in seen["answer"]["text"]
    assert seen["gone"] == {"deleted": [seen["made"]["id"]]} and seen["after"]["hits"] == []


def test_over_http(server: Running) -> None:
    async def run() -> dict[str, Any]:
        async with Client(f"{server.address}/mcp") as client:
            return await through(client)

    check(asyncio.run(run()))


def test_over_standard_input_and_output(tmp_path: Path) -> None:
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "footnotes", "mcp", "--library", str(tmp_path / "library")],
        env={"FOOTNOTES_EMBEDDER": "hashing"},
    )

    async def run() -> dict[str, Any]:
        async with Client(command) as client:
            return await through(client)

    check(asyncio.run(run()))


def test_the_key_names_the_tenant_over_http_too(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        ours, _ = running.app.state.keys.create("ours", scopes=("read", "write"))
        theirs, _ = running.app.state.keys.create("theirs", scopes=("read",))
        running.add("secret.txt", "The vault opens with 4711.", running.with_key(ours))

        async def hits(key: str) -> tuple[int, Any]:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(f"{running.address}/mcp", http_client=http)) as client,
            ):
                found = await said(client, "search_documents", query="vault")
                refused = await client.call_tool("index_document", {"filename": "a", "content": "b"})
                return len(found["hits"]), refused.structured_content

        assert asyncio.run(hits(ours))[0] == 1
        count, refused = asyncio.run(hits(theirs))
        assert count == 0 and refused["error"]["code"] == "forbidden"
        assert running.client.post("/mcp", json={}).status_code == 401


def test_a_search_is_fused_as_it_is_asked_for(server: Running) -> None:
    server.add("handbook.md", HANDBOOK)

    async def run() -> dict[str, Any]:
        async with Client(f"{server.address}/mcp") as client:
            options = {"fusion": "rrf", "rrf_k": 10, "weights": [0.5, 2], "missing_rank": 100, "expand": ["synonyms"]}
            return await said(client, "search_documents", query="notice period", **options)

    scores = asyncio.run(run())["hits"][0]["scores"]
    lexical, dense = scores["lexical"]["rank"] or 100, scores["dense"]["rank"] or 100
    assert scores["fused"] == pytest.approx(0.5 / (10 + lexical) + 2 / (10 + dense))


async def offered(client: Client) -> None:
    """Documents as resources, prompts, and progress while an answer is made."""
    made = await said(client, "index_document", filename="handbook.md", content=HANDBOOK)
    (listed,) = (await client.list_resources()).resources
    assert (listed.name, str(listed.uri)) == ("handbook.md", f"footnotes://documents/{made['id']}")
    (whole,) = (await client.read_resource(str(listed.uri))).contents
    assert "three months of notice" in whole.text
    (hit, *_) = (await said(client, "search_documents", query="paid leave"))["hits"]
    (span,) = (await client.read_resource(f"{listed.uri}/{hit['start']}-{hit['end']}")).contents
    assert span.text == hit["text"]
    templates = (await client.list_resource_templates()).resource_templates
    assert {one.name for one in templates} == {"document", "span"}
    for wrong in ("footnotes://documents/d0", "file:///etc/passwd"):
        with pytest.raises(MCPError):
            await client.read_resource(wrong)
    prompts = (await client.list_prompts()).prompts
    assert {one.name for one in prompts} == {"answer_with_footnotes", "compare_documents", "summarize_document"}
    written = await client.get_prompt("answer_with_footnotes", {"question": "How long is {collection} notice?"})
    assert "How long is {collection} notice?" in written.messages[0].content.text
    with pytest.raises(MCPError, match="needs question"):
        await client.get_prompt("answer_with_footnotes", {})
    steps: list[str] = []

    async def progressed(progress: float, total: float | None, message: str | None) -> None:
        assert progress == len(steps) + 1
        steps.append(message or "")

    answer = await client.call_tool("ask", {"question": "How long is the notice period?"}, progress_callback=progressed)
    assert "three months" in answer.structured_content["answer"]
    assert any("passages found" in step for step in steps) and steps[-1] == "The answer is being written"


def test_resources_prompts_and_progress_over_http(server: Running) -> None:
    async def run() -> None:
        async with Client(f"{server.address}/mcp") as client:
            await offered(client)

    asyncio.run(run())


def test_resources_prompts_and_progress_over_standard_input_and_output(tmp_path: Path) -> None:
    words = ["-m", "footnotes", "mcp", "--library", str(tmp_path / "library")]
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing"}

    async def run() -> None:
        async with Client(StdioServerParameters(command=sys.executable, args=words, env=environment)) as client:
            await offered(client)

    asyncio.run(run())


def test_arguments_are_completed_from_the_caller_s_own_library(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        ours, _ = running.app.state.keys.create("ours", scopes=("read", "write"))
        theirs, _ = running.app.state.keys.create("theirs", scopes=("read",))
        made = running.add("handbook.md", HANDBOOK, running.with_key(ours))

        async def completed(key: str, name: str, typed: str) -> list[str]:
            headers = {"Authorization": f"Bearer {key}"}
            async with (
                httpx2.AsyncClient(headers=headers) as http,
                Client(streamable_http_client(f"{running.address}/mcp", http_client=http)) as client,
            ):
                asked = PromptReference(type="ref/prompt", name="summarize_document")
                found = await client.complete(asked, {"name": name, "value": typed})
                return list(found.completion.values)

        assert asyncio.run(completed(ours, "document", "HAND")) == ["handbook.md"]
        assert asyncio.run(completed(ours, "document", "other")) == []
        assert asyncio.run(completed(ours, "document_id", made[:6])) == [made]
        assert asyncio.run(completed(ours, "collection", "")) == ["default"]
        assert asyncio.run(completed(ours, "unheard", "")) == []
        assert asyncio.run(completed(theirs, "document", "")) == []
