"""/v1/collections: named groups of documents."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path

from footnotes.server import replies as r
from footnotes.server.models import CollectionBody
from footnotes.server.openapi import errors
from footnotes.server.state import ReadLibrary, State, WriteLibrary, Writer
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1/collections", tags=["collections"], route_class=StrictRoute)
Name = Annotated[str, Path(min_length=1, max_length=200)]
_CHANGE = "Choose the chunker and system prompt of a collection"


@router.get("", summary="List collections", responses=errors())
def collections(library: ReadLibrary) -> r.Collections:
    return r.Collections([r.Collection(**row) for row in library.collections()])


@router.put("/{name}", summary=_CHANGE, responses=errors(404, 507, body=True))
def change(name: Name, body: CollectionBody, library: WriteLibrary, caller: Writer) -> r.Collection:
    """Applies to documents added from now on; reindex to apply it to existing ones."""
    library.set_collection(name, **body.model_dump())
    return next(r.Collection(**row) for row in library.collections() if row["name"] == name)


@router.delete("/{name}", summary="Delete the documents of a collection", responses=errors(404, 507))
def delete(name: Name, library: WriteLibrary, state: State, caller: Writer) -> r.Deleted:
    return r.Deleted(state.intake.delete(caller.tenant, library, collection=name))
