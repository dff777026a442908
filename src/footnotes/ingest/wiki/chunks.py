"""Metadata of the chunks of a page, from the metadata of the page."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from footnotes.parse.types_by_name import WIKI
from footnotes.text.languages import function_words
from footnotes.types import JsonValue, Metadata

Describe = Callable[[int, tuple[str, ...], int, str], Metadata]
"""Returns the metadata of a chunk, from its index, headings, tokens and text."""

_LONGEST_SLUG = 200
_ANCHOR = re.compile(r"\s*\{\s*[#.:][^{}]*\}\s*\Z")
_NO_WORD = re.compile(r"[\W_]+")
_CHAIN = re.compile(r"@?[A-Za-z_$][\w$-]*(?:(?:\.|::|#|/|\\)[A-Za-z_$][\w$-]*)*")
_NAME = re.compile(r"[A-Za-z_$][\w$]*")
_PLAIN = re.compile(r"[A-Z]?[a-z]+\Z")
"""Names that are also ordinary words: they count only in code."""
_CODE = re.compile(r"^(`{3,}|~{3,})[^\n]*\n(?P<fenced>.*?)(?:^\1|\Z)|`(?P<inline>[^`\n]+)`", re.MULTILINE | re.DOTALL)
_ENGLISH = frozenset(function_words("en"))
"""Never names, even in code: `for`, `from`, `with`."""
_CALLED = re.compile(r"\b([A-Za-z_$][\w$]*)\(")
_INDENTED = re.compile(r"^(?: {4}|\t)[^\n]+", re.MULTILINE)


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


# ── finds names of an analysis in a text, as words ────────────────────────────────────────────────────────────


def find_names(text: str, names: Collection[str]) -> list[str]:
    """Find the names in a text, in order. Ordinary words count only in code."""
    if not names:
        return []
    found: dict[str, None] = {}
    code: set[str] | None = None
    for name in _names_in(text):
        if name not in names or name in found:
            continue
        if _PLAIN.match(name):
            code = set(_names_in(code_in(text))) | set(_CALLED.findall(text)) if code is None else code
            if name not in code or name.lower() in _ENGLISH:
                continue
        found[name] = None
    return list(found)


def code_in(text: str) -> str:
    """Return the code in a Markdown text."""
    pieces = [match["fenced"] or match["inline"] or "" for match in _CODE.finditer(text)]
    return "\n".join([*pieces, *_INDENTED.findall(text)])


def _names_in(text: str) -> Iterator[str]:
    """Yield every name, and every chain of names with its parts: `a.b.c`, `a.b`, `b.c`, `a`, `b`, `c`."""
    for chain in dict.fromkeys(_CHAIN.findall(text)):
        yield chain
        if "::" in chain or "#" in chain:
            yield chain.replace("::", ".").replace("#", ".")
        parts = _NAME.findall(chain)
        yield from parts
        if 2 < len(parts) <= 8:
            yield from _runs(parts)
        elif len(parts) == 2:
            yield ".".join(parts)


def _runs(parts: list[str]) -> Iterator[str]:
    for start in range(len(parts)):
        for end in range(start + 2, len(parts) + 1):
            yield ".".join(parts[start:end])


def find_entry_points(text: str, entries: Iterable[str]) -> list[str]:
    """Find the entry points in a text: a route by its path, a command or `main` by its call."""
    code: str | None = None
    found: list[str] = []
    for entry in entries:
        kind, _, name = entry.partition(":")
        method, _, path = entry.partition(" ")
        if path.startswith("/"):
            spoken = entry in text if path == "/" else _holds_path(text, path)
        elif kind in ("cli", "script") and name:
            code = code_in(text) if code is None else code
            pattern = rf"(?m)(?:^|[\s$>])[\w./-]+[ \t]+{re.escape(name)}(?![\w-])"
            spoken = entry in text or (name in code and re.search(pattern, code) is not None)
        else:
            spoken = f"{method}()" in text or (entry == "main" and "__main__" in text)
        if spoken:
            found.append(entry)
    return found


def _holds_path(text: str, path: str) -> bool:
    at = text.find(path)
    while at >= 0:
        before, after = text[at - 1 : at], text[at + len(path) : at + len(path) + 1]
        if not (before.isalnum() or before == "/") and not (after.isalnum() or after in ("/", "_", "-", "{")):
            return True
        at = text.find(path, at + 1)
    return False
