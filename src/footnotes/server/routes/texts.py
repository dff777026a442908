"""/v1/texts: many texts in one request."""

from __future__ import annotations

import io
from collections.abc import Sequence

from fastapi import APIRouter

from footnotes.errors import FootnotesError
from footnotes.ingest.texts import name_of_text
from footnotes.server import replies as r
from footnotes.server.jobs import ServerJob
from footnotes.server.models import ManyText, TextsBody
from footnotes.server.openapi import errors
from footnotes.server.state import ServerState, State, Writer
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1/texts", tags=["documents"], route_class=StrictRoute)


@router.post(
    "",
    status_code=202,
    summary="Add many texts",
    response_description="Each is a job now",
    responses=errors(507, body=True),
)
async def add_texts(body: TextsBody, state: State, caller: Writer) -> r.Accepted:
    """Accepts up to 1,000 texts, each with its own metadata; all of them or none. Each becomes a job at once.

    A text without a `filename` is named by its content, and without a `source` by its file name.
    """
    return r.Accepted(await state.pools.short.run(accept_texts, state, caller.tenant, body.texts, body.collection))


def accept_texts(state: ServerState, tenant: str, texts: Sequence[ManyText], collection: str | None) -> list[ServerJob]:
    """Queue texts, all or none."""
    jobs: list[ServerJob] = []
    try:
        for given in texts:
            content = given.text.encode("utf-8", "replace")
            job = state.intake.accept_file(
                tenant,
                io.BytesIO(content),
                filename=given.filename or name_of_text(content),
                collection=collection,
                metadata=given.metadata,
                source=given.source,
            )
            jobs.append(job)
    except FootnotesError:
        for job in jobs:
            state.intake.dismiss(tenant, job.id)
        raise
    return jobs
