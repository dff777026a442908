"""Tools for agents: six functions with their JSON schemas, usable in process by any framework. MCP only wraps them.

context = ToolContext(library)
call_tool("search_documents", {"query": "notice period"}, context)
"""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from footnotes.answer import last_answer
from footnotes.errors import FootnotesError, Forbidden, OptionError
from footnotes.library import Library
from footnotes.render import answer_as_text
from footnotes.types import Answer, Event, Metadata, SearchResult
from footnotes.wire import to_json

_LIMITED = {"type": "integer", "minimum": 1, "maximum": 100}
_COLLECTION = {"type": "string", "description": "Only this named group of documents."}
_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,), "object": (dict,),
    "array": (list,),
}  # fmt: skip


Values = dict[str, Any]
"""A JSON object: arguments, results and schemas of tools."""
Outcome = Values | Callable[[], Awaitable[object]]
"""The result of a tool, or a function that awaits it without a thread."""


@dataclass(frozen=True, slots=True)
class ToolLimits:
    """Limits of one call."""

    results: int = 50
    content_characters: int = 20_000_000
    passage_characters: int = 4_000


@dataclass(frozen=True, slots=True)
class ToolContext:
    """The library of one tenant for tools, their permissions, and the hooks around their work."""

    library: Library
    request_id: str = field(default_factory=lambda: secrets.token_hex(8))
    limits: ToolLimits = field(default_factory=ToolLimits)
    scopes: frozenset[str] = frozenset(("read", "write"))
    index: Callable[[str, str, Metadata | None, str | None], Outcome] | None = None
    before_answer: Callable[[], object] = lambda: None
    after_failure: Callable[[], object] = lambda: None
    before_search: Callable[[], object] = lambda: None
    after_answer: Callable[[Answer], object] = lambda _: None
    after_search: Callable[[SearchResult], object] = lambda _: None
    writing: Callable[[], AbstractContextManager[None]] = nullcontext
    after_delete: Callable[[list[str], set[tuple[str, str]]], object] = lambda *_: None
    on_step: Callable[[str], object] = lambda _: None
    """Called with each step of a tool that takes time."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: name, description, schema of its input, required scope, and its function."""

    name: str
    description: str
    input_schema: Values
    scope: str
    run: Callable[[ToolContext, Values], Outcome]


def call_tool(name: str, arguments: Mapping[str, object] | None, context: ToolContext) -> Outcome:
    """Run a tool. Raises errors of the tree, also for wrong arguments."""
    tool = TOOLS.get(name)
    if tool is None:
        raise OptionError(f"there is no tool {name[:60]!r}; known: {', '.join(TOOLS)}")
    check_scope(tool.scope, context, name)
    return tool.run(context, _check_arguments(tool, dict(arguments or {})))


def check_scope(scope: str, context: ToolContext, name: str = "this") -> None:
    if scope not in context.scopes and "admin" not in context.scopes:
        raise Forbidden(f"{name} needs the {scope} scope")


def _check_arguments(tool: Tool, values: Values) -> Values:
    """Check names, required arguments, types and ranges; return the arguments that are not null."""
    properties: dict[str, Values] = tool.input_schema["properties"]
    if unknown := sorted(set(values) - set(properties)):
        raise OptionError(f"{tool.name} has no parameter {unknown[0][:60]!r}")
    for name in tool.input_schema["required"]:
        if values.get(name) is None:
            raise OptionError(f"{tool.name} needs {name}")
    for name, value in values.items():
        if value is not None and not _fits(value, properties[name]):
            raise OptionError(f"{name} of {tool.name} must be {_describe_type(properties[name])}")
    return {name: value for name, value in values.items() if value is not None}


def _fits(value: object, schema: Mapping[str, Any]) -> bool:
    if not isinstance(value, _TYPES[schema["type"]]) or (isinstance(value, bool) and schema["type"] != "boolean"):
        return False
    if isinstance(value, list):
        count = schema["minItems"] <= len(value) <= schema["maxItems"]
        return count and all(_fits(item, schema["items"]) for item in value)
    if isinstance(value, (int, float)):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return value in schema.get("enum", [value])


def _describe_type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return f"one of {', '.join(schema['enum'])}"
    if "items" in schema:
        return f"a list, from {schema['minItems']} to {schema['maxItems']} long, each {_describe_type(schema['items'])}"
    between = f" from {schema['minimum']} to {schema['maximum']}" if "maximum" in schema else ""
    return f"of type {schema['type']}{between}"


# ── the tools


def _index_document(context: ToolContext, values: Values) -> Outcome:
    content = values["content"]
    if len(content) > context.limits.content_characters:
        raise OptionError(f"the content has more than {context.limits.content_characters:,} characters")
    index = context.index or _index_in_library(context.library)
    return index(values["filename"], content, values.get("metadata"), values.get("collection"))


def _index_documents(context: ToolContext, values: Values) -> Outcome:
    """Index many texts. An error of one text is its result, and does not stop the others."""
    outcomes: list[Outcome] = []
    for document in values["documents"]:
        arguments = _check_arguments(TOOLS["index_document"], {**document, "collection": values.get("collection")})
        outcomes.append(_try_index(context, arguments))
        context.on_step(f"{len(outcomes)} of {len(values['documents'])} documents added")

    async def wait() -> Values:
        return {"documents": [await _wait_for(outcome) for outcome in outcomes]}

    if any(callable(outcome) for outcome in outcomes):
        return wait
    return {"documents": outcomes}


def _try_index(context: ToolContext, values: Values) -> Outcome:
    try:
        return _index_document(context, values)
    except FootnotesError as error:
        return _failure(error)


async def _wait_for(outcome: Outcome) -> object:
    try:
        return to_json(await outcome()) if callable(outcome) else outcome
    except FootnotesError as error:
        return _failure(error)


def _failure(error: FootnotesError) -> Values:
    return {"status": "failed", "error": to_json(error.info())}


def _index_in_library(library: Library) -> Callable[..., Values]:
    def index(filename: str, content: str, metadata: Metadata | None, collection: str | None) -> Values:
        added = library.add_text(
            content, filename=filename, metadata=metadata, collection=collection, source=f"upload:{filename}"
        )
        if added.error is not None:
            raise FootnotesError(added.error.message, remedy=added.error.remedy)
        status = "deduplicated" if added.status == "deduplicated" else "indexed"
        return {"id": added.document_id, "status": status, "chunks": added.chunks}

    return index


def _search_documents(context: ToolContext, values: Values) -> Values:
    limit = min(values.pop("limit", 10), context.limits.results)
    context.before_search()
    found = context.library.search(values.pop("query"), limit=limit, **values)
    context.after_search(found)
    most = context.limits.passage_characters
    hits = [replace(hit, text=hit.text[:most]) for hit in found.hits]
    return {"hits": to_json(hits), "legs": to_json(found.legs), "degraded": found.degraded}


def _list_documents(context: ToolContext, values: Values) -> Values:
    limit = min(values.get("limit", 50), context.limits.results)
    offset = values.get("offset", 0)
    found = context.library.documents(collection=values.get("collection"), limit=limit + 1, offset=offset)
    rows = [
        {"id": one.id, "filename": one.filename, "title": one.title, "collection": one.collection,
         "status": one.status, "chunks": one.chunks, "pages": one.pages, "metadata": dict(one.metadata)}
        for one in found[:limit]
    ]  # fmt: skip
    return {"documents": rows, "next_offset": offset + limit if len(found) > limit else None}


def _delete_document(context: ToolContext, values: Values) -> Values:
    found = context.library.document(values["document_id"])
    with context.writing():
        deleted = context.library.delete(found.id)
        context.after_delete(deleted, {(found.collection, found.source)})
    return {"deleted": deleted}


def _ask(context: ToolContext, values: Values) -> Values:
    context.before_answer()
    try:
        answer = last_answer(
            _report_steps(context.library.ask_stream(values.pop("question"), **values), context.on_step)
        )
    except Exception:
        context.after_failure()
        raise
    context.after_answer(answer)
    names = ("answer", "kind", "abstained", "citations", "unsupported", "uncertain", "degraded")
    return {"text": answer_as_text(answer), **to_json({name: getattr(answer, name) for name in names})}


def _report_steps(events: Iterator[Event], on_step: Callable[[str], object]) -> Iterator[Event]:
    """Pass events on, and report steps, the number of passages, and that the answer begins."""
    writing = False
    for event in events:
        if event.type == "step" and event.step and event.step.text:
            on_step(event.step.text[:300])
        elif event.type == "hits":
            on_step(f"{len(event.hits)} passages found")
        elif event.type == "token" and not writing:
            writing = True
            on_step("The answer is being written")
        yield event


def _schema(required: list[str], **properties: Values) -> Values:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


TOOLS: dict[str, Tool] = {
    tool.name: tool
    for tool in (
        Tool(
            "index_document",
            "Add a text to the library, to search and cite it. The same filename again replaces it.",
            _schema(
                ["filename", "content"],
                filename={"type": "string", "description": "The file name, with a suffix for its type: .md, .txt."},
                content={"type": "string"},
                collection=_COLLECTION,
                metadata={"type": "object", "description": "Metadata of the document: {\"year\": 2026}."},
            ),
            "write",
            _index_document,
        ),
        Tool(
            "index_documents",
            "Add up to 100 texts to the library in one call. The same filename again replaces its text.",
            _schema(
                ["documents"],
                documents={
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 100,
                    "items": {"type": "object", "description": "filename, content and metadata, as of index_document."},
                },
                collection=_COLLECTION,
            ),
            "write",
            _index_documents,
        ),
        Tool(
            "search_documents",
            "Find passages by words and meaning. Returns the passages with document, page and exact offsets.",
            _schema(
                ["query"],
                query={"type": "string"},
                limit=_LIMITED,
                collection=_COLLECTION,
                where={"type": "object", "description": "A filter: {\"year\": {\"$gte\": 2020}}."},
                per_document=_LIMITED,
                fusion={"type": "string", "enum": ["adaptive", "alpha", "rrf"]},
                rrf_k={"type": "integer", "minimum": 1, "maximum": 10_000},
                weights={"type": "array", "items": {"type": "number", "minimum": 0, "maximum": 1_000},
                         "minItems": 2, "maxItems": 2, "description": "Of words and meaning, in rrf."},
                missing_rank={"type": "integer", "minimum": 0, "maximum": 1_000_000},
                expand={"type": "array", "items": {"type": "string", "enum": ["synonyms"]}, "minItems": 0,
                        "maxItems": 1, "description": "Search for other words of its words too."},
            ),
            "read",
            _search_documents,
        ),
        Tool(
            "list_documents",
            "List the documents of the library.",
            _schema(
                [],
                collection=_COLLECTION,
                limit=_LIMITED,
                offset={"type": "integer", "minimum": 0, "maximum": 1_000_000_000},
            ),
            "read",
            _list_documents,
        ),
        Tool(
            "delete_document",
            "Delete a document for good, by its id.",
            _schema(["document_id"], document_id={"type": "string"}),
            "write",
            _delete_document,
        ),
        Tool(
            "ask",
            "Answer a question from the documents; every sentence carries a footnote to the words that support it.",
            _schema(
                ["question"],
                question={"type": "string"},
                collection=_COLLECTION,
                deep={"type": "boolean", "description": "Search more than once, for questions with several parts."},
            ),
            "read",
            _ask,
        ),
    )
}  # fmt: skip
