"""Reads a document's text in spans, blocks and pages."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from footnotes.errors import NotFound
from footnotes.store.documents import Documents
from footnotes.types import Block


def page_start(documents: Documents, user: str, document_id: str, page: int) -> int:
    """Return the offset of a page, counted from 1, in the canonical text."""
    for part in documents.parts(user, document_id):
        for block in part.blocks:
            if block.page == page:
                return block.start
    raise NotFound(f"document {document_id!r} has no text on page {page}")


def read_blocks(documents: Documents, user: str, document_id: str, start: int, end: int | None) -> Iterator[Block]:
    """Yield the blocks of a document that overlap a span of its canonical text."""
    for part in documents.parts(user, document_id):
        if part.start + len(part.text) < start:
            continue
        if end is not None and part.start > end:
            return
        for block in part.blocks:
            if block.end >= start and (end is None or block.start < end):
                yield block


def find_words(
    documents: Documents, user: str, document_id: str, words: str, limit: int
) -> list[tuple[int, int, int | None]]:
    """Find words in a document, ignoring case and line breaks; return start, end and page of each match."""
    wanted = re.compile(r"\s+".join(map(re.escape, words.split())), re.IGNORECASE)
    found: list[tuple[int, int, int | None]] = []
    for part in documents.parts(user, document_id) if words.split() else ():
        starts = [block.start for block in part.blocks]
        for match in wanted.finditer(part.text):
            start, end = part.start + match.start(), part.start + match.end()
            block = bisect_right(starts, start) - 1
            found.append((start, end, part.blocks[block].page if block >= 0 else None))
            if len(found) >= limit:
                return found
    return found
