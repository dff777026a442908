"""Splits source code into parts: functions and classes are blocks, under the names of what encloses them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from typing import ClassVar, Protocol, TypeVar

from footnotes.analyse.outline import MOST_SYMBOLS, Cut, Span
from footnotes.analyse.source import MOST_CHARACTERS, Analysis, analyse
from footnotes.errors import EmptyDocument
from footnotes.parse import PART_CHARACTERS, Source
from footnotes.parse.decode import characters, detect_encoding
from footnotes.parse.types_by_name import LANGUAGES, code_mime
from footnotes.types import Block, JsonValue, Part, Report

_MOST_ENTRY_POINTS = 200


class CodeParser:
    """Reads source with tree-sitter. The canonical text is the source itself, so every span is exact."""

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 2
    mimes: ClassVar[tuple[str, ...]] = tuple(code_mime(language) for language in LANGUAGES)
    suffixes: ClassVar[Mapping[str, str]] = {
        f".{end}": code_mime(language) for language, ends in LANGUAGES.items() for end in ends
    }
    isolated: ClassVar[bool] = True

    @property
    def variant(self) -> str:
        """Part of the fingerprint: without the extra, definitions are found by regular expressions."""
        return "" if find_spec("tree_sitter") else "plain"

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.readable)
        language = source.mime.removeprefix("text/x-")
        text = "".join(characters(source.readable, encoding))
        if not text.strip():
            raise EmptyDocument(f"{source.filename} has no text")
        found = analyse(text, language)
        yield from _parts(text, [*_Blocks(text, language, found).all()])
        metadata: dict[str, JsonValue] = {"language": language, "encoding": encoding.codec}
        if found.imports:
            metadata["imports"] = [*found.imports]
        if found.entry_points:
            names = dict.fromkeys(entry.name for entry in found.entry_points)
            metadata["entry_points"] = [*list(names)[:_MOST_ENTRY_POINTS]]
        warnings = (*encoding.warnings, *_shortcomings(text, found))
        yield Report(self.name, source.mime, len(text), metadata=metadata, warnings=warnings)


def _shortcomings(text: str, found: Analysis) -> Iterator[str]:
    if found.missing is not None:
        yield f"definitions were found by regular expressions: {found.missing}; {found.missing.remedy}"
    elif len(text) > MOST_CHARACTERS:
        yield "the source is too large for its grammar; definitions were found by regular expressions"


class _Named(Protocol):
    @property
    def start(self) -> int: ...


_Place = TypeVar("_Place", bound=_Named)


class _Blocks:
    """Split a text into blocks: definitions, and the code between them."""

    def __init__(self, text: str, language: str, found: Analysis) -> None:
        self._text = text
        self._language = language
        self._spans = found.outline.spans
        self._cuts = found.outline.cuts
        self._symbols = sorted(found.outline.symbols, key=lambda symbol: symbol.start)
        self._entries = found.entry_points

    def all(self) -> Iterator[Block]:
        edge = 0
        for span in self._spans:
            start, end = max(span.start, edge), span.end
            yield from self._block(edge, start, None)
            if self._text[end : end + 1] == ";":  # it ends a declaration in C
                end += 1
            if end > start:
                yield from self._block(start, end, span)
                edge = end
        yield from self._block(edge, len(self._text), None)

    def _block(self, start: int, end: int, span: Span | None) -> Iterator[Block]:
        first, last = _trim(self._text, start, end)
        if first >= last:
            return
        attributes: dict[str, JsonValue] = {"language": self._language}
        cuts: Sequence[Cut] = self._cuts if span is None else span.cuts
        inside: list[JsonValue] = [[at - first, depth] for at, depth in cuts if first < at < last]
        if inside:
            attributes["cuts"] = inside
        symbols = [(name, each.start) for each in _within(self._symbols, first, last) for name in each.names]
        entries = [(entry.name, entry.start) for entry in _within(self._entries, first, last)]
        for key, names in (("symbols", symbols[:MOST_SYMBOLS]), ("entry_points", entries[:_MOST_ENTRY_POINTS])):
            if names:
                attributes[key] = [name for name, _ in names]
                attributes[f"{key}_at"] = [at - first for _, at in names]
        if span is None:
            yield Block("code", first, last, attributes=attributes)
            return
        details = {"signature": span.signature, "saying": span.summary, "enclosing": span.enclosing}
        attributes.update({key: value for key, value in details.items() if value})
        yield Block("code", first, last, headings=span.path, attributes=attributes)


def _within(places: Sequence[_Place], start: int, end: int) -> Sequence[_Place]:
    """Return the items that begin in a span. Items are sorted by position."""
    low = bisect_left(places, start, key=lambda each: each.start)
    high = bisect_left(places, end, lo=low, key=lambda each: each.start)
    return places[low:high]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _parts(text: str, blocks: list[Block]) -> Iterator[Part]:
    """Split into parts that end between two blocks, and between two lines if possible."""
    start = 0
    pending: list[Block] = []
    for block in blocks:
        if pending and pending[-1].end - start >= PART_CHARACTERS:
            line = text.rfind("\n", pending[-1].end, block.start) + 1
            boundary = line or pending[-1].end
            yield Part(start, text[start:boundary], tuple(pending))
            start, pending = boundary, []
        pending.append(block)
    yield Part(start, text[start:], tuple(pending))
