"""Health, status, usage, keys and metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from footnotes import __version__
from footnotes.errors import Forbidden
from footnotes.serve import examples
from footnotes.serve import replies as r
from footnotes.serve.answers import SafeJson
from footnotes.serve.metrics import CONTENT_TYPE
from footnotes.serve.models import KeyBody
from footnotes.serve.replies import file_of, open_replies, replies
from footnotes.serve.state import Admin, Books, Reader, State, caller_of, state_of
from footnotes.serve.strict import StrictRoute

router = APIRouter(route_class=StrictRoute)


@router.get("/healthz", tags=["service"], summary="Whether the process answers", responses=open_replies(r.Health))
async def healthz() -> SafeJson:
    return SafeJson({"status": "ok", "version": __version__})


@router.get("/livez", tags=["service"], summary="Whether the process is alive", responses=open_replies(r.Health))
async def livez() -> SafeJson:
    """Says nothing of what the server needs: a database that is away is no reason to start it again."""
    return SafeJson({"status": "ok", "version": __version__})


@router.get("/startupz", tags=["service"], summary="Whether it has started", responses=open_replies(r.Ready, 503))
def startupz(request: Request) -> SafeJson:
    """The work that goes on behind the requests was begun, on a schema it knows; workers may still be missing."""
    return _checked({name: well for name, well in state_of(request).intake.checks().items() if name != "workers"})


@router.get("/readyz", tags=["service"], summary="Whether requests can be served", responses=open_replies(r.Ready, 503))
def readyz(request: Request) -> SafeJson:
    state = state_of(request)
    return _checked({**state.intake.checks(), "database": _database(state)})


def _checked(checks: dict[str, bool]) -> SafeJson:
    ready = all(checks.values())
    return SafeJson({"status": "ready" if ready else "not ready", "checks": checks}, 200 if ready else 503)


def _database(state: Any) -> bool:
    try:
        return bool(state.jobs.waiting() >= 0)
    except Exception:
        return False


_STATUS = "What the library holds and what serves it"


@router.get("/v1/status", tags=["service"], summary=_STATUS, responses=replies(r.Status))
def status(library: Books, state: State, caller: Reader) -> SafeJson:
    known = r.Status.model_fields  # where the library lies is the server's own business
    found = {name: value for name, value in library.status().items() if name in known}
    if found["index"] is not None:
        found["index"] = {name: value for name, value in found["index"].items() if name in r.Index.model_fields}
    found["model"] = library.settings.model
    found["reranker"] = library.settings.reranker
    found["queue"] = state.jobs.waiting(caller.tenant) + state.intake.resumes(caller.tenant)
    found["version"] = __version__
    found["scopes"] = sorted(caller.scopes)
    found["keys_needed"] = bool(caller.key_id)
    return SafeJson(found)


_USAGE = "What is left of this month's answers, and what is kept"


@router.get("/v1/usage", tags=["service"], summary=_USAGE, responses=replies(r.UsageReply))
def usage(library: Books, state: State, caller: Reader) -> SafeJson:
    allowance = state.answers.look(caller.tenant)
    counts = library.counts()
    return SafeJson(
        {
            "tenant": caller.tenant,
            "answers": {**allowance.shape(), "used": allowance.used},
            "storage": {"bytes": counts["bytes"], "limit": state.settings.serve_tenant_bytes or None},
            "documents": counts["ready"],
            "chunks": counts["chunks"],
        }
    )


@router.get("/v1/keys", tags=["keys"], summary="The keys of this tenant", responses=replies(r.Keys))
def keys(state: State, caller: Admin) -> SafeJson:
    return SafeJson({"keys": state.keys.all(caller.tenant)})


_MADE = replies(r.NewKey, status=201, said="The key, this once", body=True)


@router.post("/v1/keys", status_code=201, tags=["keys"], summary="A new key for this tenant", responses=_MADE)
def create(body: KeyBody, state: State, caller: Admin) -> SafeJson:
    """The key itself is shown here and never again."""
    key, kept = state.keys.create(caller.tenant, name=body.name, scopes=body.scopes, days=body.days)
    return SafeJson({**kept, "key": key}, 201)


@router.delete("/v1/keys/{key_id}", tags=["keys"], summary="Revoke a key", responses=replies(r.Key, 404))
def revoke(key_id: str, state: State, caller: Admin) -> SafeJson:
    return SafeJson(state.keys.revoke(key_id, caller.tenant))


_METRICS = file_of("text/plain", "Metrics", example=examples.METRICS)
_SAID = "Metrics in the format of Prometheus"


@router.get("/metrics", tags=["service"], response_class=Response, summary=_SAID, responses=_METRICS)
def metrics(state: State, request: Request) -> Response:
    """Of the whole server: for its operator, not for the admins of tenants."""
    caller = caller_of(request)
    own = caller.may("admin") and caller.tenant == state.settings.user
    if not own and "metrics" not in caller.scopes:
        raise Forbidden("the key has no metrics scope")
    state.metrics.queue.set(state.jobs.waiting())
    state.intake.update(state.metrics)
    state.metrics.open_streams.set(state.streams.open)
    state.metrics.tenants.set(state.tenants.opened())
    return Response(state.metrics.text(), media_type=CONTENT_TYPE)
