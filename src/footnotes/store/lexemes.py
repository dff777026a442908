"""A chunk → the terms by which the lexical leg finds it. The same in every store."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from footnotes.text.analysis import analyze

_BEGINNING = 400


def chunk_terms(
    text: str, *, headings: Sequence[str], title: str, prefix: str, language: str | None
) -> tuple[list[str], list[str]]:
    """The terms of the text, and apart from them those of title, sections and what the chunker says of the chunk.

    Code is found by the name of its language too.
    """
    if language:
        # A definition's first line names it already; "python" said of every file in Python tells nothing apart.
        headings, text = [name for name in headings if name not in text[:_BEGINNING]], f"{text}\n{language}"
    _, _, added = prefix.partition("\n")
    return analyze(text), list(_heading_terms(" ".join([title, *headings, added])))


@lru_cache(maxsize=1_024)
def _heading_terms(heading: str) -> tuple[str, ...]:
    """All chunks of a section share their heading."""
    return tuple(analyze(heading))
