"""Responses: errors with their status and shape, and JSON that can always be written."""

from __future__ import annotations

import errno
import json
import math
from typing import Any

import orjson
from starlette.responses import JSONResponse

from footnotes import errors
from footnotes.server.quota import OverQuota
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
"""The `Retry-After` of a temporary error that does not specify it."""


class SafeJson(JSONResponse):
    """A JSON response for any text: lone surrogates are escaped, NaN and infinities are null."""

    def render(self, content: object) -> bytes:
        return encode_json(content)


def encode_json(value: object) -> bytes:
    """Encode a value, dataclasses included, as JSON bytes."""
    content = to_json(value)
    try:
        return orjson.dumps(content)
    except TypeError:  # lone surrogates, numbers beyond 64 bits
        return dump_json(content).encode("utf-8")


def dump_json(content: object) -> str:
    """Write JSON that every client can read: UTF-8, without NaN."""
    try:
        text = json.dumps(content, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        text.encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(content, separators=(",", ":"))
    except ValueError:
        return json.dumps(_replace_nan(content), separators=(",", ":"))
    return text


def _replace_nan(content: object) -> object:
    if isinstance(content, float):
        return content if math.isfinite(content) else None
    if isinstance(content, dict):
        return {key: _replace_nan(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [_replace_nan(value) for value in content]
    return content


def translate_error(error: Exception) -> errors.FootnotesError:
    """Translate an unexpected error to one of the tree. Its message stays in the server: it may quote a document."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return errors.StoreFull("the server has no space left")
    return errors.FootnotesError("the server failed")


def status_of(error: errors.FootnotesError) -> int:
    return next((status for kind, status in _STATUS if isinstance(error, kind)), 500)


def error_body(error: errors.FootnotesError, request_id: str) -> dict[str, Any]:
    """Build `{error: {code, message, remedy, request_id}}`, with the numbers of a quota that is used up."""
    body = {**to_json(error.info()), "request_id": request_id}
    if isinstance(error, OverQuota):
        body.update(to_json(error.allowance.rate_limit()))
    return {"error": body}


def flat_error(error: errors.FootnotesError, request_id: str) -> dict[str, Any]:
    """Build `{error: text, code, remedy, request_id}`, as clients of /api read it."""
    body = error_body(error, request_id)["error"]
    return {"error": body.pop("message"), **body}


def error_response(error: errors.FootnotesError, request_id: str, path: str = "", status: int = 0) -> SafeJson:
    """Build the response to a failed request, in the shape that clients of its path know."""
    status, headers = status or status_of(error), {}
    wait = getattr(error, "retry_after", None)
    if wait is not None or (status in (429, 503) and error.retryable):
        headers["Retry-After"] = str(max(math.ceil(wait or RETRY_SECONDS), 1))
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    body = flat_error if path.startswith("/api/") else error_body
    return SafeJson(body(error, request_id), status, headers=headers)
