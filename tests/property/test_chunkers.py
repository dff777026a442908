"""What every chunker promises, for any text."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footnotes import plugins
from footnotes.chunk import Chunker
from footnotes.chunk.assemble import assemble
from footnotes.chunk.code import CodeChunker
from footnotes.chunk.llm import LlmChunker
from footnotes.chunk.passages import LONGEST_WORD, PassagesChunker
from footnotes.chunk.rules import RulesChunker
from footnotes.chunk.section import SectionChunker
from footnotes.chunk.semantic import SemanticChunker
from footnotes.chunk.sentence import SentenceChunker
from footnotes.chunk.window import WindowChunker
from footnotes.ingest.derive import Deriver
from footnotes.parse.outline import Outline
from footnotes.parse.text import text_blocks
from footnotes.text.tokens import count_tokens
from footnotes.types import Part

TOKENS = 24


def letters(texts: Sequence[str]) -> np.ndarray:
    """A tiny embedder that is real enough: how often each of sixteen letters occurs."""
    return np.array([[text.count(chr(97 + index)) + 0.1 for index in range(16)] for text in texts], dtype=np.float32)


class AnswerCache(dict[str, str]):
    """What a model said, kept for as long as the test."""

    def put(self, key: str, value: str) -> None:
        self[key] = value


def every_third(system: str, user: str) -> str:
    """A chat model that begins a passage at every third sentence."""
    return ", ".join(str(number) for number in range(1, user.count("\n") + 2, 3))


CHUNKERS: dict[str, Callable[[], Chunker]] = {
    "window": lambda: WindowChunker(size=100, overlap=20),
    "passages": lambda: PassagesChunker(characters=60, whole=0),
    "rules": lambda: RulesChunker(tokens=TOKENS, overlap=5),
    "sentence": lambda: SentenceChunker(tokens=TOKENS, overlap=8),
    "section": lambda: SectionChunker(tokens=TOKENS, split=16, overlap=4, code=16),
    "code": lambda: CodeChunker(tokens=TOKENS),
    "semantic": lambda: SemanticChunker(embed=letters, minimum=40, maximum=200),
    "llm": lambda: LlmChunker(embed=letters, say=every_third, memory=AnswerCache(), window=1_000, maximum=200),
}
each_chunker = pytest.mark.parametrize("name", CHUNKERS)

words = st.text(alphabet="abcdefgh", min_size=1, max_size=9)
sentences = st.lists(words, min_size=1, max_size=12).map(lambda found: " ".join(found).capitalize() + ".")
paragraphs = st.lists(sentences, min_size=1, max_size=6).map(" ".join)
headings = st.tuples(st.integers(1, 4), words).map(lambda found: "#" * found[0] + " " + found[1])
code = st.lists(words, min_size=1, max_size=30).map(lambda found: "\n".join(f"    {word} = 1;" for word in found))
documents = st.lists(paragraphs | headings | code, min_size=1, max_size=12).map("\n\n".join)
anything = st.text(alphabet='aB1 .\n\t"(#-|。日é🙂', max_size=400) | st.text(max_size=200)


def part_of(text: str, start: int = 1000, blocks: bool = True) -> Part:
    return Part(start, text, tuple(text_blocks(text, start, Outline())) if blocks else ())


@each_chunker
@given(text=documents | anything, blocks=st.booleans())
def test_pieces_are_exact_ordered_and_cover_everything(name: str, text: str, blocks: bool) -> None:
    part = part_of(text, blocks=blocks)
    pieces = CHUNKERS[name]().split(part)
    covered = bytearray(len(text))
    for piece in pieces:
        assert part.start <= piece.start < piece.end <= part.end
        span = text[piece.start - part.start : piece.end - part.start]
        assert span == span.strip() != ""
        covered[piece.start - part.start : piece.end - part.start] = b"\x01" * len(span)
    assert all(mark or character.isspace() for mark, character in zip(covered, text, strict=True))
    assert all(one.start < two.start and one.end < two.end for one, two in pairwise(pieces))


@pytest.mark.parametrize("name", ["rules", "sentence", "section", "code"])
@given(text=documents | anything, blocks=st.booleans())
def test_token_limits_hold_exactly(name: str, text: str, blocks: bool) -> None:
    part = part_of(text, blocks=blocks)
    for piece in CHUNKERS[name]().split(part):
        tokens = count_tokens(text[piece.start - part.start : piece.end - part.start])
        assert piece.tokens == tokens <= TOKENS


@given(text=documents | anything)
def test_window_sizes_hold_with_white_space_counted_once(text: str) -> None:
    pieces = WindowChunker(size=100, overlap=20).split(part_of(text, 0))
    assert all(len(re.sub(r"\s+", " ", text[piece.start : piece.end])) <= 100 for piece in pieces)


@given(text=documents | anything)
def test_passages_are_no_longer_than_their_strips_may_be(text: str) -> None:
    size = 60
    for piece in CHUNKERS["passages"]().split(part_of(text)):
        said = text[piece.start - 1000 : piece.end - 1000]
        wide = sum(char > "\u2e7f" for char in said)
        assert len(re.sub(r"\s+", " ", said)) + 2 * wide <= 5 * size + 2 * LONGEST_WORD + 3 * size * bool(wide)


@given(text=documents | anything)
def test_llm_sizes_hold(text: str) -> None:
    assert all(piece.end - piece.start <= 200 for piece in CHUNKERS["llm"]().split(part_of(text)))


def test_every_chunker_there_is_is_tested_here() -> None:
    assert set(CHUNKERS) == set(plugins.names("chunkers"))


@each_chunker
@settings(max_examples=25)
@given(text=documents | anything, blocks=st.booleans())
def test_cutting_again_gives_the_same_ids_in_order(name: str, text: str, blocks: bool) -> None:
    part = part_of(text, 0, blocks=blocks)
    first, again = ([chunk for chunk, _ in Deriver(CHUNKERS[name](), "hash", "T").chunks(part)] for _ in range(2))
    assert first == again
    assert [chunk.index for chunk in first] == list(range(len(first)))
    assert len({chunk.id for chunk in first}) == len(first)
    for chunk in first:
        assert chunk.lines == (text[: chunk.start].count("\n") + 1, text[: chunk.end].count("\n") + 1)


@given(text=documents)
def test_semantic_sizes_hold(text: str) -> None:
    pieces = CHUNKERS["semantic"]().split(part_of(text, 0, blocks=False))
    if len(pieces) > 1 and text.count(".") >= 5:
        assert all(40 <= piece.end - piece.start <= 200 for piece in pieces)


@pytest.mark.parametrize("name", ["rules", "sentence"])
@given(text=documents | st.text(alphabet="ab1. \n", max_size=600), blocks=st.booleans())
def test_words_stay_whole_unless_one_alone_exceeds_the_limit(name: str, text: str, blocks: bool) -> None:
    part = part_of(text, 0, blocks=blocks)
    short = [match.span() for match in re.finditer(r"\S+", text) if count_tokens(match[0]) <= TOKENS]
    inside = {offset for start, end in short for offset in range(start + 1, end)}
    for piece in CHUNKERS[name]().split(part):
        assert piece.start not in inside
        assert piece.end not in inside


@each_chunker
@settings(max_examples=25)
@given(text=documents)
def test_the_same_input_gives_the_same_pieces_wherever_it_stands(name: str, text: str) -> None:
    chunker = CHUNKERS[name]()
    first = [(piece.start, piece.end) for piece in chunker.split(part_of(text, 0))]
    moved = [(piece.start - 70, piece.end - 70) for piece in CHUNKERS[name]().split(part_of(text, 70))]
    assert first == moved


@each_chunker
@settings(max_examples=25)
@given(text=documents)
def test_assembled_chunks_have_tokens_a_path_and_a_prefix(name: str, text: str) -> None:
    part = part_of(text, 0)
    paths = {block.headings for block in part.blocks} | {()}
    for made in assemble(CHUNKERS[name]().split(part), part, title="T"):
        assert made.tokens == count_tokens(text[made.start : made.end])
        assert made.headings in paths
        assert made.prefix.startswith("[Document: T")


@each_chunker
@pytest.mark.parametrize("unit", ["a", "`", '"', ".", " .", "a ", "\n", "- a\n", "# a\n\n", "日", "a.\n\n"])
def test_hostile_runs_cost_no_more_than_their_length(name: str, unit: str) -> None:
    texts = [unit * (length // len(unit)) for length in (15_000, 30_000)]
    once, twice = (calls(partial(CHUNKERS[name]().split, part_of(text))) for text in texts)
    assert twice < 2.5 * once + 100


def calls(run: Callable[[], object]) -> int:
    """How many calls a function makes, all the way down: a measure of work that no other program disturbs."""
    count = 0

    def seen(frame: object, event: str, argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        run()
    finally:
        sys.setprofile(before)
    return count
