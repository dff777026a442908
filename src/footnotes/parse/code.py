"""Source code → parts: functions and classes as blocks, under the names of what encloses them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, ClassVar

from footnotes.errors import EmptyDocument, MissingExtra
from footnotes.parse import PART_CHARACTERS, Source
from footnotes.parse.code_grammar import IMPORTS, body_of, definition, name_of, parser_of
from footnotes.parse.decode import characters, detect_encoding
from footnotes.parse.outline import Outline
from footnotes.parse.parts import runs
from footnotes.parse.text import text_blocks
from footnotes.parse.types_by_name import LANGUAGES, code_mime
from footnotes.types import Block, JsonValue, Part, Report

_MOST_CHARACTERS = 4_000_000
_LARGE = 1_500
"""A class of more characters is taken apart into its methods."""
_DEEPEST = 6
_LONGEST_SIGNATURE = 300
_MOST_SYMBOLS = 50
_WORD = re.compile(r"[A-Za-z_]\w*")
_IMPORT_WORDS = frozenset(["import", "from", "as", "use", "using", "include", "require", "static", "pub", "crate"])


class CodeParser:
    """Reads source with tree-sitter. The canonical text is the source itself, so every span is exact."""

    name: ClassVar[str] = "code"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = tuple(code_mime(language) for language in LANGUAGES)
    isolated: ClassVar[bool] = True

    @property
    def variant(self) -> str:
        """Part of the fingerprint: without the extra, source is read as plain text."""
        return "" if find_spec("tree_sitter") else "plain"

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.path)
        language = source.mime.removeprefix("text/x-")
        text = "".join(characters(source.path, encoding))
        if not text.strip():
            raise EmptyDocument(f"{source.filename} holds no text")
        warnings = list(encoding.warnings)
        metadata: dict[str, JsonValue] = {"language": language, "encoding": encoding.codec}
        outline = _outlined(text, language, warnings)
        if outline is None:
            yield from _plain_parts(text)
        else:
            metadata["imports"] = [*outline.imports[:_MOST_SYMBOLS]]
            yield from _parts(text, [*outline.blocks(text, language)])
        yield Report(self.name, source.mime, len(text), metadata=metadata, warnings=tuple(warnings))


def _outlined(text: str, language: str, warnings: list[str]) -> _Outline | None:
    """The definitions of a source text; nothing, and a warning, when they cannot be had."""
    if len(text) > _MOST_CHARACTERS:
        warnings.append("the source is too large to be read as code, and was read as plain text")
        return None
    try:
        parser = parser_of(language)
    except MissingExtra as error:
        warnings.append(f"read as plain text: {error}; {error.remedy}")
        return None
    encoded = text.encode("utf-8", "replace")
    outline = _Outline(text, encoded)
    outline.read(parser.parse(encoded).root_node, (), "", 0)
    return outline


@dataclass(slots=True)
class _Span:
    """A definition, or the head of one that was taken apart, in characters."""

    start: int
    end: int
    path: tuple[str, ...]
    enclosing: str
    signature: str
    symbols: list[str] = field(default_factory=list)


class _Outline:
    """Collects the definitions of one source text."""

    def __init__(self, text: str, encoded: bytes) -> None:
        self.imports: list[str] = []
        self._spans: list[_Span] = []
        self._ascii = len(text) == len(encoded)
        # Where each line begins, in bytes and in characters: an offset is then counted from its line.
        self._encoded = encoded
        lines = encoded.split(b"\n")
        self._byte_starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._starts = [0, *accumulate(len(line.decode("utf-8")) + 1 for line in lines)] if not self._ascii else []

    def _offset(self, at: int) -> int:
        if self._ascii:
            return at
        line = bisect_right(self._byte_starts, at) - 1
        begin = self._byte_starts[line]
        return self._starts[line] + len(self._encoded[begin:at].decode("utf-8", "replace"))

    def read(self, parent: Any, path: tuple[str, ...], enclosing: str, depth: int) -> None:
        """The definitions directly below a node, each with the comments above it."""
        comments: int | None = None
        for node in parent.children:
            if node.type in IMPORTS:
                self.imports.append(" ".join(node.text.decode("utf-8", "replace").split())[:200])
            if "comment" in node.type or node.type == "attribute_item":
                comments = node.start_byte if comments is None else comments
                continue
            found = definition(node)
            if found is not None and name_of(found):
                start = node.start_byte if comments is None else comments
                self._definition(node, found, start, path, enclosing, depth)
            elif depth < _DEEPEST and node.type in ("preproc_ifdef", "preproc_if", "linkage_specification", "program"):
                self.read(node, path, enclosing, depth + 1)
            comments = None

    def _definition(self, node: Any, found: Any, start: int, path: tuple[str, ...], enclosing: str, depth: int) -> None:
        name = name_of(found)
        body = body_of(found)
        signature = self._signature(node, body)
        inner = (*path, name)
        span = _Span(self._offset(start), self._offset(node.end_byte), inner, enclosing, signature, [".".join(inner)])
        large = node.end_byte - node.start_byte > _LARGE and depth < _DEEPEST and body is not None
        nested = [child for child in body.children if (each := definition(child)) and name_of(each)] if body else []
        holds = bool(nested) and not _is_function(found)
        if large and holds:
            span.end = self._offset(nested[0].start_byte)
            self._spans.append(span)
            self.read(body, inner, " ".join(filter(None, (enclosing, signature))), depth + 1)
        else:
            if holds:
                names = [name_of(each) for child in nested if (each := definition(child))]
                span.symbols += [f"{span.symbols[0]}.{each}" for each in names[:_MOST_SYMBOLS]]
            self._spans.append(span)

    @staticmethod
    def _signature(node: Any, body: Any | None) -> str:
        end = body.start_byte - node.start_byte if body is not None else len(node.text)
        text = node.text[: max(end, 0)][: _LONGEST_SIGNATURE * 4].decode("utf-8", "replace")
        return " ".join(text.split()).rstrip("{ ")[:_LONGEST_SIGNATURE]

    def blocks(self, text: str, language: str) -> Iterator[Block]:
        """All of the text as blocks: definitions, and what stands between them."""
        imported = [(set(_WORD.findall(line)) - _IMPORT_WORDS, line) for line in self.imports]
        edge = 0
        for span in sorted(self._spans, key=lambda each: each.start):
            start = max(span.start, edge)
            yield from _between(text, edge, start, language)
            if text[span.end : span.end + 1] == ";":  # it ends a declaration in C
                span.end += 1
            if span.end > start:
                yield from _block(text, start, span, language, imported)
                edge = span.end
        yield from _between(text, edge, len(text), language)


def _is_function(node: Any) -> bool:
    return "function" in node.type or "method" in node.type or "constructor" in node.type


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    return start + len(piece) - len(piece.lstrip()), start + len(piece.rstrip())


def _between(text: str, start: int, end: int, language: str) -> Iterator[Block]:
    first, last = _trimmed(text, start, end)
    if first < last:
        yield Block("code", first, last, attributes={"language": language})


def _block(text: str, start: int, span: _Span, language: str, imported: list[tuple[set[str], str]]) -> Iterator[Block]:
    first, last = _trimmed(text, start, span.end)
    if first >= last:
        return
    words = set(_WORD.findall(text[first:last]))
    attributes: dict[str, JsonValue] = {
        "language": language,
        "symbols": [*span.symbols],
        "signature": span.signature,
        "imports": [*[line for names, line in imported if names & words][:_MOST_SYMBOLS]],
    }
    if span.enclosing:
        attributes["enclosing"] = span.enclosing
    yield Block("code", first, last, headings=span.path, attributes=attributes)


def _parts(text: str, blocks: list[Block]) -> Iterator[Part]:
    """Parts that end between two blocks."""
    start = 0
    held: list[Block] = []
    for block in blocks:
        if held and held[-1].end - start >= PART_CHARACTERS:
            cut = held[-1].end
            yield Part(start, text[start:cut], tuple(held))
            start, held = cut, []
        held.append(block)
    yield Part(start, text[start:], tuple(held))


def _plain_parts(text: str) -> Iterator[Part]:
    position = 0
    for run in runs(iter((text,))):
        yield Part(position, run, tuple(text_blocks(run, position, Outline())))
        position += len(run)
