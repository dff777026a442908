"""Health, status, usage, keys and metrics."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import Response

from footnotes import __version__
from footnotes.errors import Forbidden
from footnotes.parse import ocr
from footnotes.server import examples
from footnotes.server import replies as r
from footnotes.server.keys import Key
from footnotes.server.metrics import CONTENT_TYPE
from footnotes.server.models import KeyBody
from footnotes.server.openapi import OPEN_ERRORS, errors, file_response, only_errors
from footnotes.server.responses import SafeJson
from footnotes.server.state import Admin, Reader, ReadLibrary, ServerState, State, caller_of, state_of
from footnotes.server.strict import StrictRoute
from footnotes.wire import to_json

router = APIRouter(route_class=StrictRoute)
_READY = {**only_errors(*OPEN_ERRORS), 503: {"description": "Not now"}}
_STATUS = "The contents and the state of the library"
_USAGE = "The remaining answers of this month, and the used storage"
_METRICS = file_response("text/plain", example=examples.METRICS) | errors()
_METRICS_SUMMARY = "Metrics in the Prometheus format"


@router.get("/healthz", tags=["service"], summary="Whether the process answers", responses=only_errors(*OPEN_ERRORS))
async def healthz() -> r.Health:
    return r.Health("ok", __version__)


@router.get("/livez", tags=["service"], summary="Whether the process is alive", responses=only_errors(*OPEN_ERRORS))
async def livez() -> r.Health:
    """Does not check dependencies: restarting the server does not help if the database is unreachable."""
    return r.Health("ok", __version__)


@router.get("/startupz", tags=["service"], summary="Whether it has started", responses=_READY)
def startupz(request: Request) -> r.Ready | SafeJson:
    """Returns 200 once background work runs on a known schema; workers may still be missing."""
    return _readiness({name: well for name, well in state_of(request).intake.checks().items() if name != "workers"})


@router.get("/readyz", tags=["service"], summary="Whether requests can be served", responses=_READY)
def readyz(request: Request) -> r.Ready | SafeJson:
    state = state_of(request)
    return _readiness({**state.intake.checks(), "database": _is_database_up(state)})


def _readiness(checks: dict[str, bool]) -> SafeJson:
    ready = all(checks.values())
    return SafeJson(r.Ready("ready" if ready else "not ready", checks), 200 if ready else 503)


def _is_database_up(state: ServerState) -> bool:
    try:
        return bool(state.jobs.waiting() >= 0)
    except Exception:
        return False


@router.get("/v1/status", tags=["service"], summary=_STATUS, responses=errors())
def status(library: ReadLibrary, state: State, caller: Reader) -> r.Status:
    known = {field.name for field in fields(r.Status)}  # the library's location is not shown
    found = {name: value for name, value in library.status().items() if name in known}
    index = found.pop("index")
    return r.Status(
        **found,
        index=index and r.Index(tuple(index["legs"]), index["behind"], index["error"]),
        outdated=library.count_outdated(),
        model=_model(state, caller.tenant),
        reranker=library.settings.reranker,
        queue=state.jobs.waiting(caller.tenant) + state.intake.resumes(caller.tenant),
        version=__version__,
        scopes=sorted(caller.scopes),
        keys_needed=bool(caller.key_id),
        recognises_text=ocr.available(),
        keeps_conversations=bool(state.settings.serve_conversations) and not state.settings.read_only,
    )


def _model(state: ServerState, tenant: str) -> str:
    """The model that answers a question that names none."""
    chosen = state.connections.default(tenant) if state.connections.are_allowed else None
    return state.settings.model if chosen is None else f"{chosen.provider}:{chosen.model or Path(chosen.path).stem}"


@router.get("/v1/usage", tags=["service"], summary=_USAGE, responses=errors())
def usage(library: ReadLibrary, state: State, caller: Reader) -> r.UsageReply:
    allowance = state.answers.allowance(caller.tenant)
    counts = library.counts()
    storage = r.Storage(counts["bytes"], state.settings.serve_tenant_bytes or None)
    spending = r.Spending(state.answers.spent(caller.key_id), state.answers.budget or None)
    return r.UsageReply(caller.tenant, allowance, spending, storage, documents=counts["ready"], chunks=counts["chunks"])


@router.get("/v1/keys", tags=["keys"], summary="The keys of this tenant", responses=errors())
def keys(state: State, caller: Admin) -> r.Keys:
    return r.Keys(state.keys.all(caller.tenant))


@router.post(
    "/v1/keys",
    status_code=201,
    tags=["keys"],
    summary="A new key for this tenant",
    response_description="The key, this once",
    responses=errors(body=True),
)
def create(body: KeyBody, state: State, caller: Admin) -> r.NewKey:
    """The key itself is shown only here."""
    key, kept = state.keys.create(caller.tenant, name=body.name, scopes=body.scopes, days=body.days)
    return r.NewKey(**to_json(kept), key=key)


@router.delete("/v1/keys/{key_id}", tags=["keys"], summary="Revoke a key", responses=errors(404))
def revoke(key_id: str, state: State, caller: Admin) -> Key:
    return state.keys.revoke(key_id, caller.tenant)


@router.get("/metrics", tags=["service"], response_class=Response, summary=_METRICS_SUMMARY, responses=_METRICS)
def metrics(state: State, request: Request) -> Response:
    """Covers the whole server: for its operator, not for admins of tenants."""
    caller = caller_of(request)
    own = caller.may("admin") and caller.tenant == state.settings.user
    if not own and "metrics" not in caller.scopes:
        raise Forbidden("the key has no metrics scope")
    state.metrics.queue.set(state.jobs.waiting())
    state.intake.update(state.metrics)
    state.metrics.open_streams.set(state.streams.open)
    state.metrics.tenants.set(state.tenants.count_open())
    return Response(state.metrics.text(), media_type=CONTENT_TYPE)
