"""Translates HTTP responses to errors of the tree."""

from __future__ import annotations

import email.utils
import json
import time
from collections.abc import Mapping

from footnotes.errors import (
    ProviderBadResponse,
    ProviderError,
    ProviderRateLimited,
    ProviderRefused,
    ProviderTimeout,
    ProviderUnavailable,
)


def error_of_status(
    provider: str, status: int, headers: Mapping[str, str], message: str, key_setting: str
) -> ProviderError | None:
    """The error of an HTTP status, with the provider's message; None for success."""
    if 200 <= status < 300:
        return None
    detail = f": {message}" if message else ""
    if status in (401, 403):
        remedy = f"Check the setting {key_setting}." if key_setting else None
        # An answer made without the provider quotes only this message, so it must name the setting too.
        named = f" of the setting {key_setting}" if key_setting else ""
        return ProviderRefused(f"{provider} refused the key{named} ({status}){detail}", remedy=remedy)
    if status == 429:
        error = ProviderRateLimited(f"{provider} asks to wait (429){detail}")
        error.retry_after = retry_after(headers)
        return error
    if status in (408, 504):
        return ProviderTimeout(f"{provider} took too long ({status}){detail}")
    if status >= 500 or status == 409:
        failed = ProviderUnavailable(f"{provider} failed ({status}){detail}")
        failed.retry_after = retry_after(headers)
        return failed
    if 300 <= status < 400:
        return ProviderBadResponse(f"{provider} sent a redirect ({status}), which is not followed")
    return ProviderRefused(f"{provider} refused the request ({status}){detail}")


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds a provider asks to wait, given as a number or as a date."""
    for name in ("retry-after-ms", "retry-after"):
        asked = headers.get(name, "").strip()
        if not asked:
            continue
        try:
            return max(0.0, float(asked) / (1000.0 if name.endswith("ms") else 1.0))
        except ValueError:
            pass
        try:
            return max(0.0, email.utils.parsedate_to_datetime(asked).timestamp() - time.time())
        except (TypeError, ValueError):
            continue
    return None


def message_in(body: str) -> str:
    """Find the error message in a provider's body; the body itself if it is not JSON."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError):
        return "" if body.lstrip().startswith("<") else body
    found = parsed
    for _ in range(3):
        if isinstance(found, list) and found:
            found = found[0]
        if isinstance(found, dict):
            found = found.get("error") or found.get("message") or found.get("detail") or ""
    return found if isinstance(found, str) else ""


def parse_json(provider: str, body: bytes) -> object:
    """Parse the JSON object or list of a provider."""
    try:
        parsed = json.loads(body)
    except (ValueError, RecursionError) as error:
        kind = "an HTML page" if body.lstrip()[:1] == b"<" else "no valid JSON"
        raise ProviderBadResponse(f"{provider} answered with {kind}") from error
    if not isinstance(parsed, (dict, list)):
        raise ProviderBadResponse(f"{provider} answered with JSON that is neither an object nor a list")
    return parsed
