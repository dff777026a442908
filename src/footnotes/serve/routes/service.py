"""Health, status, usage, keys and metrics."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from footnotes import __version__
from footnotes.serve.answers import SafeJson
from footnotes.serve.metrics import CONTENT_TYPE
from footnotes.serve.models import KeyBody
from footnotes.serve.state import Admin, Books, Reader, State, state_of

router = APIRouter()


@router.get("/healthz", tags=["service"], summary="Whether the process answers")
def healthz() -> dict[str, str]:
    return {"status": "ok", "version": __version__}


@router.get("/readyz", tags=["service"], summary="Whether requests can be served")
def readyz(request: Request) -> SafeJson:
    state = state_of(request)
    checks = {"intake": state.intake.alive, "database": _database(state)}
    ready = all(checks.values())
    return SafeJson({"status": "ready" if ready else "not ready", "checks": checks}, 200 if ready else 503)


def _database(state: Any) -> bool:
    try:
        return bool(state.jobs.waiting() >= 0)
    except Exception:
        return False


@router.get("/v1/status", tags=["service"], summary="What the library holds and what serves it")
def status(library: Books, state: State, caller: Reader) -> SafeJson:
    found = library.status()
    found.pop("library")  # where it lies on the server's disk is the server's own business
    found["model"] = library.settings.model
    found["reranker"] = library.settings.reranker
    found["queue"] = state.jobs.waiting(caller.tenant)
    found["version"] = __version__
    found["scopes"] = sorted(caller.scopes)
    found["keys_needed"] = bool(caller.key_id)
    return SafeJson(found)


@router.get("/v1/usage", tags=["service"], summary="What is left of this month's answers")
def usage(library: Books, state: State, caller: Reader) -> SafeJson:
    allowance = state.answers.look(caller.tenant)
    counts = library.status()
    held = {name: counts[name] for name in ("documents", "chunks") if name in counts}
    return SafeJson({"tenant": caller.tenant, "answers": {**allowance.shape(), "used": allowance.used}, **held})


@router.get("/v1/keys", tags=["keys"], summary="The keys of this tenant")
def keys(state: State, caller: Admin) -> SafeJson:
    return SafeJson({"keys": state.keys.all(caller.tenant)})


@router.post("/v1/keys", status_code=201, tags=["keys"], summary="A new key for this tenant")
def create(body: KeyBody, state: State, caller: Admin) -> SafeJson:
    """The key itself is shown here and never again."""
    key, kept = state.keys.create(caller.tenant, name=body.name, scopes=body.scopes, days=body.days)
    return SafeJson({**kept, "key": key}, 201)


@router.delete("/v1/keys/{key_id}", tags=["keys"], summary="Revoke a key")
def revoke(key_id: str, state: State, caller: Admin) -> SafeJson:
    return SafeJson(state.keys.revoke(key_id, caller.tenant))


@router.get("/metrics", tags=["service"], response_class=Response, summary="Metrics in the format of Prometheus")
def metrics(state: State, caller: Admin) -> Response:
    state.metrics.queue.set(state.jobs.waiting())
    state.metrics.open_streams.set(state.streams.open)
    state.metrics.tenants.set(state.tenants.opened())
    return Response(state.metrics.text(), media_type=CONTENT_TYPE)
