"""Parsers yield large documents in parts, cut between blocks."""

from __future__ import annotations

import time

import pytest

from footnotes.parse import PART_CHARACTERS
from footnotes.parse.builder import Builder
from footnotes.parse.html import HtmlReader, read_html


@pytest.mark.parametrize(
    ("before", "piece", "after"),
    [
        ("<ul><li>x", " <div> </div>", ""),
        ("", "<br><div>", ""),
        ("<ul>", "<li><p> </p><p>", ""),
        ("", "<ul><li>", ""),
        ("<dl><dt>a<dt>", "¶", "x<dd>y"),
        ("<p>", "¶", "x"),
        ("<dl><dt>" + "x" * 50_000, "<dt>", ""),
        ("<div class=nav>", "<div></div><br>", ""),
        ("<div class=nav><div>", "<i>", "<b></b>" * 20_000),
        ("<svg>", "<i>", "<b></b>" * 20_000),
    ],
)
def test_any_tags_are_read_in_linear_time(before: str, piece: str, after: str) -> None:
    began = time.process_time()
    list(read_html(iter([before + piece * 20_000 + after]), HtmlReader(Builder())))
    assert time.process_time() - began < 8  # tens of seconds where each tag is compared with all before it


def test_a_large_file_is_cut_between_blocks(parse) -> None:
    section = "## Section\n\n" + "word " * 300 + "\n\n```\ncode line\n\nmore code\n```\n\n"
    text = "# Top\n\n" + section * 500
    parsed = parse("a.md", text.encode())
    assert parsed.text == text
    assert len(parsed.parts) > 3
    assert sum(block.kind == "code" for block in parsed.blocks) == 500
    assert all(block.headings[0] == "Top" for block in parsed.blocks)
    assert all(len(part.text) < PART_CHARACTERS * 2.6 for part in parsed.parts)
