"""MCP resources and prompts: documents to read, and prompts that lead to cited answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import mcp_types as types
from mcp import MCPError

from footnotes.errors import FootnotesError
from footnotes.library import Library

SCHEME = "footnotes://documents/"
TEMPLATE = f"{SCHEME}{{document_id}}"
SPAN_TEMPLATE = f"{TEMPLATE}/{{start}}-{{end}}"
PAGE = 100
MOST_CHARACTERS = 200_000
"""The maximum characters per read; longer documents are read span by span."""
MOST_DOCUMENTS = 10_000
"""How many documents are searched for a name."""
_ADDRESS = re.compile(rf"^{re.escape(SCHEME)}([\w.:-]+)(?:/(\d+)-(\d+))?$")


def list_documents(library: Library, cursor: str | None) -> types.ListResourcesResult:
    """The documents, a page at a time."""
    if cursor is not None and not cursor.isdigit():
        raise MCPError(types.INVALID_PARAMS, "the cursor is invalid")
    offset = int(cursor or 0)
    found = library.documents(limit=PAGE + 1, offset=offset)
    listed = [
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
    return types.ListResourcesResult(resources=listed, next_cursor=following)


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
    shown = [
        types.Prompt(
            name=name,
            description=prompt.description,
            arguments=[
                types.PromptArgument(name=each, description=said, required=required)
                for each, (said, required) in prompt.arguments.items()
            ],
        )
        for name, prompt in PROMPTS.items()
    ]
    return types.ListPromptsResult(prompts=shown)


def get_prompt(name: str, arguments: Mapping[str, str] | None) -> types.GetPromptResult:
    prompt, given = PROMPTS.get(name), dict(arguments or {})
    if prompt is None:
        raise MCPError(types.INVALID_PARAMS, f"there is no prompt {name[:60]!r}; known: {', '.join(PROMPTS)}")
    missing = [each for each, (_, required) in prompt.arguments.items() if required and not given.get(each)]
    if missing:
        raise MCPError(types.INVALID_PARAMS, f"{name} needs {missing[0]}")
    within = f", in the collection {given['collection']!r}" if given.get("collection") else ""
    values = {each: given.get(each, "") for each in prompt.arguments}
    text = prompt.text.format(**values, within=within)  # a value is not parsed as a template
    message = types.PromptMessage(role="user", content=types.TextContent(type="text", text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])


# ── completion of arguments


MOST_VALUES = 100
"""The maximum number of values in the protocol."""


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
