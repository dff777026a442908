"""Parses Rich Text Format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import ClassVar

from footnotes.errors import EmptyDocument, ParseLimit
from footnotes.parse import Source
from footnotes.parse import types_by_name as types
from footnotes.parse.decode import clean
from footnotes.parse.outline import Outline
from footnotes.parse.parts import runs
from footnotes.parse.text import text_blocks
from footnotes.types import Part, Report

_MOST_BYTES = 64 << 20


class RtfParser:
    """Reads the text, and guesses headings as in plain text."""

    name: ClassVar[str] = "rtf"
    version: ClassVar[int] = 1
    mimes: ClassVar[tuple[str, ...]] = (types.RTF,)
    suffixes: ClassVar[Mapping[str, str]] = {".rtf": types.RTF}
    signatures: ClassVar[tuple[tuple[bytes, str], ...]] = ((b"{\\rtf", types.RTF),)
    isolated: ClassVar[bool] = True

    def parse(self, source: Source) -> Iterator[Part | Report]:
        from striprtf import striprtf

        if source.path.stat().st_size > _MOST_BYTES:
            raise ParseLimit(f"{source.filename} has more than {_MOST_BYTES >> 20} MB of rich text")
        markup = source.path.read_text(encoding="latin-1")
        plain: str = striprtf.rtf_to_text(markup, encoding="cp1252", errors="replace")  # type: ignore[no-untyped-call]
        text = clean(plain).replace("\r", "\n").strip()
        if not text:
            raise EmptyDocument(f"{source.filename} has no text")
        outline = Outline()
        position = 0
        title = None
        for run in runs(iter((text,))):
            blocks = text_blocks(run, position, outline)
            if position == 0 and blocks and blocks[0].kind == "heading":
                title = blocks[0].headings[-1]
            yield Part(position, run, tuple(blocks))
            position += len(run)
        yield Report(self.name, source.mime, position, title=title)
