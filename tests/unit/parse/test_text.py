from __future__ import annotations

import codecs
from collections.abc import Callable

import pytest

from footnotes.errors import EmptyDocument

Parse = Callable[[str, bytes], object]
SENTENCE = "Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich."


@pytest.mark.parametrize(
    ("codec", "mark"),
    [
        ("utf-8", b""),
        ("utf-8", codecs.BOM_UTF8),
        ("utf-16-le", codecs.BOM_UTF16_LE),
        ("utf-16-be", codecs.BOM_UTF16_BE),
        ("utf-16-le", b""),
        ("utf-16-be", b""),
        ("utf-32-le", codecs.BOM_UTF32_LE),
        ("cp1252", b""),
        ("latin-1", b""),
    ],
)
def test_encodings_are_recognised(parse, codec: str, mark: bytes) -> None:
    assert parse("a.txt", mark + SENTENCE.encode(codec)).text == SENTENCE


def test_a_file_that_is_not_utf8_says_how_it_was_read(parse) -> None:
    assert parse("a.txt", "Größe “x”".encode("cp1252")).report.warnings == (
        "the file is not UTF-8 and was read as Windows-1252",
    )


def test_a_few_broken_bytes_do_not_change_the_encoding(parse) -> None:
    parsed = parse("a.txt", SENTENCE.encode() + b" \xff\xfe. " + SENTENCE.encode())
    assert parsed.text == f"{SENTENCE} \ufffd\ufffd. {SENTENCE}"
    assert "2 characters" in parsed.report.warnings[0]


def test_nul_and_lone_surrogates_become_replacement_characters(parse) -> None:
    assert parse("a.txt", b"before\x00after the nul").text == "before\ufffdafter the nul"
    lone = codecs.BOM_UTF16_LE + "x".encode("utf-16-le") + b"\x00\xd8" + "yz".encode("utf-16-le")
    assert "\ufffd" in parse("a.txt", lone).text


def test_line_ends_become_newlines(parse) -> None:
    assert parse("a.txt", b"one\r\ntwo\rthree\nfour").text == "one\ntwo\nthree\nfour"


@pytest.mark.parametrize("content", [b"", b" \n\t ", codecs.BOM_UTF8, codecs.BOM_UTF16_LE, b"\xef\xbb\xbf \n"])
@pytest.mark.parametrize("filename", ["a.txt", "a.md", "a.pdf", "a"])
def test_nothing_is_an_empty_document(parse, filename: str, content: bytes) -> None:
    with pytest.raises(EmptyDocument):
        parse(filename, content)


def test_a_large_file_of_white_space_is_empty(parse) -> None:
    with pytest.raises(EmptyDocument):
        parse("a.txt", b" \n" * 400_000)


def test_headings_are_guessed_and_carry_their_path(parse) -> None:
    text = """EMPLOYEE HANDBOOK

Notice period
The notice period is three months to the end of a quarter for everybody.

2.1 Probation

During probation it is two weeks, and no reason needs to be given at all.

# Marked
Text below the marked heading.

Underlined title
================
More text."""
    parsed = parse("a.txt", text.encode())
    assert parsed.paths == [
        ("EMPLOYEE HANDBOOK",),
        ("EMPLOYEE HANDBOOK", "Notice period"),
        ("EMPLOYEE HANDBOOK", "2.1 Probation"),
        ("Marked",),
        ("Underlined title",),
    ]
    assert parsed.report.title == "EMPLOYEE HANDBOOK"
    body = next(block for block in parsed.blocks if parsed.text[block.start :].startswith("During"))
    assert body.headings == ("EMPLOYEE HANDBOOK", "2.1 Probation")


@pytest.mark.parametrize(
    "line",
    ["This is a sentence.", "and so it went", "12.5   13.0   14", "* item", "VAT: 19 %, NET,", "a | b"],
)
def test_what_is_not_a_heading_stays_text(parse, line: str) -> None:
    parsed = parse("a.txt", f"{line}\n\nA longer paragraph follows here, with more words than before.".encode())
    assert parsed.paths == []


def test_kinds_of_blocks(parse) -> None:
    text = (
        "You need:\n- flour\n- water\n\n    def f(x):\n        return x\n\n"
        "name\tage\nAnna\t7\n\nLast words are said here."
    )
    parsed = parse("a.txt", text.encode())
    assert [block.kind for block in parsed.blocks] == ["paragraph", "list", "code", "table", "paragraph"]
    assert parsed.of("list") == ["- flour\n- water"]


@pytest.mark.parametrize("unit", ["a", "\n", "🙂", ". ", "\x0c\n", "-"])
def test_a_megabyte_of_one_thing_is_cut_anywhere(parse, unit: str) -> None:
    text = "x" + unit * (1_000_000 // len(unit)) + "x"
    assert parse("a.txt", text.encode()).text == text


def test_a_lone_surrogate_does_not_make_the_rest_unreadable(parse) -> None:
    parsed = parse("a.txt", "Grüße, ".encode() + b"\xed\xa0\xbd and more")
    assert parsed.text.startswith("Grüße, \ufffd") and parsed.text.endswith(" and more")
    assert parsed.report.warnings == ("1 character was not valid UTF-8 and could not be read",)
    assert parse("a.txt", b"plain \xed\xa0\xbd words").report.metadata["encoding"] == "utf-8"


def test_who_speaks_in_a_chat_is_no_heading(parse) -> None:
    chat = "Anna Brandt — 03/12/2024 2:05 PM\nWho of you is in for the game of next Tuesday evening?\n"
    assert not parse("a.txt", (chat * 2).encode()).paths
