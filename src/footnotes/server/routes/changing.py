"""PATCH /v1/documents/{id}: change the name, the collection or the tags. The document is ingested again."""

from __future__ import annotations

import asyncio
import logging

from fastapi import APIRouter

from footnotes.errors import FootnotesError, RequestInvalid
from footnotes.library import Library
from footnotes.server.jobs import ServerJob
from footnotes.server.models import DocumentChange
from footnotes.server.openapi import errors
from footnotes.server.state import ServerState, State, WriteLibrary, Writer
from footnotes.server.strict import StrictRoute
from footnotes.types import Document

router = APIRouter(prefix="/v1/documents", tags=["documents"], route_class=StrictRoute)
_LOG = logging.getLogger("footnotes.server")
_LONGEST_MOVE = 24 * 3600.0
_moving: set[asyncio.Task[None]] = set()
"""Holds the tasks: one without a reference could be collected before its end."""


@router.patch(
    "/{document_id}",
    status_code=202,
    summary="Rename, move, tag or reindex a document",
    response_description="It is a job now",
    responses=errors(404, 507, body=True),
)
async def change(
    document_id: str, body: DocumentChange, library: WriteLibrary, state: State, caller: Writer
) -> ServerJob:
    """Ingests the original again under the new name; unchanged text needs no new vectors.

    In another collection it becomes a new document; the old one is deleted when that is ready, and stays if it fails.
    """
    before = await state.pools.short.run(library.document, document_id)
    if body.filename is None and body.collection is None and body.tags is None and not body.reindex:
        raise RequestInvalid("the request changes nothing", remedy="Send filename, collection, tags or reindex.")
    job = await state.pools.short.run(_resubmit, state, caller.tenant, library, before, body)
    if job.collection != before.collection:
        task = asyncio.create_task(_delete_original(state, caller.tenant, document_id, job))
        _moving.add(task)
        task.add_done_callback(_moving.discard)
    return job


def _resubmit(state: ServerState, tenant: str, library: Library, found: Document, body: DocumentChange) -> ServerJob:
    metadata = dict(found.metadata) | ({} if body.tags is None else {"tags": list(dict.fromkeys(body.tags))})
    with library.original(found.id).open("rb") as file:
        return state.intake.accept_file(
            tenant,
            file,
            filename=body.filename or found.filename,
            collection=body.collection or found.collection,
            metadata=metadata,
            source=found.source,
            rename=True,
            renew=body.reindex,
        )


async def _delete_original(state: ServerState, tenant: str, document_id: str, job: ServerJob) -> None:
    """Delete the old document when the new one is ready."""
    done = await state.intake.wait_for(job, _LONGEST_MOVE)
    if done.state != "ready":
        return

    def delete() -> None:
        with state.tenants.using(tenant) as library:
            state.intake.delete(tenant, library, [document_id])

    try:
        await state.pools.short.run(delete)
    except FootnotesError as error:
        _LOG.warning("a moved document is still in its old collection", extra={"reason": error.code})
