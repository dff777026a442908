"""Errors for listed documents that lack something."""

from __future__ import annotations

from footnotes.errors import NotFound
from footnotes.types import Document


def without_text(document: Document) -> NotFound:
    """Return the error that explains why a listed document has no text."""
    cause = document.error
    if cause is None:
        return NotFound(f"{document.filename} has no text yet: it is {document.status}", remedy="Try again later.")
    message = f"{document.filename} has no text, it could not be taken in: {cause.message} ({cause.code})"
    return NotFound(message, remedy=cause.remedy)
