"""Returns the terms of a chunk for the lexical leg. The same in every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NotRequired, TypedDict, Unpack

from footnotes.store.naming import label_of
from footnotes.text import analysis
from footnotes.text.analysis import analyze, join_terms
from footnotes.types import JsonValue

VERSION = 3
"""Raise this number when a chunk's fields or their content change: all terms are then rebuilt from the texts."""
_BEGINNING = 400
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """A chunk's terms by field: its text, title and file name, the headings above it, and the names in it.

    `defines` are the names defined in it, as written.
    """

    body: Sequence[str]
    title: Sequence[str] = ()
    section: Sequence[str] = ()
    symbols: Sequence[str] = ()
    defines: tuple[str, ...] = ()


class JoinedTerms(NamedTuple):
    """A chunk's terms, joined by spaces in each field."""

    body: str
    title: str
    section: str
    symbols: str
    defines: tuple[str, ...]


def made_by() -> str:
    """Return a string that changes when our rules give a chunk other terms."""
    return f"{VERSION}.{analysis.VERSION}"


def fingerprint() -> str:
    """Like `made_by`, but it also changes with the analysis libraries; for indexes."""
    return f"{analysis.fingerprint()}/lexemes-{VERSION}"


class ChunkContext(TypedDict):
    """The data on a chunk besides its text."""

    headings: Sequence[str]
    title: str
    filename: NotRequired[str]
    prefix: str
    metadata: Mapping[str, JsonValue]


def chunk_terms(text: str, **about: Unpack[ChunkContext]) -> Terms:
    """Return the terms of a chunk. `section` has the headings except the title, and the chunker's prefix.

    Code also has the name of its language as a term.
    """
    return split_terms(join_chunk_terms(text, **about))


def split_terms(joined: JoinedTerms) -> Terms:
    body, title, section, symbols = (each.split() for each in joined[:4])
    return Terms(body, title, section, symbols, joined.defines)


def join_chunk_terms(
    text: str,
    *,
    headings: Sequence[str],
    title: str,
    filename: str = "",
    prefix: str,
    metadata: Mapping[str, JsonValue],
) -> JoinedTerms:
    """Like `chunk_terms`, for callers that need joined texts."""
    headings = [name for name in headings if name != title]
    if language := metadata.get("language"):
        # A definition's first line contains its name already, and "python" in every Python file distinguishes nothing.
        headings, text = [name for name in headings if name not in text[:_BEGINNING]], f"{text}\n{language}"
    _, _, added = prefix.partition("\n")
    symbols = listed(metadata.get("symbols")) if metadata else []
    return JoinedTerms(
        join_terms(text),
        _shared_terms(label_of(title, filename)),
        _shared_terms(" ".join([*headings, added])),
        " ".join(filter(None, map(whole_term, symbols))),
        defined(metadata) if symbols else (),
    )


def whole_term(name: str) -> str:
    """Return the term for a whole name, `validate_token` or `tokenerror`; empty for a name of one word.

    The text already contains a name's words, and counting them twice gave worse results.
    """
    terms = analyze(name, "en")
    return terms[-1] if len(terms) > 1 else ""


def defined(metadata: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """Return the names that a chunk of source code defines. A page about the source only mentions them."""
    if "section_header" in metadata:
        return ()
    return tuple(name for name in listed(metadata.get("symbols")) if len(name) <= _LONGEST_NAME)


def listed(value: JsonValue) -> list[str]:
    """Return the texts of a list in metadata, or its only text."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


@lru_cache(maxsize=1_024)
def _shared_terms(text: str) -> str:
    """Return terms, cached: all chunks of a section share their heading, all of a document its title."""
    return join_terms(text) if text and not text.isspace() else ""
