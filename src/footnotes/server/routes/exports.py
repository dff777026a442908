"""/v1/conversations/{id}/export: a conversation to take away."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import quote

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from footnotes.server.export.notes import to_markdown
from footnotes.server.export.word import MIME, to_word
from footnotes.server.openapi import errors, file_response
from footnotes.server.state import Reader, ReadLibrary
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1/conversations", tags=["conversations"], route_class=StrictRoute)
_SANDBOX = {"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff"}
_LONGEST_NAME = 80


@router.get(
    "/{conversation}/export",
    response_class=Response,
    summary="A conversation with its footnotes, as a file",
    response_description="Markdown or Word, as asked for",
    responses=file_response(MIME) | errors(404),
)
def export(
    conversation: Annotated[str, Path(min_length=1, max_length=64)],
    library: ReadLibrary,
    caller: Reader,
    form: Annotated[Literal["md", "docx"], Query(alias="format")] = "md",
) -> Response:
    """Every sentence with the footnote that proves it; the footnotes of Word are footnotes of Word."""
    found = library.conversations.one(caller.tenant, conversation)
    turns = library.conversations.turns(caller.tenant, conversation)
    if form == "md":
        body, kind = to_markdown(found.title, turns).encode("utf-8", "replace"), "text/markdown; charset=utf-8"
    else:
        body, kind = to_word(found.title, turns), MIME
    name = quote(" ".join(found.title.split())[:_LONGEST_NAME].replace("/", "-"), safe="")
    headers = {"Content-Disposition": f"attachment; filename*=UTF-8''{name}.{form}"}
    return Response(body, media_type=kind, headers=_SANDBOX | headers)
