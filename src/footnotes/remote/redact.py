"""Removes keys from texts of providers before they are quoted."""

from __future__ import annotations

import re
from collections.abc import Iterable

QUOTED = 200
_SECRET = re.compile(
    r"(?i)(bearer\s+|api[-_ ]?key[\"']?\s*[:=]\s*[\"']?|[?&]key=|token[\"']?\s*[:=]\s*[\"']?)[^\s\"',}&]{4,}"
    r"|\b(?:sk|pk|rk|key|gsk|xai|hf|co)[-_][A-Za-z0-9_-]{8,}|\bAIza[\w-]{10,}|\b[A-Za-z0-9_-]{40,}\b"
)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Shorten a text to one line, without anything that is or looks like a key."""
    for secret in secrets:
        if len(secret) >= 4:
            text = text.replace(secret, "•••")
    text = _SECRET.sub(lambda match: (match[1] or "") + "•••", text[: 20 * QUOTED])
    line = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return line if len(line) <= QUOTED else line[: QUOTED - 1] + "…"
