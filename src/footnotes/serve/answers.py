"""Errors as answers: their status, their one shape, and JSON that can always be written."""

from __future__ import annotations

import errno
import json
import math
from typing import Any

import orjson
from starlette.responses import JSONResponse

from footnotes import errors
from footnotes.serve.quota import OverQuota
from footnotes.wire import to_json

_STATUS: tuple[tuple[type[errors.FootnotesError], int], ...] = (
    (errors.NotFound, 404),
    (errors.DocumentTooLarge, 413),
    (errors.StoreLocked, 503),
    (errors.StoreFull, 507),
    (errors.ReindexRefused, 409),
    (errors.DimensionMismatch, 409),
    (errors.QueryEmpty, 422),
    (errors.InputError, 422),
    (errors.RequestInvalid, 422),
    (errors.Unauthorized, 401),
    (errors.Forbidden, 403),
    (errors.OriginRefused, 403),
    (errors.MethodRefused, 405),
    (errors.BodyTooLarge, 413),
    (errors.HeadersTooLarge, 431),
    (errors.ClientTooSlow, 408),
    (errors.StorageQuota, 413),
    (errors.WorkerDied, 503),
    (errors.RateLimited, 429),
    (errors.QuotaExceeded, 429),
    (errors.ServerBusy, 503),
    (errors.ProviderTimeout, 504),
    (errors.ProviderError, 502),
    (errors.EmbedderUnavailable, 503),
    (errors.SearchUnavailable, 503),
    (errors.StoreUnavailable, 503),
    (errors.UnknownPlugin, 422),
    (errors.MissingExtra, 501),
)
RETRY_SECONDS = 5
"""What to wait where an error may pass and does not say when."""


class SafeJson(JSONResponse):
    """JSON whatever the texts hold: lone surrogates are escaped, and what is no number is null."""

    def render(self, content: Any) -> bytes:
        return as_bytes(content)


def as_bytes(value: Any) -> bytes:
    """The JSON of a value as it is sent."""
    content = to_json(value)
    try:
        return orjson.dumps(content)
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return as_json(content).encode("utf-8")


def as_json(content: Any) -> str:
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(content, separators=(",", ":"))
    except ValueError:
        return json.dumps(_without_nan(content), separators=(",", ":"))
    return text


def _without_nan(content: Any) -> Any:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _without_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_without_nan(value) for value in content]
    return content


def as_known(error: Exception) -> errors.FootnotesError:
    """An error nobody expected as one of the tree. Its own words stay in the server: they may quote a document."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return errors.StoreFull("there is no space left on the server")
    return errors.FootnotesError("the server failed")


def status_of(error: errors.FootnotesError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_body(error: errors.FootnotesError, request_id: str) -> dict[str, Any]:
    """`{error: {code, message, remedy, request_id}}`; a used up quota says its numbers too."""
    said = {**to_json(error.info()), "request_id": request_id}
    if isinstance(error, OverQuota):
        said.update(to_json(error.allowance.rate_limit()))
    return {"error": said}


def flat_error(error: errors.FootnotesError, request_id: str) -> dict[str, Any]:
    """`{error: text, code, remedy, request_id}`, as clients of /api read it; a used up quota says its numbers too."""
    said = error_body(error, request_id)["error"]
    return {"error": said.pop("message"), **said}


def error_answer(error: errors.FootnotesError, request_id: str, path: str = "", status: int = 0) -> SafeJson:
    """The answer to a request that failed, in the shape that clients of its path know."""
    status, headers = status or status_of(error), {}
    wait = getattr(error, "retry_after", None)
    if wait is not None or (status in (429, 503) and error.retryable):
        headers["Retry-After"] = str(max(math.ceil(wait or RETRY_SECONDS), 1))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = flat_error if path.startswith("/api/") else error_body
    return SafeJson(body(error, request_id), status, headers=headers)
