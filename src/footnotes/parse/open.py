"""The entry point of parsing: choose the parser for a content type and run it in the right process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from footnotes.errors import DocumentError, MissingExtra, ParseError, ParseLimit
from footnotes.parse import Parser, Source
from footnotes.parse.catalog import parser_for
from footnotes.parse.limits import Limits as Limits
from footnotes.types import Part, Report


def parse_document(
    source: Source, *, limits: Limits | None = None, warnings: tuple[str, ...] = ()
) -> Iterator[Part | Report]:
    """Yield the parts of a document, then its report. `warnings` come from sniffing, and go first in the report.

    Raises a `DocumentError` at any point; the caller must then discard the parts already yielded.
    """
    limits = limits or Limits()
    parser = parser_for(source.mime)
    if parser.isolated:
        from footnotes.parse.pool import POOL

        needed = getattr(parser, "least_memory_bytes", 0)
        stream = POOL.parse(parser.name, source, replace(limits, memory_bytes=max(limits.memory_bytes, needed)))
    else:
        stream = _in_process(parser, source)
    position = 0
    for item in stream:
        if isinstance(item, Report):
            yield replace(item, warnings=(*warnings, *item.warnings)) if warnings else item
            continue
        position = item.end
        if position > limits.characters:
            raise ParseLimit(f"{source.filename} has more than {limits.characters:,} characters of text")
        yield item


def parser_fingerprint(mime: str) -> str:
    """Return the name and version of the parser of a type: documents with another one should be parsed again.

    A parser whose result depends on installed packages adds a `variant`.
    """
    parser = parser_for(mime)
    variant = getattr(parser, "variant", "")
    return f"{parser.name}/{parser.version}" + (f"+{variant}" if variant else "")


def _in_process(parser: Parser, source: Source) -> Iterator[Part | Report]:
    try:
        yield from parser.parse(source)
    except (DocumentError, MissingExtra):
        raise
    except MemoryError as error:
        raise ParseLimit(f"{source.filename} needs more memory than available") from error
    except Exception as error:
        raise ParseError(f"{source.filename} cannot be read: {type(error).__name__}: {error}") from error
