"""The Model Context Protocol: the tools over standard input and output, and over streamable HTTP at /mcp."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

from footnotes import __version__
from footnotes.engine import Library
from footnotes.errors import FootnotesError
from footnotes.serve.answers import error_body
from footnotes.serve.routes.finding import LLM
from footnotes.serve.routes.rag import accept_text, indexed, settled
from footnotes.serve.state import ServerState
from footnotes.serve.tools import TOOLS, Outcome, ToolContext, call_tool
from footnotes.wire import to_json

ContextOf = Callable[[ServerRequestContext[Any, Any]], AbstractContextManager[ToolContext]]
INSTRUCTIONS = "Search and ask the documents of this library; cite the file name and the quoted words you use."


def make_server(context_of: ContextOf, run_slowly: Callable[..., Awaitable[Any]] = asyncio.to_thread) -> Server[Any]:
    """An MCP server whose tools run in the context that a request stands for."""

    async def list_tools(_: ServerRequestContext[Any, Any], __: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(name) for name in TOOLS])

    async def run(request: ServerRequestContext[Any, Any], called: types.CallToolRequestParams) -> types.CallToolResult:
        request_id = ""

        def call() -> Outcome:
            nonlocal request_id
            with context_of(request) as context:
                request_id = context.request_id
                return call_tool(called.name, called.arguments, context)

        try:
            outcome = await run_slowly(call)
            return _result(to_json(await outcome()) if callable(outcome) else outcome, is_error=False)
        except FootnotesError as error:
            return _result(error_body(error, request_id), is_error=True)

    return Server(
        "footnotes", version=__version__, instructions=INSTRUCTIONS, on_list_tools=list_tools, on_call_tool=run
    )


def _described(name: str) -> types.Tool:
    tool = TOOLS[name]
    hints = types.ToolAnnotations(
        read_only_hint=tool.scope == "read", destructive_hint=name == "delete_document", open_world_hint=False
    )
    return types.Tool(name=name, description=tool.description, input_schema=tool.input_schema, annotations=hints)


def _result(content: dict[str, Any], *, is_error: bool) -> types.CallToolResult:
    text = content["text"] if "text" in content else json.dumps(content, ensure_ascii=True)
    block = types.TextContent(type="text", text=text)
    return types.CallToolResult(content=[block], structured_content=content, is_error=is_error)


# ── standard input and output


def serve_stdio(library: Library, *, read_only: bool = False) -> None:
    """Serve one library to the program that started this one, until it closes the pipe."""
    scopes = frozenset(("read",) if read_only else ("read", "write"))
    context = ToolContext(library, scopes=scopes)
    server = make_server(lambda _: nullcontext(context))

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(run())


# ── HTTP


def make_manager(state: ServerState) -> StreamableHTTPSessionManager:
    """The sessions of /mcp. None is kept between requests: each is judged by its own key."""

    def context_of(request: ServerRequestContext[Any, Any]) -> AbstractContextManager[ToolContext]:
        assert request.request is not None
        return context_for(state, request.request.scope)

    limit = state.settings.serve_body_bytes
    return StreamableHTTPSessionManager(
        make_server(context_of, state.pools.slow.run), stateless=True, json_response=True, max_request_body_size=limit
    )


@contextmanager
def context_for(state: ServerState, scope: Any) -> Iterator[ToolContext]:
    """The context of a request that passed the gate, as long as it lasts."""
    caller = scope["footnotes.caller"]
    tenant = caller.tenant

    def index(name: str, content: str, metadata: Mapping[str, Any] | None, collection: str | None) -> Outcome:
        job = accept_text(state, tenant, name, content, metadata=dict(metadata or {}), collection=collection)

        async def wait() -> Any:
            return indexed(await settled(state, job))

        return wait

    with state.tenants.using(tenant) as library:
        yield ToolContext(
            library=library,
            request_id=scope["footnotes.request_id"],
            scopes=caller.scopes,
            index=index,
            before_answer=lambda: state.answers.take(tenant),
            after_failure=lambda: state.answers.give_back(tenant),
            before_search=lambda: state.answers.take(tenant) if state.settings.reranker == LLM else None,
            after_answer=state.metrics.answered,
            after_search=state.metrics.searched,
            writing=state.intake.paused,
            after_delete=lambda gone, places: state.intake.forget(tenant, gone, places),
        )
