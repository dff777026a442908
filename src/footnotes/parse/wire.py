"""Parts, reports and errors as lines of JSON, between a parser process and the one that started it."""

from __future__ import annotations

import json

from footnotes.errors import FootnotesError, ParseError, all_errors
from footnotes.types import Block, BlockKind, Metadata, Part, Report


def encode(item: Part | Report | FootnotesError) -> bytes:
    """Encode one line. Characters that cannot be encoded become `?`."""
    return json.dumps(_message(item), ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _message(item: Part | Report | FootnotesError) -> dict[str, object]:
    if isinstance(item, Part):
        return {"part": [item.start, item.text, [_block(block) for block in item.blocks], item.title]}
    if isinstance(item, Report):
        fields = (item.parser, item.mime, item.characters, item.pages, item.pages_without_text)
        return {"report": [*fields, item.title, dict(item.metadata), item.warnings]}
    return {"error": [item.code, item.message, item.remedy]}


def _block(block: Block) -> list[object]:
    attributes = dict(block.attributes)
    return [block.kind, block.start, block.end, block.page, block.level, block.headings, attributes]


def decode(line: bytes) -> Part | Report | FootnotesError:
    """Decode a line; an error is returned, not raised."""
    message = json.loads(line)
    if "part" in message:
        start, text, blocks, title = message["part"]
        return Part(start, text, tuple(_decoded_block(*each) for each in blocks), title)
    if "report" in message:
        parser, mime, characters, pages, without, title, metadata, warnings = message["report"]
        return Report(parser, mime, characters, pages, tuple(without), title, metadata, tuple(warnings))
    code, text, remedy = message["error"]
    kind = next((each for each in all_errors() if each.code == code), ParseError)
    return kind(text, remedy=remedy)


def _decoded_block(
    kind: BlockKind, start: int, end: int, page: int | None, level: int, headings: list[str], attributes: Metadata
) -> Block:
    return Block(kind, start, end, page, level, tuple(headings), attributes)
