"""/v1/sources: the sources that the server syncs, and their last runs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path
from pydantic import Field

from footnotes import plugins
from footnotes.server import replies as r
from footnotes.server.following import FollowedSource, NewFollowedSource
from footnotes.server.jobs import ServerJob
from footnotes.server.models import Body
from footnotes.server.openapi import errors
from footnotes.server.state import Admin, Reader, State, Writer
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1/sources", tags=["sources"], route_class=StrictRoute)
Id = Annotated[str, Path(min_length=1, max_length=64)]
Named = Annotated[str, Field(max_length=2_000)]


class SourceBody(Body):
    address: str = Field(min_length=3, max_length=2_000, examples=["git+https://example.org/team/docs.git@main"])
    collection: str | None = Field(None, max_length=200)
    options: dict[str, Named] = Field(default_factory=dict, max_length=20)
    secrets: dict[str, Annotated[str, Field(max_length=20_000)]] = Field(
        default_factory=dict,
        max_length=10,
        description="Options that are secrets. Stored encrypted, never shown again.",
    )
    metadata: dict[str, Any] = Field(default_factory=dict, description="Metadata for every document.")
    every: int = Field(3_600, ge=0, le=31_536_000, description="Seconds between two runs; 0 for none but by hand.")


@router.get("", summary="List sources", responses=errors())
def sources(state: State, caller: Reader) -> r.Sources:
    """Shows references to secrets, or that they are encrypted; never a secret."""
    return r.Sources(state.sources.all(caller.tenant), plugins.names("sources"), caller.may("admin"))


@router.post("", status_code=201, summary="Add a source", responses=errors(body=True))
def follow(body: SourceBody, state: State, caller: Admin) -> FollowedSource:
    """The first sync starts within seconds. Only the server's own tenant may name its files, its networks and its
    secrets."""
    given = body.model_dump()
    new = NewFollowedSource(**{**given, "collection": body.collection or state.settings.collection})
    return state.sources.add(caller.tenant, new, trusted=caller.tenant == state.settings.user)


@router.get("/{source_id}", summary="One source", responses=errors(404))
def source(source_id: Id, state: State, caller: Reader) -> FollowedSource:
    return state.sources.find(caller.tenant, source_id)


@router.post("/{source_id}/run", status_code=202, summary="Sync a source now", responses=errors(404))
def run(source_id: Id, state: State, caller: Writer) -> ServerJob:
    return state.schedule.run(state.sources.find(caller.tenant, source_id))


@router.delete("/{source_id}", summary="Remove a source", responses=errors(404))
def remove(source_id: Id, state: State, caller: Admin) -> FollowedSource:
    """Keeps its documents."""
    return state.sources.remove(caller.tenant, source_id)
