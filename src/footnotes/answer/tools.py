"""The agent's tools: search the library, read a part of a document, list the documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from footnotes.answer.context import Context, heading_of
from footnotes.answer.models import Tool
from footnotes.answer.passages import passages_of
from footnotes.answer.prompt import escape
from footnotes.errors import FootnotesError, NotFound, OptionError
from footnotes.types import Chunk, Document, Hit, Scores, SearchResult

SHOWN_CHARACTERS = 700
MAX_LISTED = 50
MAX_READ = 12

SEARCH = Tool(
    "search",
    "Find passages by words and meaning.",
    {
        "type": "object",
        "properties": {"query": {"type": "string", "description": "what to search for"}},
        "required": ["query"],
    },
)
READ = Tool(
    "read_document",
    "Read a section or a page of one document.",
    {
        "type": "object",
        "properties": {
            "document": {"type": "string", "description": "the filename or the id of the document"},
            "section": {"type": "string", "description": "a heading of it"},
            "page": {"type": "integer", "description": "a page of it, from 1"},
        },
        "required": ["document"],
    },
)
LIST = Tool("list_documents", "List the documents there are.", {"type": "object", "properties": {}})
FINISH = Tool("finish", "Say that enough has been found.", {"type": "object", "properties": {}})
TOOLS = (SEARCH, READ, LIST, FINISH)


@dataclass(frozen=True, slots=True)
class LibraryReader:
    """The library behind the tools; the engine passes its own methods, already bound to the tenant and the filter."""

    search: Callable[[str], SearchResult]
    documents: Callable[[], Sequence[Document]]
    chunks: Callable[[str], Sequence[Chunk]]


@dataclass(frozen=True, slots=True)
class Result:
    """The result of a tool: a text for the model, and hits for the answer."""

    text: str
    hits: tuple[Hit, ...] = ()
    found: SearchResult | None = None


def call_tool(library: LibraryReader, name: str, given: Mapping[str, object]) -> Result:
    """Run a tool. The model's mistakes are returned to it as text, so that it can correct them."""
    try:
        if name == SEARCH.name:
            return _search(library, _text(given, "query"))
        if name == READ.name:
            return _read(library, _text(given, "document"), given.get("section"), given.get("page"))
        if name == LIST.name:
            return _list(library)
        raise OptionError(f"there is no tool named {name!r}; use {', '.join(tool.name for tool in TOOLS)}")
    except (OptionError, NotFound) as error:
        return Result(f"Error: {error.message}.")
    except FootnotesError as error:
        if error.code in ("query_empty", "query_too_long"):
            return Result(f"Error: {error.message}.")
        raise


def _search(library: LibraryReader, query: str) -> Result:
    found = library.search(query)
    return Result(shown(found.hits) or "Nothing was found.", found.hits, found)


def _list(library: LibraryReader) -> Result:
    documents = list(library.documents())
    lines = [
        f"{document.filename} ({document.pages or 1} pages): {document.title}" for document in documents[:MAX_LISTED]
    ]
    if len(documents) > MAX_LISTED:
        lines.append(f"… and {len(documents) - MAX_LISTED} more")
    return Result(escape("\n".join(lines)) or "There are no documents.")


def _read(library: LibraryReader, wanted: str, section: object, page: object) -> Result:
    document = _document(library, wanted)
    chunks = [chunk for chunk in library.chunks(document.id) if _is_part(chunk, section, page)][:MAX_READ]
    if not chunks:
        raise NotFound(f"{document.filename} has no such section or page")
    hits = tuple(_as_hit(document, chunk) for chunk in chunks)
    return Result(shown(hits), hits)


def _document(library: LibraryReader, wanted: str) -> Document:
    folded = wanted.casefold().strip()
    documents = list(library.documents())
    for document in documents:
        if folded in (document.id.casefold(), document.filename.casefold(), document.title.casefold()):
            return document
    for document in documents:
        if folded and folded in document.filename.casefold():
            return document
    raise NotFound(f"there is no document named {wanted[:100]!r}")


def _is_part(chunk: Chunk, section: object, page: object) -> bool:
    if isinstance(page, int) and not isinstance(page, bool):
        return chunk.pages is not None and chunk.pages[0] <= page <= chunk.pages[1]
    if isinstance(section, str) and section.strip():
        return any(section.casefold().strip() in heading.casefold() for heading in chunk.headings)
    return True


def _as_hit(document: Document, chunk: Chunk) -> Hit:
    """Convert a chunk that was read, not found, to a hit: it has no scores."""
    return Hit(
        chunk_id=chunk.id,
        document_id=document.id,
        filename=document.filename,
        title=document.title,
        collection=document.collection,
        text=chunk.text,
        start=chunk.start,
        end=chunk.end,
        pages=chunk.pages,
        headings=chunk.headings,
        index=chunk.index,
        metadata=chunk.metadata,
        score=0.0,
        scores=Scores(None, None, 0.0),
        total=chunk.total,
        lines=chunk.lines,
    )


def shown(hits: Sequence[Hit]) -> str:
    """Format the passages for the model, shortened."""
    context = Context(tuple(passages_of(hits)), 0, (), 0)
    return "\n\n".join(
        escape(f"{heading_of(number, passage)}\n{' '.join(passage.text.split())[:SHOWN_CHARACTERS]}")
        for number, passage in enumerate(context.passages, 1)
    )


def pool(hits: Sequence[Hit]) -> list[Hit]:
    """Return every chunk once with its best score; chunks only read get the lowest score of those found."""
    found = [hit.score for hit in hits if hit.score > 0]
    least = min(found, default=1.0)
    best: dict[str, Hit] = {}
    for hit in hits:
        scored = hit if hit.score > 0 else replace(hit, score=least)
        if hit.chunk_id not in best or best[hit.chunk_id].score < scored.score:
            best[hit.chunk_id] = scored
    return sorted(best.values(), key=lambda hit: -hit.score)


def _text(given: Mapping[str, object], name: str) -> str:
    value = given.get(name)
    if not isinstance(value, str) or not value.strip():
        raise OptionError(f"the tool needs {name!r} as a text")
    return value
