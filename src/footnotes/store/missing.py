"""Why something that is listed cannot be had."""

from __future__ import annotations

from footnotes.errors import NotFound
from footnotes.types import Document


def without_text(document: Document) -> NotFound:
    """Why a document that is listed has no text."""
    cause = document.error
    if cause is None:
        return NotFound(f"{document.filename} has no text yet: it is {document.status}", remedy="Try again later.")
    said = f"{document.filename} has no text, it could not be taken in: {cause.message} ({cause.code})"
    return NotFound(said, remedy=cause.remedy)
