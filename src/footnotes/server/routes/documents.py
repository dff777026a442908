"""/v1/documents: upload, list, look at and delete."""

from __future__ import annotations

import hashlib
import io
import struct
import tempfile
import zlib
from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.datastructures import UploadFile
from starlette.responses import FileResponse, Response

from footnotes.errors import FootnotesError, NotFound, OptionError, RequestInvalid
from footnotes.ingest.sources.mail import message_files
from footnotes.library import Library
from footnotes.parse.limits import Limits
from footnotes.parse.pdf_boxes import Box
from footnotes.parse.pdf_pages import PagePicture, page_layer, page_picture
from footnotes.parse.types_by_name import PDF
from footnotes.retrieve.where import as_filter, both
from footnotes.server import replies as r
from footnotes.server.jobs import ServerJob
from footnotes.server.models import Body, Metadata, Name, TextDocument
from footnotes.server.openapi import errors, file_response
from footnotes.server.state import ReadLibrary, ServerState, State, WriteLibrary, Writer
from footnotes.server.strict import StrictRoute, parse_filter, parse_json, validate
from footnotes.store.naming import INSIDE
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
                "source": {"type": "string", "description": "Names the one file: the same again replaces it."},
            },
        },
        "example": {"file": ["(the bytes of handbook.pdf)"], "collection": "staff", "metadata": '{"year": 2026}'},
    }
}
FORM_BODY = {"required": True, "content": _FORM}
_UPLOAD_BODY = {
    "required": True,
    "content": {
        **_FORM,
        "application/json": {"schema": TextDocument.model_json_schema()},
        "message/rfc822": {"schema": {"type": "string", "format": "binary"}, "example": "Subject: Hello\n\nHello."},
    },
}
Outcome = tuple[str, ServerJob | FootnotesError]
_BLOCKS = "The blocks of a document: headings, paragraphs, lists, tables, code"
_PAGE = "/{document_id}/pages/{page}"
_WASH = (255, 214, 90)  # the colour behind the words
_LINE = (168, 118, 0)  # the colour of the border
_BORDER = 2
_HEADER = 8 + 25  # the signature and the IHDR chunk


@router.post(
    "",
    status_code=202,
    openapi_extra={"requestBody": _UPLOAD_BODY},
    summary="Upload documents",
    response_description="Each is a job now",
    responses=errors(507, body=True),
)
async def upload(request: Request, state: State, caller: Writer) -> r.Accepted:
    """Accepts files (multipart, one or many `file` parts), a text, an address, or a message with its attachments; each
    becomes a job at once."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        jobs = await accept_all(request, state, caller.tenant)
    elif kind == "application/json":
        jobs = [await state.pools.short.run(_accept_json, state, caller.tenant, await request.body())]
    elif kind == "message/rfc822":
        jobs = await state.pools.short.run(_accept_message, state, caller.tenant, await request.body())
    else:
        raise RequestInvalid("the body is neither multipart/form-data, application/json nor message/rfc822")
    return r.Accepted(jobs)


class UploadForm(Body):
    """Return the fields of a form besides its files."""

    collection: Name | None = None
    metadata: Metadata | None = None
    source: Annotated[str, Field(max_length=2000)] | None = None


async def accept_all(request: Request, state: State, tenant: str) -> list[ServerJob]:
    """Queue the files of a form, all or none."""
    jobs: list[ServerJob] = []
    for _, outcome in await accept_files(request, state, tenant, all_or_none=True):
        if isinstance(outcome, FootnotesError):
            for job in jobs:
                await state.pools.short.run(state.intake.dismiss, tenant, job.id)
            raise outcome
        jobs.append(outcome)
    return jobs


async def accept_files(request: Request, state: State, tenant: str, *, all_or_none: bool = False) -> list[Outcome]:
    """Queue the files of a form; return the job or the error of each, by file name."""
    async with request.form(max_files=MOST_FILES, max_fields=100) as form:
        files = [part for _, part in form.multi_items() if isinstance(part, UploadFile)]
        if not files:
            raise RequestInvalid("the form has no file", remedy="Send each file as a part named `file`.")
        given = [(name, part) for name, part in form.multi_items() if isinstance(part, str)]
        options = dict(await state.pools.short.run(_parse_form, given, _most_nodes(state)))
        if options["source"] and len(files) > 1:
            raise RequestInvalid("one source cannot name several files", remedy="Send each file with its own source.")
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


def _parse_form(given: list[tuple[str, str]], most_nodes: int) -> UploadForm:
    """Validate the fields of a form like those of a JSON body; empty fields count as missing."""
    fields: dict[str, Any] = {name: text for name, text in given if text}
    if len({name for name, _ in given}) != len(given):
        raise RequestInvalid("a field appears twice in the form")
    if "metadata" in fields:
        fields["metadata"] = parse_json(fields["metadata"].encode("utf-8", "surrogatepass"), most_nodes, "the metadata")
    return validate(UploadForm, fields, place="")


def _most_nodes(state: ServerState) -> int:
    return state.settings.serve_json_nodes


def _accept_message(state: State, tenant: str, body: bytes) -> list[ServerJob]:
    """Queue a message and its attachments. The same message again replaces them."""
    with tempfile.TemporaryDirectory(prefix="footnotes-mail-") as folder:
        try:
            parts = list(message_files(body, Path(folder), "message.eml", len(body) + 1, {}))
        except (ValueError, LookupError, TypeError, AttributeError) as error:
            raise RequestInvalid("the body is not a readable message") from error
        if not body.strip():
            raise RequestInvalid("the message is empty")
        named = str(parts[0].metadata.get("message_id") or hashlib.sha256(body).hexdigest())
        jobs = []
        for part in parts:
            source = f"mail:{named}" + (f"{INSIDE}{part.part}" if part.part else "")
            with part.path.open("rb") as file:
                given: dict[str, Any] = {"filename": part.filename, "collection": None, "metadata": part.metadata}
                jobs.append(state.intake.accept_file(tenant, file, source=source, **given))
        return jobs


def _accept_json(state: State, tenant: str, body: bytes) -> ServerJob:
    given = validate(TextDocument, parse_json(body, _most_nodes(state)), place="")
    if (given.text is None) == (given.url is None):
        raise RequestInvalid("send exactly one of text and url")
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
    library: ReadLibrary,
    collection: Annotated[str | None, Query(max_length=200)] = None,
    where: Annotated[str | None, Query(description="A JSON filter, or key=value.", max_length=10_000)] = None,
    checksum: Annotated[str | None, Query(description="Of the file, as `file_hash`.", max_length=100)] = None,
    limit: Annotated[int, Query(ge=1, le=1_000)] = 100,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Documents:
    """In the order they were added. `next_offset` is null on the last page."""
    chosen = both(as_filter(parse_filter(where)), as_filter({"checksum": checksum} if checksum else None))
    found = library.documents(where=chosen, collection=collection, limit=limit + 1, offset=offset)
    near = library.near_duplicates()
    shown = [replace(document, near_duplicate_of=near.get(document.id)) for document in found[:limit]]
    return r.Documents(shown, offset + limit if len(found) > limit else None)


@router.get("/{document_id}", summary="One document", responses=errors(404))
def document(document_id: str, library: ReadLibrary) -> Document:
    near = library.near_duplicates()
    return replace(library.document(document_id), near_duplicate_of=near.get(document_id))


@router.delete("", summary="Delete the documents of a checksum", responses=errors(404, 507))
def delete_by_checksum(
    checksum: Annotated[str, Query(description="Of the file, as `file_hash`.", min_length=1, max_length=100)],
    library: WriteLibrary,
    state: State,
    caller: Writer,
) -> r.Deleted:
    found = library.documents(where={"checksum": checksum})
    if not found:
        raise NotFound(f"no document has the checksum {checksum!r}")
    return r.Deleted(state.intake.delete(caller.tenant, library, [document.id for document in found]))


@router.delete("/{document_id}", summary="Delete a document", responses=errors(404, 507))
def delete(document_id: str, library: WriteLibrary, state: State, caller: Writer) -> r.Deleted:
    """When it returns, no search finds the document."""
    found = library.document(document_id).id
    return r.Deleted(state.intake.delete(caller.tenant, library, [found]))


@router.get(
    "/{document_id}/content",
    response_class=FileResponse,
    summary="Download the original",
    response_description="The uploaded bytes",
    responses=file_response("application/octet-stream") | errors(404),
)
def content(document_id: str, library: ReadLibrary) -> FileResponse:
    found = library.document(document_id)
    path = library.original(document_id)
    kind = "application/octet-stream"
    return FileResponse(path, filename=found.filename, media_type=kind, headers=_SANDBOX)


@router.get("/{document_id}/text", summary="Canonical text, or a span of it", responses=errors(404))
def text(
    document_id: str,
    library: ReadLibrary,
    start: Annotated[int, Query(ge=0, le=2**40)] = 0,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
) -> r.Text:
    """`text[start:end]` is the quote of a footnote."""
    found = library.text(document_id, start, end)
    return r.Text(document_id, start, start + len(found), found)


@router.get("/{document_id}/chunks", summary="The chunks of a document", responses=errors(404))
def chunks(
    document_id: str,
    library: ReadLibrary,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 1_000,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Chunks:
    found = library.chunks(document_id)
    more = len(found) > offset + limit
    return r.Chunks(found[offset : offset + limit], len(found), offset + limit if more else None)


@router.get("/{document_id}/blocks", summary=_BLOCKS, responses=errors(404))
def blocks(
    document_id: str,
    library: ReadLibrary,
    start: Annotated[int, Query(ge=0, le=2**40)] = 0,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    kind: Annotated[str | None, Query(max_length=20, description="Only these, such as `heading`.")] = None,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 2_000,
) -> r.Blocks:
    """Returns the blocks that overlap a span of the canonical text, in order. Only headings include their words."""
    library.document(document_id)
    found = (block for block in library.blocks(document_id, start, end) if kind is None or block.kind == kind)
    chosen = list(islice(found, limit))
    first = chosen[0].start if chosen else 0
    headings = library.text(document_id, first, chosen[-1].end) if chosen and kind == "heading" else ""
    return r.Blocks(
        [
            r.ShownBlock(
                block.kind,
                block.start,
                block.end,
                block.page,
                block.level,
                headings[block.start - first : block.end - first],
            )
            for block in chosen
        ]
    )


@router.get("/{document_id}/find", summary="Find words in a document", responses=errors(404))
def find(document_id: str, library: ReadLibrary, q: Annotated[str, Query(max_length=500)] = "") -> r.Places:
    """Ignores case and line breaks; returns at most 500 places."""
    library.document(document_id)
    return r.Places([r.Place(*place) for place in library.find(document_id, q)])


@router.get(f"{_PAGE}/words", summary="The words of a page with their positions", responses=errors(404))
async def page_words(document_id: str, page: int, library: ReadLibrary, state: State) -> r.PageWords:
    """For a layer of text over its picture: offset in the canonical text, word, and box in fractions of the picture."""
    return r.PageWords(page, await state.pools.draw.run(words_on_page, library, document_id, page))


@router.get(
    _PAGE,
    response_class=Response,
    summary="A page of a PDF as a picture",
    response_description="The page, with the span boxed",
    responses=file_response("image/png") | errors(404),
)
async def page_image(
    document_id: str,
    page: int,
    library: ReadLibrary,
    state: State,
    start: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    width: Annotated[int, Query(ge=100, le=2_400)] = 1_000,
) -> Response:
    """PNG, with the span of canonical text from `start` to `end` boxed."""
    picture = await state.pools.draw.run(draw_highlights, library, document_id, page, start, end, width, drawn=True)
    return Response(picture.png, media_type="image/png", headers={"Cache-Control": "private, max-age=60"})


@router.get(f"{_PAGE}/boxes", summary="The position of a span on a page", responses=errors(404))
async def page_boxes(
    document_id: str,
    page: int,
    library: ReadLibrary,
    state: State,
    start: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    end: Annotated[int | None, Query(ge=0, le=2**40)] = None,
    width: Annotated[int, Query(ge=100, le=2_400)] = 1_000,
) -> r.Boxes:
    """Boxes as `[left, top, right, bottom]`, in fractions of the picture from its upper left corner."""
    picture = await state.pools.draw.run(draw_highlights, library, document_id, page, start, end, width, drawn=False)
    boxes = [(box.left, box.bottom, box.right, box.top) for group in picture.boxes for box in group]
    return r.Boxes(page, picture.width, picture.height, boxes)


# ── renders a page of a stored PDF as an image, with the quoted sentence boxed ────────────────────────────────


def draw_highlights(
    library: Library, document_id: str, page: int, start: int | None, end: int | None, width: int, *, drawn: bool
) -> PagePicture:
    """Render a page and find the boxes of a span; `drawn` paints the boxes into the picture."""
    document = library.document(document_id)
    if document.mime != PDF or not 1 <= page <= (document.pages or 0):
        raise NotFound(f"document {document_id!r} has no picture of page {page}")
    if (start is None) != (end is None) or (start is not None and end is not None and start > end):
        raise OptionError("a span needs a start and an end, and the end cannot be before the start")
    spans = []
    if start is not None and end is not None:
        begins = library.page_start(document_id, page)
        spans = [(max(start - begins, 0), max(end - begins, 0))]
    settings = library.settings
    limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
    picture = page_picture(library.original(document_id), page, spans, width=width, limits=limits)
    if not (drawn and spans):
        return picture
    return picture._replace(png=paint_boxes(picture.png, [box for group in picture.boxes for box in group]))


def words_on_page(library: Library, document_id: str, page: int) -> list[tuple[int, str, float, float, float, float]]:
    """The words of a page with their offsets in the canonical text and their boxes: left, top, right, bottom."""
    document = library.document(document_id)
    if document.mime != PDF or not 1 <= page <= (document.pages or 0):
        raise NotFound(f"document {document_id!r} has no page {page}")
    settings = library.settings
    limits = Limits(settings.parse_memory_bytes, settings.parse_seconds, settings.parse_max_characters)
    try:
        begins = library.page_start(document_id, page)
    except NotFound:
        return []  # a page without text
    found = page_layer(library.original(document_id), page, limits=limits)
    return [(begins + place, text, box.left, box.bottom, box.right, box.top) for place, text, box in found]


def paint_boxes(png: bytes, boxes: Iterable[Box]) -> bytes:
    """Paint boxes over a PNG as a marker would: paper is coloured, ink stays.

    Reads only what `as_png` writes: 8 bits, rows without a filter, one IDAT chunk.
    """
    width, height, _, colour = struct.unpack(">IIBB", png[16:26])
    channels = {0: 1, 2: 3, 6: 4}[colour]
    (length,) = struct.unpack(">I", png[_HEADER : _HEADER + 4])
    rows = zlib.decompress(png[_HEADER + 8 : _HEADER + 8 + length])
    pixels = _to_rgb(rows, width, height, channels)
    for box in boxes:
        _mark(pixels, width, height, box)
    stride = width * 3
    packed = b"".join(b"\x00" + pixels[at : at + stride] for at in range(0, stride * height, stride))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(packed, 6)), (b"IEND", b""))
    return png[:8] + b"".join(_chunk(kind, data) for kind, data in chunks)


def _to_rgb(rows: bytes, width: int, height: int, channels: int) -> bytearray:
    import numpy as np

    grid = np.frombuffer(rows, dtype=np.uint8).reshape(height, width * channels + 1)[:, 1:]
    grid = grid.reshape(height, width, channels)
    grid = np.repeat(grid, 3, axis=2) if channels == 1 else grid[:, :, :3]
    return bytearray(np.ascontiguousarray(grid).tobytes())


def _mark(pixels: bytearray, width: int, height: int, box: Box) -> None:
    import numpy as np

    grid = np.frombuffer(pixels, dtype=np.uint8).reshape(height, width, 3)
    left, right = int(box.left * width) - _BORDER, int(box.right * width) + _BORDER
    top, bottom = int(min(box.bottom, box.top) * height) - _BORDER, int(max(box.bottom, box.top) * height) + _BORDER
    left, top, right, bottom = max(left, 0), max(top, 0), min(right, width), min(bottom, height)
    if left >= right or top >= bottom:
        return
    inside = grid[top:bottom, left:right]
    inside[:] = (inside.astype(np.uint16) * np.array(_WASH, dtype=np.uint16) // 255).astype(np.uint8)
    for edge in (inside[:_BORDER], inside[-_BORDER:], inside[:, :_BORDER], inside[:, -_BORDER:]):
        edge[:] = _LINE


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
