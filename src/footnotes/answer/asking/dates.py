"""Dates documents."""

from __future__ import annotations

import re

from footnotes.types import Document

_STATED = ("modified", "created", "date")
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_.]?(0[1-9]|1[0-2])(?:[-_.]?([0-2]\d|3[01]))?)?(?!\d)")


def when_written(document: Document) -> str:
    """Return a text that sorts by date: that of the file, else one in its name or title, else that of ingestion."""
    for key in _STATED:
        if isinstance(stated := document.metadata.get(key), str) and _DAY.match(stated):
            return stated
    if found := _DAY.search(f"{document.filename} {document.title}"):
        return "-".join(part for part in found.groups() if part)
    return document.updated_at
