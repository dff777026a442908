"""A chunk → the terms by which the lexical leg finds it. The same in every store."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple, NotRequired, TypedDict, Unpack

from footnotes.store.naming import label_of
from footnotes.text import analysis
from footnotes.text.analysis import analyze, joined_terms
from footnotes.types import JsonValue

VERSION = 3
"""Raise when the fields of a chunk, or what stands in them, change: all words are then made again from the texts."""
_BEGINNING = 400
_LONGEST_NAME = 200


@dataclass(frozen=True, slots=True)
class Terms:
    """A chunk's terms, each field apart: its text, title and file name, what is above it, and the names it lists.

    `defines` are the names that are defined in it, as they are written.
    """

    body: Sequence[str]
    title: Sequence[str] = ()
    section: Sequence[str] = ()
    symbols: Sequence[str] = ()
    defines: tuple[str, ...] = ()


class JoinedTerms(NamedTuple):
    """A chunk's terms, those of a field in one text with spaces between them."""

    body: str
    title: str
    section: str
    symbols: str
    defines: tuple[str, ...]


def made_by() -> str:
    """Changes when the same chunk may give other terms."""
    return f"{VERSION}.{analysis.VERSION}"


def fingerprint() -> str:
    """As `made_by`, for indexes: changes with the libraries that analyse too."""
    return f"{analysis.fingerprint()}/lexemes-{VERSION}"


class ChunkContext(TypedDict):
    """What is known of a chunk beside its text."""

    headings: Sequence[str]
    title: str
    filename: NotRequired[str]
    prefix: str
    metadata: Mapping[str, JsonValue]


def chunk_terms(text: str, **about: Unpack[ChunkContext]) -> Terms:
    """The terms of a chunk. Above it stand the headings that are not the title, and what its chunker says of it.

    Code is found by the name of its language too.
    """
    found = joined_chunk_terms(text, **about)
    body, title, section, symbols = (each.split() for each in found[:4])
    return Terms(body, title, section, symbols, found.defines)


def joined_chunk_terms(
    text: str,
    *,
    headings: Sequence[str],
    title: str,
    filename: str = "",
    prefix: str,
    metadata: Mapping[str, JsonValue],
) -> JoinedTerms:
    """As `chunk_terms`, for what takes texts."""
    headings = [name for name in headings if name != title]
    if language := metadata.get("language"):
        # A definition's first line names it already; "python" said of every file in Python tells nothing apart.
        headings, text = [name for name in headings if name not in text[:_BEGINNING]], f"{text}\n{language}"
    _, _, added = prefix.partition("\n")
    symbols = listed(metadata.get("symbols")) if metadata else []
    return JoinedTerms(
        joined_terms(text),
        _shared_terms(label_of(title, filename)),
        _shared_terms(" ".join([*headings, added])),
        " ".join(filter(None, map(whole_term, symbols))),
        defined(metadata) if symbols else (),
    )


def whole_term(name: str) -> str:
    """The term that stands for a name as a whole, `validate_token` or `tokenerror`; empty for one of a single word.

    By their words names are found in the text already, and what counts these twice finds worse.
    """
    terms = analyze(name, "en")
    return terms[-1] if len(terms) > 1 else ""


def defined(metadata: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The names a chunk of source defines. A page about the source only names them."""
    if "section_header" in metadata:
        return ()
    return tuple(name for name in listed(metadata.get("symbols")) if len(name) <= _LONGEST_NAME)


def listed(value: JsonValue) -> list[str]:
    """The texts of a list in metadata, or the only one."""
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


@lru_cache(maxsize=1_024)
def _shared_terms(text: str) -> str:
    """All chunks of a section share their heading, all of a document its title."""
    return joined_terms(text) if text and not text.isspace() else ""
