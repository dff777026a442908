"""Parses Markdown. The canonical text is the source itself, so every span is exact."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, ClassVar

from footnotes.errors import EmptyDocument
from footnotes.parse import Source
from footnotes.parse.decode import characters, detect_encoding
from footnotes.parse.outline import Outline, clean_title
from footnotes.parse.parts import runs
from footnotes.parse.types_by_name import MARKDOWN, WIKI
from footnotes.types import Block, BlockKind, JsonValue, Part, Report

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
import datetime

_KINDS: dict[str, BlockKind] = {
    "heading_open": "heading",
    "paragraph_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "blockquote_open": "quote",
    "fence": "code",
    "code_block": "code",
    "html_block": "paragraph",
    "hr": "paragraph",
}
_LINK = re.compile(r"!?\[([^\[\]]{0,300})\]\([^()\s]{0,500}(?:\s[^()]{0,200})?\)")
_EMPHASIS = re.compile(r"[*`]+|(?<!\w)_+|_+(?!\w)|~~")
_IDENTIFIER = re.compile(r"\s*\{\s*[#.:][^{}]{0,200}\}\s*\Z")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")


class MarkdownParser:
    """Reads headings, paragraphs, lists, quotes, code and tables from the lines markdown-it finds them on."""

    name: ClassVar[str] = "markdown"
    version: ClassVar[int] = 3
    mimes: ClassVar[tuple[str, ...]] = (MARKDOWN, WIKI)
    suffixes: ClassVar[Mapping[str, str]] = dict.fromkeys(
        (".md", ".markdown", ".mdown", ".mkd", ".mdx", ".qmd", ".rmd"), MARKDOWN
    )
    isolated: ClassVar[bool] = False

    def parse(self, source: Source) -> Iterator[Part | Report]:
        encoding = detect_encoding(source.readable)
        reader = _Reader()
        yield from reader.parts(runs(characters(source.readable, encoding)))
        if not reader.has_text:
            raise EmptyDocument(f"{source.filename} has no text")
        metadata = {**reader.front_matter, "encoding": encoding.codec}
        title = title_of(reader.front_matter) or reader.title
        yield Report(
            self.name, source.mime, reader.position, title=title, metadata=metadata, warnings=encoding.warnings
        )


class _Reader:
    """Turns runs of Markdown into parts, and cuts each before a top-level block."""

    def __init__(self) -> None:
        self.position = 0
        self.front_matter: dict[str, JsonValue] = {}
        self.title: str | None = None
        self.has_text = False
        self._outline = Outline()
        self._fence = ""
        """The opening line of a code block that continues in the next part."""

    def parts(self, pieces: Iterator[str]) -> Iterator[Part]:
        rest = next(pieces, "")
        for run in pieces:
            part = self._part(rest, last=False)
            rest = rest[len(part.text) :] + run
            yield part
        if rest:
            yield self._part(rest, last=True)

    def _part(self, text: str, *, last: bool) -> Part:
        start = self.position
        blocks = self.blocks(text)
        boundary = len(text)
        if not last and len(blocks) > 1:
            boundary = text.rfind("\n", 0, blocks[-1].start - start) + 1
            del blocks[-1]
            self._fence = ""
        else:
            self._fence = _open_fence(self._fence + text, blocks[-1], start - len(self._fence)) if blocks else ""
        self._note(blocks)
        self.position = start + boundary
        return Part(start, text[:boundary], tuple(blocks), None if start else title_of(self.front_matter))

    def _note(self, blocks: list[Block]) -> None:
        self.has_text = self.has_text or bool(blocks)
        if self.title is None:
            first = next((block for block in blocks if block.kind == "heading" and block.level == 1), None)
            self.title = first.headings[-1] if first else None

    def blocks(self, text: str) -> list[Block]:
        blocks: list[Block] = []
        skipped = 0
        if self.position == 0:
            skipped, self.front_matter = front_matter(text)
        if skipped:
            attributes: dict[str, JsonValue] = {"language": "yaml", "front_matter": True}
            blocks.append(Block("code", 0, len(text[:skipped].rstrip()), attributes=attributes))
        blocks.extend(self._body(self._fence + text[skipped:], self.position + skipped - len(self._fence)))
        return blocks

    def _body(self, text: str, offset: int) -> Iterator[Block]:
        starts = _line_starts(text)
        tokens = _markdown().parse(text)
        for index, token in enumerate(tokens):
            kind = _KINDS.get(token.type)
            if token.level or token.map is None or kind is None:
                continue
            first, last = starts[token.map[0]], starts[min(token.map[1], len(starts) - 1)]
            start, end = _trim(text, max(first, len(self._fence)), last)
            if start >= end:
                continue
            level, path, attributes = 0, self._outline.path, _attributes(token, text[start:end])
            if kind == "heading":
                level = int(token.tag[1:])
                path = self._outline.enter(level, plain_title(tokens[index + 1].content))
            yield Block(kind, offset + start, offset + end, level=level, headings=path, attributes=attributes)


def markdown_blocks(text: str) -> Iterator[tuple[BlockKind, int, str]]:
    """Return kind, heading level and source of each top-level block of a short text."""
    for block in _Reader().blocks(text):
        yield block.kind, block.level, text[block.start : block.end]


def _open_fence(text: str, block: Block, offset: int) -> str:
    """Return the opening line to repeat if a text ends inside a code block."""
    if block.kind != "code" or block.attributes.get("front_matter"):
        return ""
    before = text[: block.start - offset]
    opening = _FENCE.match(before.strip() or text[block.start - offset :])
    last_line = text[: block.end - offset].rpartition("\n")[2]
    if opening is None or (last_line.strip().startswith(opening[1]) and block.end - offset > opening.end()):
        return ""
    return f"{opening[1]}{block.attributes.get('language', '')}\n"


def _attributes(token: Token, content: str) -> dict[str, JsonValue]:
    if token.type == "fence" and token.info.strip():
        return {"language": token.info.split()[0].strip("{}.").lower()[:40]}
    if token.type == "table_open":
        return {"header": content.partition("\n")[0].strip()[:1000]}
    return {}


def plain_title(content: str) -> str:
    """Return a heading without the marks of links, emphasis, code, tags and identifiers."""
    content = _IDENTIFIER.sub("", content[:1000])
    content = _LINK.sub(r"\1", content)
    return clean_title(_EMPHASIS.sub("", _TAG.sub("", content)))


def _line_starts(text: str) -> list[int]:
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    starts[-1] = len(text)
    return starts


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    piece = text[start:end]
    bare = piece.strip()
    first = start + len(piece) - len(piece.lstrip())
    return first, first + len(bare)


@cache
def _markdown() -> MarkdownIt:
    """Parse only blocks: inline markup does not move their ends. Link definitions stay text."""
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark").enable("table").disable("reference")
    reader.core.ruler.enableOnly(["normalize", "block"])
    return reader


# ── reads the YAML block at the beginning of a Markdown file ──────────────────────────────────────────────────


_BLOCK = re.compile(r"---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_USUAL_NAMES = {
    "author": ("authors", "by", "creator"),
    "created": ("date", "published", "pubdate", "publish_date", "date_published"),
    "modified": ("updated", "lastmod", "last_modified", "last_updated", "date_modified"),
    "language": ("lang", "locale"),
}
_MOST_KEYS, _MOST_ITEMS, _LONGEST_VALUE = 50, 50, 1000


def front_matter(text: str) -> tuple[int, dict[str, JsonValue]]:
    """Return the end of the front matter of a text, and its values; 0 if there is none."""
    match = _BLOCK.match(text)
    if match is None:
        return 0, {}
    values = _load(match[1])
    return (match.end(), _with_usual_names(values)) if values is not None else (0, {})


def _with_usual_names(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the values, with author and dates also under the names that documents of all other kinds use."""
    found = dict(values)
    for name, others in _USUAL_NAMES.items():
        value = next((values[other] for other in others if isinstance(values.get(other), str | list)), None)
        if name not in found and value:
            found[name] = value
    return found


def title_of(values: Mapping[str, JsonValue]) -> str | None:
    """Return the title from the front matter."""
    title = values.get("title")
    return clean_title(title) if isinstance(title, str) and title.strip() else None


def _load(source: str) -> dict[str, JsonValue] | None:
    import yaml

    try:
        # Aliases can grow without bound when they are written out.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source, Loader=yaml.SafeLoader)):
            return {}
        loaded = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(loaded, dict):
        return None
    items = list(loaded.items())[:_MOST_KEYS]
    return {str(key)[:100]: value for key, raw in items if (value := _plain(raw)) is not None}


def _plain(value: object) -> JsonValue:
    """Convert a value to metadata: text, numbers and flat lists; anything else is skipped."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return value[:_LONGEST_VALUE]
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    if isinstance(value, list):
        return [plain for each in value[:_MOST_ITEMS] if isinstance(plain := _plain(each), str | int | float | bool)]
    return None
