"""The Model Context Protocol over standard input and output, and over streamable HTTP at /mcp.

Serves tools, documents as resources, prompts, and completion of their arguments. Reports progress to callers that ask
for it.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import mcp_types as types
from mcp import MCPError
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Receive, Scope, Send

from footnotes import __version__
from footnotes.errors import FootnotesError
from footnotes.library import Library
from footnotes.server.responses import error_body
from footnotes.server.routes.finding import LLM
from footnotes.server.routes.rag import accept_text, indexing_result, wait_for_job
from footnotes.server.state import ServerState
from footnotes.server.tools import TOOLS, Outcome, ToolContext, call_tool, check_scope
from footnotes.types import Answer, Metadata
from footnotes.wire import to_json

Request = ServerRequestContext[Any, Any]
OpenContext = Callable[[Request], AbstractContextManager[ToolContext]]
T = TypeVar("T")
INSTRUCTIONS = "Search and ask the documents of this library; cite the file name and the quoted words you use."
SCHEME = "footnotes://documents/"
TEMPLATE = f"{SCHEME}{{document_id}}"
SPAN_TEMPLATE = f"{TEMPLATE}/{{start}}-{{end}}"
PAGE = 100
MOST_CHARACTERS = 200_000
"""The maximum characters per read; longer documents are read span by span."""
MOST_DOCUMENTS = 10_000
"""The most documents to search for a name."""
_ADDRESS = re.compile(rf"^{re.escape(SCHEME)}([\w.:-]+)(?:/(\d+)-(\d+))?$")
MOST_VALUES = 100
"""The maximum number of values in the protocol."""


def build_server(
    open_context: OpenContext, run_slowly: Callable[..., Awaitable[Any]] = asyncio.to_thread
) -> Server[Any]:
    """Build an MCP server whose tools run in the context of each request."""
    handlers = _Handlers(open_context, run_slowly)
    return Server(
        "footnotes",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=handlers.list_tools,
        on_call_tool=handlers.run,
        on_list_resources=handlers.resources,
        on_list_resource_templates=handlers.templates,
        on_read_resource=handlers.read,
        on_list_prompts=handlers.prompts,
        on_get_prompt=handlers.prompt,
        on_completion=handlers.completion,
    )


class _Handlers:
    """Answers the requests of an MCP client."""

    def __init__(self, open_context: OpenContext, run_slowly: Callable[..., Awaitable[Any]]) -> None:
        self._open_context = open_context
        self._run_slowly = run_slowly

    async def list_tools(self, _: Request, __: object) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(name) for name in TOOLS])

    async def run(self, request: Request, parameters: types.CallToolRequestParams) -> types.CallToolResult:
        request_id = ""
        progress = _Progress(request)

        def call() -> Outcome:
            nonlocal request_id
            with self._open_context(request) as context:
                request_id = context.request_id
                return call_tool(parameters.name, parameters.arguments, replace(context, on_step=progress.report))

        try:
            outcome = await self._run_slowly(call)
            found = to_json(await outcome()) if callable(outcome) else outcome
            return _result(found, is_error=False)
        except FootnotesError as error:
            return _result(error_body(error, request_id), is_error=True)
        finally:
            await progress.flush()

    async def resources(self, request: Request, page: types.PaginatedRequestParams | None) -> types.ListResourcesResult:
        cursor = page.cursor if page is not None else None
        return await self._read_library(request, lambda library: list_documents(library, cursor))

    async def templates(self, _: Request, __: object) -> types.ListResourceTemplatesResult:
        return list_templates()

    async def read(self, request: Request, parameters: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        uri = str(parameters.uri)
        return await self._read_library(request, lambda library: read_document(library, uri))

    async def prompts(self, _: Request, __: object) -> types.ListPromptsResult:
        return list_prompts()

    async def prompt(self, _: Request, parameters: types.GetPromptRequestParams) -> types.GetPromptResult:
        return get_prompt(parameters.name, parameters.arguments)

    async def completion(self, request: Request, typed: types.CompleteRequestParams) -> types.CompleteResult:
        return await self._read_library(request, lambda library: complete(library, typed.argument))

    async def _read_library(self, request: Request, read: Callable[[Library], T]) -> T:
        """Run a function that reads the library of a request."""

        def call() -> T:
            with self._open_context(request) as context:
                check_scope("read", context)
                return read(context.library)

        try:
            found: T = await self._run_slowly(call)
            return found
        except FootnotesError as error:
            raise MCPError(types.INVALID_REQUEST, error.message, to_json(error.info())) from error


class _Progress:
    """Reports progress to a caller that asked for it, from any thread and in order."""

    def __init__(self, request: Request) -> None:
        self._session = request.session
        self._wanted = bool(request.meta and request.meta.get("progress_token") is not None)
        self._loop = asyncio.get_running_loop()
        self._last: asyncio.Task[None] | None = None
        self._count = 0

    def report(self, message: str) -> None:
        if self._wanted:
            self._loop.call_soon_threadsafe(self._begin, message)

    def _begin(self, message: str) -> None:
        self._count += 1
        self._last = self._loop.create_task(self._send(self._last, self._count, message))

    async def _send(self, before: asyncio.Task[None] | None, count: int, message: str) -> None:
        if before is not None:
            await before
        with suppress(Exception):  # the caller may be gone
            await self._session.report_progress(float(count), None, message)

    async def flush(self) -> None:
        """Wait until all progress is sent: no message may follow the result."""
        await asyncio.sleep(0)
        if self._last is not None:
            await self._last


def _describe_tool(name: str) -> types.Tool:
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
    server = build_server(lambda _: nullcontext(context))

    async def run() -> None:
        async with stdio_server() as (reading, writing):
            await server.run(reading, writing, server.create_initialization_options())

    asyncio.run(run())


# ── HTTP


class Sessions:
    """The sessions of /mcp. No state persists between requests: each request has its own key.

    The response is a stream of events if the request asks for progress, otherwise one JSON object.
    """

    def __init__(self, state: ServerState) -> None:
        def open_context(request: Request) -> AbstractContextManager[ToolContext]:
            assert request.request is not None
            return context_for(state, request.request.scope)

        limit = state.settings.serve_body_bytes
        self._plain, self._streaming = (
            StreamableHTTPSessionManager(
                build_server(open_context, state.pools.slow.run),
                stateless=True,
                json_response=plain,
                max_request_body_size=limit,
            )
            for plain in (True, False)
        )

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        async with self._plain.run(), self._streaming.run():
            yield

    async def handle(self, scope: Scope, body: bytes, receive: Receive, send: Send) -> None:
        transport = self._streaming if b'"progressToken"' in body else self._plain
        await transport.handle_request(scope, receive, send)


@contextmanager
def context_for(state: ServerState, scope: Scope) -> Iterator[ToolContext]:
    """Open the context of a request that passed the gate."""
    caller = scope["footnotes.caller"]
    tenant = caller.tenant

    def index(name: str, content: str, metadata: Metadata | None, collection: str | None) -> Outcome:
        job = accept_text(state, tenant, name, content, metadata=dict(metadata or {}), collection=collection)

        async def wait() -> object:
            return indexing_result(await wait_for_job(state, job))

        return wait

    def after_answer(answer: Answer) -> None:
        state.metrics.count_answer(answer)
        state.answers.spend(caller.key_id, answer.usage)

    with state.tenants.using(tenant) as library:
        yield ToolContext(
            library=library,
            request_id=scope["footnotes.request_id"],
            scopes=caller.scopes,
            index=index,
            before_answer=lambda: state.answers.take(tenant),
            after_failure=lambda: state.answers.refund(tenant),
            before_search=lambda: state.answers.take(tenant) if state.settings.reranker == LLM else None,
            after_answer=after_answer,
            after_search=state.metrics.count_search,
            writing=state.intake.paused,
            after_delete=lambda gone, targets: state.intake.forget(tenant, gone, targets),
        )


# ── MCP resources and prompts: documents to read, and prompts that lead to cited answers ──────────────────────


def list_documents(library: Library, cursor: str | None) -> types.ListResourcesResult:
    """Return a page of the documents."""
    if cursor is not None and not cursor.isdigit():
        raise MCPError(types.INVALID_PARAMS, "the cursor is invalid")
    offset = int(cursor or 0)
    found = library.documents(limit=PAGE + 1, offset=offset)
    resources = [
        types.Resource(
            uri=f"{SCHEME}{one.id}",
            name=one.filename,
            title=one.title or None,
            description=f"{one.collection}, {one.characters:,} characters",
            mime_type="text/plain",
            size=one.characters,
        )
        for one in found[:PAGE]
    ]
    following = str(offset + PAGE) if len(found) > PAGE else None
    return types.ListResourcesResult(resources=resources, next_cursor=following)


def list_templates() -> types.ListResourceTemplatesResult:
    whole = types.ResourceTemplate(
        uri_template=TEMPLATE, name="document", description="The text of a document.", mime_type="text/plain"
    )
    span = types.ResourceTemplate(
        uri_template=SPAN_TEMPLATE,
        name="span",
        description="The characters from start to end of a document, as a citation quotes them.",
        mime_type="text/plain",
    )
    return types.ListResourceTemplatesResult(resource_templates=[whole, span])


def read_document(library: Library, uri: str) -> types.ReadResourceResult:
    """Return the text of a resource."""
    match = _ADDRESS.fullmatch(uri)
    if match is None:
        raise MCPError(types.INVALID_PARAMS, "there is no such resource", {"uri": uri[:200]})
    document_id, start, end = match[1], int(match[2] or 0), match[3]
    last = min(int(end), start + MOST_CHARACTERS) if end else start + MOST_CHARACTERS
    try:
        text = library.text(document_id, start, last)
        length = library.document(document_id).characters
    except FootnotesError as error:
        raise MCPError(types.INVALID_PARAMS, error.message, {"uri": uri[:200], "code": error.code}) from error
    if end is None and length > last:
        text += f"\n\n[{length - last:,} more characters: read {SCHEME}{document_id}/{last}-{length}]"
    contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
    return types.ReadResourceResult(contents=[contents])


@dataclass(frozen=True, slots=True)
class Prompt:
    description: str
    arguments: Mapping[str, tuple[str, bool]]
    text: str


PROMPTS: Mapping[str, Prompt] = {
    "answer_with_footnotes": Prompt(
        "Answer a question from the library, every sentence with its source.",
        {"question": ("The question.", True), "collection": ("Only documents of this collection.", False)},
        "Answer this question from my documents alone: {question}\n\n"
        "Use the tool `ask`, and `search_documents` where its answer leaves something open{within}. Give every "
        "sentence a footnote with the file name, the page where there is one, and the quoted words. Say plainly what "
        "the documents do not say.",
    ),
    "summarize_document": Prompt(
        "Summarise one document, with quotations for the main points.",
        {"document": ("The file name or id.", True)},
        "Summarise the document {document}. Find it with `list_documents`, read it as a resource "
        "(footnotes://documents/ID), and quote the words that support each point, with their location.",
    ),
    "compare_documents": Prompt(
        "Compare what documents say about a subject.",
        {"subject": ("The subject to compare.", True)},
        "Compare what my documents say about {subject}. Search with `search_documents` for each side of it, name the "
        "documents that agree and those that differ, and quote the words of each with file name and page.",
    ),
}


def list_prompts() -> types.ListPromptsResult:
    prompts = [
        types.Prompt(
            name=name,
            description=prompt.description,
            arguments=[
                types.PromptArgument(name=each, description=description, required=required)
                for each, (description, required) in prompt.arguments.items()
            ],
        )
        for name, prompt in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=prompts)


def get_prompt(name: str, arguments: Mapping[str, str] | None) -> types.GetPromptResult:
    prompt, provided = PROMPTS.get(name), dict(arguments or {})
    if prompt is None:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name[:60]!r}; known: {', '.join(PROMPTS)}")
    missing = [each for each, (_, required) in prompt.arguments.items() if required and not provided.get(each)]
    if missing:
        raise MCPError(types.INVALID_PARAMS, f"{name} needs {missing[0]}")
    within = f", in the collection {provided['collection']!r}" if provided.get("collection") else ""
    values = {each: provided.get(each, "") for each in prompt.arguments}
    text = prompt.text.format(**values, within=within)  # a value is not parsed as a template
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])


# ── completion of arguments


def complete(library: Library, argument: types.CompletionArgument) -> types.CompleteResult:
    """Return possible values for an argument of a prompt or an address: collections, file names, ids of documents."""
    typed = argument.value.casefold()
    values = list(
        dict.fromkeys(value for value in _values(library, argument.name) if value.casefold().startswith(typed))
    )
    found = types.Completion(values=values[:MOST_VALUES], total=len(values), has_more=len(values) > MOST_VALUES)
    return types.CompleteResult(completion=found)


def _values(library: Library, name: str) -> list[str]:
    match name:
        case "collection":
            return [str(row["name"]) for row in library.collections()]
        case "document":
            return [one.filename for one in library.documents(limit=MOST_DOCUMENTS)]
        case "document_id":
            return [one.id for one in library.documents(limit=MOST_DOCUMENTS)]
    return []
