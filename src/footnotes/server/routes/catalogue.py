"""/v1/catalogue: every document as a short row, for lists that sort and filter by themselves."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from footnotes.server import replies as r
from footnotes.server.openapi import errors
from footnotes.server.state import Reader, ReadLibrary
from footnotes.server.strict import StrictRoute
from footnotes.types import Document

router = APIRouter(prefix="/v1/catalogue", tags=["documents"], route_class=StrictRoute)
MOST = 20_000
_UPLOAD = "upload:"


@router.get("", summary="List all documents as short rows", responses=errors())
def catalogue(
    library: ReadLibrary,
    caller: Reader,
    limit: Annotated[int, Query(ge=1, le=MOST)] = MOST,
    offset: Annotated[int, Query(ge=0, le=2**31)] = 0,
) -> r.Catalogue:
    """In the order they were added. `next_offset` is null on the last page."""
    found = library.documents(limit=limit + 1, offset=offset)
    return r.Catalogue([_row(one) for one in found[:limit]], offset + limit if len(found) > limit else None)


def _row(document: Document) -> r.CatalogueRow:
    path = document.metadata.get("path")
    where = path if isinstance(path, str) else document.source.removeprefix(_UPLOAD)
    tags = document.metadata.get("tags")
    return r.CatalogueRow(
        document.id,
        document.filename,
        where,
        document.collection,
        document.mime,
        document.status,
        document.pages,
        document.bytes,
        document.chunks,
        document.created_at,
        len(document.warnings),
        [str(tag) for tag in tags] if isinstance(tags, list) else [],
    )
