"""The declarations of parsers: which types they read, and how to detect files of these types.

Built-in and third-party parsers declare the same things, so a new type needs one class.
"""

from __future__ import annotations

from functools import cache

from footnotes import plugins
from footnotes.errors import MissingExtra, PluginBroken, UnsupportedType
from footnotes.parse import Parser


def parser_for(mime: str) -> Parser:
    """Return the parser of a content type."""
    name = _names_by_mime().get(mime)
    if name is None:
        raise UnsupportedType(f"there is no parser for {mime}")
    return _parsers()[name]()


def supported(mime: str) -> bool:
    """Return whether some parser reads a content type."""
    return mime in _names_by_mime()


@cache
def types_by_suffix() -> dict[str, str]:
    """Return the content types by file name suffix, in lower case with its dot."""
    return {
        suffix.lower(): mime
        for parser in _parsers().values()
        for suffix, mime in getattr(parser, "suffixes", {}).items()
    }


@cache
def signatures() -> tuple[tuple[bytes, str], ...]:
    """Return the bytes that files of a type begin with, longest first."""
    found = [pair for parser in _parsers().values() for pair in getattr(parser, "signatures", ())]
    return tuple(sorted(found, key=lambda pair: -len(pair[0])))


@cache
def _names_by_mime() -> dict[str, str]:
    return {mime: name for name, parser in _parsers().items() for mime in parser.mimes}


@cache
def _parsers() -> dict[str, type[Parser]]:
    found = {}
    for name in plugins.names("parsers"):
        try:
            found[name] = plugins.find("parsers", name)
        except (MissingExtra, PluginBroken):  # a plug-in that cannot load must not take the others with it
            continue
    return found
