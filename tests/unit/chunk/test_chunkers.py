from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest

from footnotes.chunk import Chunker, make_chunker
from footnotes.chunk.assemble import assemble, context_prefix
from footnotes.chunk.rules import RulesChunker
from footnotes.chunk.section import SectionChunker
from footnotes.chunk.semantic import SemanticChunker
from footnotes.chunk.sentence import SentenceChunker
from footnotes.chunk.window import WindowChunker
from footnotes.errors import OptionError, UnknownPlugin
from footnotes.parse.outline import Outline
from footnotes.parse.text import text_blocks
from footnotes.text.tokens import count_tokens
from footnotes.types import Block, Part

SENTENCE = "The quick brown fox jumps over the lazy dog near the river bank."


def part_of(text: str) -> Part:
    return Part(0, text, tuple(text_blocks(text, 0, Outline())))


def chunks(chunker: Chunker, text: str) -> list[str]:
    return [text[piece.start : piece.end] for piece in chunker.split(part_of(text))]


def paragraph(sentences: int, mark: str = "") -> str:
    return " ".join(f"{mark}{SENTENCE}" for _ in range(sentences))


# ── window


def test_windows_have_their_size_and_their_overlap() -> None:
    text = " ".join(f"w{index:04d}" for index in range(1000))
    found = chunks(WindowChunker(), text)
    assert all(990 <= len(each) <= 1000 for each in found[:-1])
    whole_words = 33 * len("w0000 ") - 1  # the most that two hundred characters hold
    assert all(one.endswith(two[:whole_words]) for one, two in pairwise(found))


def test_windows_count_white_space_once() -> None:
    spread = " \n\n ".join(f"w{index:04d}" for index in range(400))
    tight = " ".join(f"w{index:04d}" for index in range(400))
    assert [each.split() for each in chunks(WindowChunker(), spread)] == [
        each.split() for each in chunks(WindowChunker(), tight)
    ]


# ── rules


def test_rules_merge_paragraphs_up_to_the_size() -> None:
    paragraphs = [paragraph(2, f"{index} ") for index in range(8)]
    found = chunks(RulesChunker(tokens=100, overlap=0), "\n\n".join(paragraphs))
    assert found == ["\n\n".join(paragraphs[at : at + 3]) for at in (0, 3, 6)]


def test_rules_split_a_long_paragraph_at_sentences_with_an_overlap() -> None:
    found = chunks(RulesChunker(tokens=100, overlap=20), paragraph(30))
    assert len(found) > 3
    assert all(each.startswith("The quick") and each.endswith("bank.") for each in found)
    assert sum(each.count("bank.") for each in found) == 30 + len(found) - 1


def test_rules_keep_a_heading_with_its_text_and_begin_a_chunk_with_it() -> None:
    text = f"# One\n\n{paragraph(5)}\n\n# Two\n\n{paragraph(5)}\n\n# Three\n\nShort."
    found = chunks(RulesChunker(tokens=200, overlap=20), text)
    assert [each.split("\n")[0] for each in found] == ["# One", "# Two", "# Three"]


def test_rules_join_small_sections() -> None:
    assert len(chunks(RulesChunker(), "# One\n\nShort.\n\n# Two\n\nShort too.")) == 1


# ── sentence


def test_sentence_chunks_are_whole_sentences_with_whole_overlaps() -> None:
    found = chunks(SentenceChunker(tokens=64, overlap=16), paragraph(12))
    assert all(each.startswith("The quick") and each.endswith("bank.") for each in found)
    assert [each.count("bank.") for each in found][:-1] == [4] * (len(found) - 1)
    assert sum(each.count("bank.") for each in found) == 12 + len(found) - 1


# ── section


def test_sections_are_cut_at_the_second_and_third_level() -> None:
    first = f"# Top\n\nIntro.\n\n## A\n\n{paragraph(2)}\n\n### A1\n\nSmall."
    text = f"{first}\n\n## B\n\n### B1\n\nText.\n\n## Empty\n\n## C\n\nEnd."
    found = chunks(SectionChunker(), text)
    assert [each.split("\n")[0] for each in found] == ["# Top", "## A", "## B", "## Empty"]
    assert "### A1" in found[1]
    assert found[3] == "## Empty\n\n## C\n\nEnd."


def test_a_third_level_leaves_its_second_when_both_are_too_large() -> None:
    text = f"## A\n\n{paragraph(40)}\n\n### A1\n\n{paragraph(40)}"
    found = chunks(SectionChunker(), text)
    assert [each.split("\n")[0] for each in found] == ["## A", "### A1"]


def test_a_large_section_is_split_with_an_overlap() -> None:
    found = chunks(SectionChunker(), f"## A\n\n{paragraph(120)}")
    assert all(300 < count_tokens(each) <= 500 for each in found[:-1])
    assert found[1][:60] in found[0]


def test_text_without_headings_is_one_chunk_within_the_size() -> None:
    assert len(chunks(SectionChunker(), paragraph(50))) == 1
    assert len(chunks(SectionChunker(), paragraph(100))) > 2


def test_a_long_code_block_is_cut_and_kept_whole_in_the_metadata() -> None:
    code = "\n".join(f"value_{index} = compute({index})" for index in range(120))
    text = f"## A\n\nText.\n\n{code}"
    start = text.index(code)
    blocks = (
        Block("heading", 0, 4, level=2, headings=("A",)),
        Block("paragraph", 6, 11, headings=("A",)),
        Block("code", start, len(text), headings=("A",)),
    )
    pieces = SectionChunker().split(Part(0, text, blocks))
    assert len(pieces) > 1
    assert pieces[0].metadata["code"] == code
    assert all(piece.metadata["code_span"] == [start, len(text)] for piece in pieces)
    assert all("code" not in piece.metadata for piece in pieces[1:])


# ── semantic


def topics(texts: Sequence[str]) -> np.ndarray:
    return np.array([[text.count("cat"), text.count("tax"), 0.01] for text in texts], dtype=np.float32)


def test_semantic_cuts_where_the_meaning_changes() -> None:
    cats = "The cat sleeps on the warm mat all day and purrs at anyone who passes by. " * 8
    taxes = "The tax is due in the spring and every form has to be signed by hand. " * 8
    found = chunks(SemanticChunker(embed=topics, percentile=5), cats + taxes)
    assert found == [cats.strip(), taxes.strip()]


def test_semantic_embeds_all_windows_in_one_batch() -> None:
    batches: list[int] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        batches.append(len(texts))
        return topics(texts)

    SemanticChunker(embed=counting).split(part_of(paragraph(20)))
    assert batches == [18], "groups of three, each a sentence further"


def test_semantic_never_joins_across_a_heading_and_merges_backward() -> None:
    cats = " ".join("A cat is a cat." for _ in range(30))
    text = f"# Cats\n\n{cats}\n\n# Taxes\n\nA tax. A tax.\n\n# Cats\n\nA cat."
    made = chunks(SemanticChunker(embed=topics), text)
    assert [piece for piece in made if "# Taxes" in piece] == ["# Taxes\n\nA tax. A tax."]
    assert made[-1] == "# Cats\n\nA cat."
    sleeping = ["The cat sleeps on the cat mat with a cat."] * 12
    lone = " ".join([*sleeping, "Tax.", "Tax.", "Tax.", *sleeping])
    assert min(len(piece) for piece in chunks(SemanticChunker(embed=topics), lone)) >= 200


def test_few_sentences_are_split_by_characters_without_an_embedder() -> None:
    def never(texts: Sequence[str]) -> np.ndarray:
        raise AssertionError("not to be called")

    found = chunks(SemanticChunker(embed=never), "word " * 500)
    assert all(len(each) <= 1024 for each in found)
    assert len(found) == 3


# ── make and assemble


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("rules", {"size": 10}),
        ("rules", {"tokens": 3}),
        ("rules", {"tokens": "512"}),
        ("rules", {"tokens": True}),
        ("rules", {"tokens": 100, "overlap": 60}),
        ("window", {"overlap": -1}),
        ("semantic", {"embed": 3}),
        ("semantic", {}),
    ],
)
def test_bad_options_are_refused(name: str, options: dict[str, object]) -> None:
    with pytest.raises(OptionError):
        make_chunker(name, options)


def test_an_unknown_chunker_is_refused() -> None:
    with pytest.raises(UnknownPlugin):
        make_chunker("clever", {})


def test_effective_options_include_defaults() -> None:
    assert make_chunker("rules", {"tokens": 100}).options == {"tokens": 100, "overlap": 50}


def test_the_path_of_a_chunk_is_that_of_its_first_text() -> None:
    text = "# One\n\nShort.\n\n# Two\n\nShort too."
    part = part_of(text)
    [made] = assemble(RulesChunker().split(part), part, title="Handbook")
    assert made.headings == ("One",)
    assert made.prefix == "[Document: Handbook | Section: One]"


def test_the_prefix_names_the_title_once_and_stays_short() -> None:
    assert context_prefix("Guide", ()) == "[Document: Guide]"
    assert context_prefix("Guide", ("Guide", "A", "B")) == "[Document: Guide | Section: A > B]"
    assert len(context_prefix("t" * 500, ["s" * 200] * 12)) < 350


def test_pages_and_table_headers_come_from_the_blocks() -> None:
    rows = "\n".join(f"row {index} | {index}" for index in range(60))
    text = f"name | number\n{rows}\n\nAfter."
    table = Block("table", 0, text.index("\n\n"), page=3, attributes={"header": "name | number"})
    part = Part(0, text, (table, Block("paragraph", table.end + 2, len(text), page=4)))
    made = list(assemble(RulesChunker(tokens=100, overlap=0).split(part), part, title="T"))
    assert made[0].prefix == "[Document: T]"
    assert made[1].prefix == "[Document: T]\nname | number"
    assert made[0].pages == (3, 3)
    assert made[-1].pages == (3, 4)
