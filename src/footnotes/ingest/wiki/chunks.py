"""Metadata of the chunks of a page, from the metadata of the page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath

from footnotes.ingest.wiki.names import find_entry_points, find_names
from footnotes.parse.types_by_name import WIKI
from footnotes.types import JsonValue, Metadata

Describe = Callable[[int, tuple[str, ...], int, str], Metadata]
"""Returns the metadata of a chunk, from its index, headings, tokens and text."""

_LONGEST_SLUG = 200
_ANCHOR = re.compile(r"\s*\{\s*[#.:][^{}]*\}\s*\Z")
_NO_WORD = re.compile(r"[\W_]+")


def build_describer(mime: str, metadata: Metadata, title: str) -> Describe | None:
    """Build the function that describes the chunks of a page; None for other documents."""
    if mime != WIKI:
        return None
    path, analysis = metadata.get("path"), metadata.get("analysis")
    values = analysis if isinstance(analysis, dict) else {}
    symbols, imports = frozenset(_texts(values, "symbols")), frozenset(_texts(values, "imports"))
    entries, used = _texts(values, "entry_points"), set[str]()

    def describe(index: int, headings: tuple[str, ...], tokens: int, text: str) -> Metadata:
        header = strip_anchor(headings[-1] if headings else title)
        return {
            "section_header": header,
            "chunk_index": index,
            "token_count": tokens,
            "slug": unique(slug(str(path or title), header), used),
            "symbols": [*find_names(text, symbols)],
            "imports": [*find_names(text, imports)],
            "entry_points": [*find_entry_points(text, entries)],
        }

    return describe


def strip_anchor(heading: str) -> str:
    """Remove a trailing `{ #anchor }` from a heading."""
    return _ANCHOR.sub("", heading) or heading


def slug(path: str, section: str) -> str:
    """Build `wiki_<path>_<section>`: lower case, letters and digits of any script, joined by `_`."""
    bare = path.removesuffix(PurePosixPath(path).suffix)
    words = (_NO_WORD.sub("_", unicodedata.normalize("NFKC", part).lower()).strip("_") for part in (bare, section))
    return "_".join(filter(None, ("wiki", *words)))[:_LONGEST_SLUG]


def unique(name: str, used: set[str]) -> str:
    """Make a name unique: the first stays unchanged, the second ends in `_2`."""
    number, found = 1, name
    while found in used:
        number += 1
        found = f"{name}_{number}"
    used.add(found)
    return found


def _texts(values: Mapping[str, JsonValue], key: str) -> list[str]:
    found = values.get(key)
    return [each for each in found if isinstance(each, str)] if isinstance(found, list) else []
