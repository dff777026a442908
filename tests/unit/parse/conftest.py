from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from footnotes.parse import Source
from footnotes.parse.open import parse_document
from footnotes.parse.sniff import sniff
from footnotes.types import Block, Part, Report


@dataclass(frozen=True)
class Parsed:
    """A document read to the end, with the promises every parser makes already checked."""

    parts: tuple[Part, ...]
    report: Report

    @property
    def text(self) -> str:
        return "".join(part.text for part in self.parts)

    @property
    def blocks(self) -> list[Block]:
        return [block for part in self.parts for block in part.blocks]

    def of(self, kind: str) -> list[str]:
        return [self.text[block.start : block.end] for block in self.blocks if block.kind == kind]

    @property
    def paths(self) -> list[tuple[str, ...]]:
        return [block.headings for block in self.blocks if block.kind == "heading"]


def read(source: Source, warnings: tuple[str, ...] = ()) -> Parsed:
    items = list(parse_document(source, warnings=warnings))
    parts = tuple(item for item in items if isinstance(item, Part))
    report = items[-1]
    assert isinstance(report, Report)
    assert len(parts) == len(items) - 1
    parsed = Parsed(parts, report)
    check(parsed)
    return parsed


def check(parsed: Parsed) -> None:
    """Parts follow without gap; blocks are ordered, lie in their part, and leave out only white space."""
    assert parsed.report.characters == len(parsed.text)
    assert "\x00" not in parsed.text
    parsed.text.encode("utf-8")
    position = 0
    for part in parsed.parts:
        assert part.start == position
        position = part.end
        edge = part.start
        for block in part.blocks:
            assert edge <= block.start < block.end <= part.end
            assert not parsed.text[edge : block.start].strip()
            edge = block.end
        assert not parsed.text[edge : part.end].strip()


@pytest.fixture
def parse(tmp_path: Path) -> Callable[[str, bytes], Parsed]:
    """Write bytes under a name, sniff and parse them."""

    def run(filename: str, content: bytes) -> Parsed:
        path = tmp_path / "upload"
        path.write_bytes(content)
        found = sniff(path, filename)
        return read(Source(path, filename, found.mime), found.warnings)

    return run
