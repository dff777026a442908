"""Plain text in parts, and its blocks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from footnotes.parse import PART_CHARACTERS
from footnotes.parse.outline import Outline
from footnotes.parse.parts import runs
from footnotes.parse.text import text_blocks


def test_large_text_comes_in_parts_cut_between_paragraphs(parse) -> None:
    paragraph = "word " * 200
    text = "TITLE OF ALL\n\n" + "\n\n".join([paragraph.strip()] * 1000)
    parsed = parse("a.txt", text.encode())
    assert parsed.text == text
    assert len(parsed.parts) > 3
    assert all(part.text.endswith("\n\n") for part in parsed.parts[:-1])
    assert all(len(part.text) < PART_CHARACTERS * 1.3 for part in parsed.parts)
    assert all(block.headings == ("TITLE OF ALL",) for block in parsed.blocks)


@given(st.lists(st.text(alphabet="ab \n", max_size=30), max_size=30), st.integers(1, 20), st.integers(1, 20))
def test_runs_keep_every_character_and_their_size(pieces: list[str], size: int, lookahead: int) -> None:
    found = list(runs(iter(pieces), size=size, lookahead=lookahead))
    assert "".join(found) == "".join(pieces)
    assert all(0 < len(run) < size + lookahead + 2 for run in found)


@given(st.text(alphabet="aA1# .\n\t-|=", max_size=300))
def test_blocks_leave_out_only_white_space(text: str) -> None:
    edge = 0
    for block in text_blocks(text, 0, Outline()):
        assert edge <= block.start < block.end
        assert not text[edge : block.start].strip()
        edge = block.end
    assert not text[edge:].strip()
