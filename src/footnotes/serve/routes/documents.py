"""/v1/documents: upload, list, look at and delete."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from itertools import islice
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response

from footnotes.errors import FilterError, FootnotesError, NotFound, RequestInvalid
from footnotes.retrieve.where import as_filter, both
from footnotes.serve import replies as r
from footnotes.serve.jobs import ServerJob
from footnotes.serve.models import Body, Metadata, Name, TextDocument
from footnotes.serve.openapi import errors, file_of
from footnotes.serve.picture import highlighted, words_of
from footnotes.serve.state import Books, ServerState, State, WritableBooks, Writer
from footnotes.serve.strict import StrictRoute, parsed, validated
from footnotes.types import Document

router = APIRouter(prefix="/v1/documents", tags=["documents"], route_class=StrictRoute)
MOST_FILES = 1_000
_SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_FORM = {
    "multipart/form-data": {
        "schema": {
            "type": "object",
            "required": ["file"],
            "properties": {
                "file": {"type": "array", "items": {"type": "string", "format": "binary"}},
                "collection": {"type": "string"},
                "metadata": {"type": "string", "description": "A JSON object, given to every file."},
            },
        },
        "example": {"file": ["(the bytes of handbook.pdf)"], "collection": "staff", "metadata": '{"year": 2026}'},
    }
}
FORM_BODY = {"required": True, "content": _FORM}
_UPLOAD_BODY = {
    "required": True,
    "content": {**_FORM, "application/json": {"schema": TextDocument.model_json_schema()}},
}


@router.post(
    "",
    status_code=202,
    openapi_extra={"requestBody": _UPLOAD_BODY},
    summary="Hand documents over",
    response_description="Each is a job now",
    responses=errors(507, body=True),
)
async def upload(request: Request, state: State, caller: Writer) -> r.Accepted:
    """Accepts files (multipart, one or many `file` parts), a text or an address; each becomes a job at once."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        jobs = await uploaded(request, state, caller.tenant)
    elif kind == "application/json":
        jobs = [await state.pools.short.run(_given, state, caller.tenant, await request.body())]
    else:
        raise RequestInvalid("the body is neither multipart/form-data nor application/json")
    return r.Accepted(jobs)


class UploadForm(Body):
    """The fields of a form beside its files."""

    collection: Name | None = None
    metadata: Metadata | None = None


Outcome = tuple[str, ServerJob | FootnotesError]


async def uploaded(request: Request, state: State, tenant: str) -> list[ServerJob]:
    """The files of a form, each kept and queued; none of them where one is refused."""
    jobs: list[ServerJob] = []
    for _, outcome in await accepted(request, state, tenant, all_or_none=True):
        if isinstance(outcome, FootnotesError):
            for job in jobs:
                await state.pools.short.run(state.intake.dismiss, tenant, job.id)
            raise outcome
        jobs.append(outcome)
    return jobs


async def accepted(request: Request, state: State, tenant: str, *, all_or_none: bool = False) -> list[Outcome]:
    """The files of a form by their names, each kept and queued, or the reason why it was refused."""
    async with request.form(max_files=MOST_FILES, max_fields=100) as form:
        files = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
        if not files:
            raise RequestInvalid("the form has no file", remedy="Send each file as a part named `file`.")
        given = [(name, part) for name, part in form.multi_items() if isinstance(part, str)]
        options = dict(await state.pools.short.run(_form, given, _most_nodes(state)))
        found: list[Outcome] = []
        for file in files:
            name = file.filename or "unnamed"
            accept = state.intake.accept_file
            try:
                job = await state.pools.short.run(accept, tenant, file.file, filename=name, **options)
                found.append((name, job))
            except FootnotesError as error:
                found.append((name, error))
                if all_or_none:
                    break
        return found


def _form(given: list[tuple[str, str]], most_nodes: int) -> UploadForm:
    """The fields of a form, checked as those of a JSON body are; an empty one is not there."""
    fields: dict[str, Any] = {name: text for name, text in given if text}
    if len({name for name, _ in given}) != len(given):
        raise RequestInvalid("a field stands twice in the form")
    if "metadata" in fields:
        fields["metadata"] = parsed(fields["metadata"].encode("utf-8", "surrogatepass"), most_nodes, "the metadata")
    return validated(UploadForm, fields, place="")


def _most_nodes(state: ServerState) -> int:
    return state.settings.serve_json_nodes


def _given(state: State, tenant: str, body: bytes) -> ServerJob:
    given = validated(TextDocument, parsed(body, _most_nodes(state)), place="")
    if (given.text is None) == (given.url is None):
        raise RequestInvalid("exactly one of text and url must be given")
    if given.url is not None:
        return state.intake.accept_url(tenant, given.url, collection=given.collection, metadata=given.metadata)
    content = io.BytesIO(str(given.text).encode("utf-8", "replace"))
    return state.intake.accept_file(
        tenant,
        content,
        filename=given.filename or "text.txt",
        collection=given.collection,
        metadata=given.metadata,
        source=given.source,
    )


@router.get("", summary="List documents", responses=errors())
def documents(
    library: Books,
    collection: Annotated[str | None, Query(max_length=200)] = None,
    where: Annotated[str | None, Query(description="A JSON filter, or key=value.", max_length=10_000)] = None,
    checksum: Annotated[str | None, Query(description="Of the file, as `file_hash`.", max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Documents:
    """In the order they came. `next_offset` is null on the last page."""
    chosen = both(as_filter(_where(where)), as_filter({"checksum": checksum} if checksum else None))
    found = library.documents(where=chosen, collection=collection, limit=limit + 1, offset=offset)
    near = library.near_duplicates()
    shown = [replace(document, near_duplicate_of=near.get(document.id)) for document in found[:limit]]
    return r.Documents(shown, offset + limit if len(found) > limit else None)


def _where(written: str | None) -> Any:
    if written is None or not written.lstrip().startswith("{"):
        return written
    try:
        return json.loads(written)
    except (ValueError, RecursionError) as error:
        raise FilterError("the filter is not valid JSON") from error


@router.get("/{document_id}", summary="One document", responses=errors(404))
def document(document_id: str, library: Books) -> Document:
    near = library.near_duplicates()
    return replace(library.document(document_id), near_duplicate_of=near.get(document_id))


@router.delete("", summary="Delete the documents of a checksum", responses=errors(404, 507))
def delete_by_checksum(
    checksum: Annotated[str, Query(description="Of the file, as `file_hash`.", min_length=1, max_length=100)],
    library: WritableBooks,
    state: State,
    caller: Writer,
) -> r.Deleted:
    found = library.documents(where={"checksum": checksum})
    if not found:
        raise NotFound(f"no document has the checksum {checksum!r}")
    return r.Deleted(state.intake.delete(caller.tenant, library, [document.id for document in found]))


@router.delete("/{document_id}", summary="Delete a document", responses=errors(404, 507))
def delete(document_id: str, library: WritableBooks, state: State, caller: Writer) -> r.Deleted:
    """When it returns the document is found by nothing any more."""
    found = library.document(document_id).id
    return r.Deleted(state.intake.delete(caller.tenant, library, [found]))


@router.get(
    "/{document_id}/content",
    response_class=FileResponse,
    summary="The original, as a download",
    response_description="The bytes as they were handed over",
    responses=file_of("application/octet-stream") | errors(404),
)
def content(document_id: str, library: Books) -> FileResponse:
    found = library.document(document_id)
    path = library.original(document_id)
    kind = "application/octet-stream"
    return FileResponse(path, filename=found.filename, media_type=kind, headers=_SANDBOX)


@router.get("/{document_id}/text", summary="Canonical text, or a span of it", responses=errors(404))
def text(
    document_id: str,
    library: Books,
    start: Annotated[int, Query(ge=0, le=2**40)] = 0,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
) -> r.Text:
    """`text[start:end]` is what a footnote quotes."""
    found = library.text(document_id, start, end)
    return r.Text(document_id, start, start + len(found), found)


@router.get("/{document_id}/chunks", summary="How the document was cut", responses=errors(404))
def chunks(
    document_id: str,
    library: Books,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Chunks:
    found = library.chunks(document_id)
    more = len(found) > offset + limit
    return r.Chunks(found[offset : offset + limit], len(found), offset + limit if more else None)


_BLOCKS = "Its blocks: headings, paragraphs, lists, tables, code"


@router.get("/{document_id}/blocks", summary=_BLOCKS, responses=errors(404))
def blocks(
    document_id: str,
    library: Books,
    start: Annotated[int, Query(ge=0, le=2**40)] = 0,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    kind: Annotated[str | None, Query(max_length=20, description="Only these, such as `heading`.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 2_000,
) -> r.Blocks:
    """Those that touch a span of the canonical text, in its order."""
    library.document(document_id)
    found = (block for block in library.blocks(document_id, start, end) if kind is None or block.kind == kind)
    shown = [
        r.ShownBlock(block.kind, block.start, block.end, block.page, block.level) for block in islice(found, limit)
    ]
    return r.Blocks(shown)


@router.get("/{document_id}/find", summary="Where words stand in it", responses=errors(404))
def find(document_id: str, library: Books, q: Annotated[str, Query(max_length=500)] = "") -> r.Places:
    """In any case, however they are broken into lines; at most 500 places."""
    library.document(document_id)
    return r.Places([r.Place(*place) for place in library.find(document_id, q)])


_PAGE = "/{document_id}/pages/{page}"


@router.get(f"{_PAGE}/words", summary="The words of a page, and where each stands", responses=errors(404))
async def page_words(document_id: str, page: int, library: Books, state: State) -> r.PageWords:
    """For a layer of text over its picture: offset in the canonical text, word, and box in shares of the picture."""
    return r.PageWords(page, await state.pools.draw.run(words_of, library, document_id, page))


@router.get(
    _PAGE,
    response_class=Response,
    summary="A page of a PDF as a picture",
    response_description="The page, with the span boxed",
    responses=file_of("image/png") | errors(404),
)
async def page_image(
    document_id: str,
    page: int,
    library: Books,
    state: State,
    start: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    width: Annotated[int, Query(ge=100, le=2_400)] = 1_000,
) -> Response:
    """PNG, with the span of canonical text from `start` to `end` boxed."""
    picture = await state.pools.draw.run(highlighted, library, document_id, page, start, end, width, drawn=True)
    return Response(picture.png, media_type="image/png", headers={"Cache-Control": "private, max-age=60"})


@router.get(f"{_PAGE}/boxes", summary="Where a span stands on a page", responses=errors(404))
async def page_boxes(
    document_id: str,
    page: int,
    library: Books,
    state: State,
    start: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    width: Annotated[int, Query(ge=100, le=2_400)] = 1_000,
) -> r.Boxes:
    """Boxes as `[left, top, right, bottom]`, in shares of the picture from its upper left corner."""
    picture = await state.pools.draw.run(highlighted, library, document_id, page, start, end, width, drawn=False)
    boxes = [(box.left, box.bottom, box.right, box.top) for group in picture.boxes for box in group]
    return r.Boxes(page, picture.width, picture.height, boxes)
