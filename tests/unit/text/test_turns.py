"""Turns of chats, as programs export them."""

from __future__ import annotations

import time

import pytest

from footnotes.text.turns import day_above, head_of, heads_in, is_chat_line, speakers_in, turn_spans

FORMATS = {
    "whatsapp": "12/03/2024, 14:05 - Anna Brandt: Hi all!\n12/03/2024, 14:09 - Tom: Nice. How much?\n"
    "12/03/2024, 14:11 - Anna Brandt: 640 euros\nfor three nights",
    "whatsapp on a phone": "[12.03.24, 14:05:33] Anna Brandt: Hi all!\n[12.03.24, 14:09:01] Tom: Nice. How much?\n"
    "[12.03.24, 14:11:20] Anna Brandt: 640 euros\nfor three nights",
    "american": "3/12/24, 2:05 PM - Anna Brandt: Hi all!\n3/12/24, 2:09 PM - Tom: Nice. How much?\n"
    "3/12/24, 2:11 PM - Anna Brandt: 640 euros\nfor three nights",
    "discord": "[12-Mar-24 02:05 PM] Anna Brandt\nHi all!\n\n[12-Mar-24 02:09 PM] Tom\nNice. How much?\n\n"
    "[12-Mar-24 02:11 PM] Anna Brandt\n640 euros\nfor three nights",
    "discord copied": "Anna Brandt — 03/12/2024 2:05 PM\nHi all!\nTom — 03/12/2024 2:09 PM\nNice. How much?\n"
    "Anna Brandt — 03/12/2024 2:11 PM\n640 euros\nfor three nights",
    "teams": "**Anna Brandt** 2:05 PM\nHi all!\n\n**Tom** 2:09 PM\nNice. How much?\n\n"
    "**Anna Brandt** 2:11 PM\n640 euros\nfor three nights",
    "telegram": "Anna Brandt, [12.03.2024 14:05]\nHi all!\n\nTom, [12.03.2024 14:09]\nNice. How much?\n\n"
    "Anna Brandt, [12.03.2024 14:11]\n640 euros\nfor three nights",
    "transcript": "Anna Brandt: Hi all!\nTom: Nice. How much?\nAnna Brandt: 640 euros\nfor three nights",
    "irc": "[14:05] <Anna> Hi all!\n[14:09] <Tom> Nice. How much?\n[14:11] <Anna> 640 euros\nfor three nights",
    "bold": "**Anna:** Hi all!\n\n**Tom:** Nice. How much?\n\n**Anna:** 640 euros\nfor three nights",
    "headings": "### Anna\n\nHi all!\n\n### Tom\n\nNice. How much?\n\n### Anna\n\n640 euros\nfor three nights",
}


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "headings"])
def test_the_speakers_of_every_format_are_known(name: str) -> None:
    text = FORMATS[name]
    speakers = speakers_in([text])
    assert {each.split()[0] for each in speakers} == {"Anna", "Tom"}
    head = head_of(text, text.index("three nights"), speakers)
    assert head is not None and head.name.startswith("Anna")
    assert [text[start:end] for start, end in turn_spans(text, speakers)] == [
        "Hi all!",
        "Nice. How much?",
        "640 euros\nfor three nights",
    ]


def test_a_head_says_when() -> None:
    (first, *_) = heads_in(FORMATS["whatsapp"])
    assert (first.name, first.when) == ("Anna Brandt", "12/03/2024, 14:05")
    (first, *_) = heads_in(FORMATS["discord"])
    assert (first.name, first.when) == ("Anna Brandt", "12-Mar-24 02:05 PM")


def test_two_turns_with_an_assistant_are_a_chat() -> None:
    assert speakers_in(["**User:** Which lens?\n\n**Assistant:** Take the 35 mm."]) == {"User", "Assistant"}
    assert speakers_in(["Note: Which lens?\n\nTip: Take the 35 mm."]) == frozenset()


def test_labels_in_prose_are_no_speakers() -> None:
    prose = "\n\n".join(f"A paragraph on lens {number} goes here and says a lot." for number in range(12))
    labels = "Note: It is heavy.\n\nPrice: 80 euros.\n\nNote: It is slow."
    assert speakers_in([f"{prose}\n\n{labels}"]) == frozenset()
    assert speakers_in(["name: lens\nsize: 35\nname: tube\nsize: 50"]) == frozenset()
    assert speakers_in(["Q: What is it?\nA: A lens.\nQ: Is it heavy?\nA: Yes."]) == frozenset()


def test_what_the_program_notes_is_said_by_nobody() -> None:
    text = '12/03/2024, 14:01 - Anna created group "Lake"\n' + FORMATS["whatsapp"]
    speakers = speakers_in([text])
    assert head_of(text, text.index("created"), speakers) is None
    text = FORMATS["whatsapp"] + "\n13/03/2024, 09:00 - Tom left"
    assert [text[slice(*span)] for span in turn_spans(text, speakers)][-1] == "Tom left"
    assert head_of(text, text.index("left"), speakers) is None


def test_the_day_of_a_turn_is_that_of_its_session_and_none_that_is_spoken_of() -> None:
    text = "Session 1 (1:56 pm on 8 May, 2023)\n\nAnna: I fly on 3 June 2023.\nTom: Nice.\nAnna: I know."
    assert day_above(text, text.index("I know")) == "8 May, 2023"
    text = "## Session 2: 2023/05/20 (Sat) 02:21\n\n**User:** I met her yesterday."
    assert day_above(text, len(text)) == "2023/05/20"
    assert day_above(FORMATS["whatsapp"], len(FORMATS["whatsapp"])) == "12/03/2024"
    assert day_above("Anna: I fly on 3 June 2023.\nTom: Nice.", 40) == ""


def test_the_first_line_of_a_message_is_known() -> None:
    assert is_chat_line("Anna Brandt — 03/12/2024 2:05 PM") and is_chat_line("12/03/2024, 14:05 - Tom: Hi")
    assert not is_chat_line("Rules of the lake house")


@pytest.mark.parametrize("line", ["12/03/2024" + " " * 20_000, "a" + "-" * 20_000, "- " * 10_000, "a:" + " " * 20_000])
def test_any_line_is_read_in_linear_time(line: str) -> None:
    began = time.process_time()
    assert not heads_in(line)
    assert time.process_time() - began < 5
