"""Every format: what it says is found, with its structure."""

from __future__ import annotations

import json

import pytest

from footnotes.errors import EmptyDocument
from format_samples import NEEDLE, OTHER, SAMPLES, sample


@pytest.mark.parametrize("name", SAMPLES)
def test_text_is_found_in_order(parse, name: str) -> None:
    parsed = parse(name, sample(name))
    assert NEEDLE in parsed.text
    assert OTHER in parsed.text
    assert parsed.text.index(NEEDLE) < parsed.text.rindex(OTHER)
    assert parsed.report.warnings == ()


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("content", [b"", b" \r\n\t", b"\xef\xbb\xbf", b"\xff\xfe"])
def test_a_file_with_nothing_in_it_is_empty(parse, name: str, content: bytes) -> None:
    with pytest.raises(EmptyDocument):
        parse(name, content)


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub", "a.pdf", "a.rtf", "a.html"])
def test_content_wins_over_the_name(parse, name: str) -> None:
    parsed = parse("renamed.txt", sample(name))
    assert NEEDLE in parsed.text
    assert "the name ends in .txt" in parsed.report.warnings[0]


@pytest.mark.parametrize("name", ["a.html", "a.xml", "a.eml", "a.docx", "a.epub"])
def test_a_name_without_an_end_is_no_hindrance(parse, name: str) -> None:
    assert NEEDLE in parse("noname", sample(name)).text


@pytest.mark.parametrize(
    "name", ["a.md", "a.pdf", "a.html", "a.docx", "a.pptx", "a.odt", "a.epub", "a.xml", "a.ipynb", "a.rst"]
)
def test_headings_are_kept(parse, name: str) -> None:
    parsed = parse(name, sample(name))
    assert parsed.paths[0] == ("Staff handbook",)
    block = next(block for block in parsed.blocks if NEEDLE in parsed.text[block.start : block.end])
    assert block.headings == ("Staff handbook",)


@pytest.mark.parametrize(("name", "author"), [("a.html", "A. Clerk"), ("a.docx", "A. Clerk"), ("a.epub", "A. Clerk")])
def test_the_author_is_metadata(parse, name: str, author: str) -> None:
    assert parse(name, sample(name)).report.metadata["author"] == author


def test_slides_keep_their_number_and_notes(parse) -> None:
    parsed = parse("a.pptx", sample("a.pptx"))
    assert parsed.report.pages == 2
    assert [(block.page, block.attributes) for block in parsed.blocks if block.kind == "paragraph"] == [
        (1, {"slide": 1}),
        (1, {"slide": 1, "notes": True}),
        (2, {"slide": 2}),
        (2, {"slide": 2, "notes": True}),
    ]


def test_sheets_keep_their_name_and_range(parse) -> None:
    [heading, table] = parse("a.xlsx", sample("a.xlsx")).blocks
    assert heading.headings == ("Leave",)
    assert table.attributes == {"sheet": "Leave", "range": "B2:D4", "header": "Name | Days | Remark"}


def test_lists_and_tables_of_word_documents(parse) -> None:
    parsed = parse("a.docx", sample("a.docx"))
    assert parsed.of("list") == ["- one\n- two"]
    assert parsed.of("table") == ["Name | Days\nAnna | 30"]


def test_mail_keeps_headers_and_reads_attachments(parse) -> None:
    parsed = parse("a.eml", sample("a.eml"))
    assert parsed.report.title == "Über die Frist"
    assert parsed.report.metadata["created"] == "2024-05-06T07:18:09+02:00"
    assert parsed.report.metadata["attachments"] == ["days.csv"]
    assert "To: Müller <mueller@example.org>" in parsed.text
    assert parsed.of("table") == ["name | days\nAnna | 30"]
    assert parsed.paths[-1] == ("Über die Frist", "Attachment: days.csv")


def test_tables_know_their_header_and_rows(parse) -> None:
    [table] = parse("a.csv", sample("a.csv")).blocks
    assert table.attributes == {"rows": "1-3", "header": "name | days | remark"}


def test_json_values_carry_their_path(parse) -> None:
    assert f"rules.text: {OTHER}\nrules.days: 30" in parse("a.json", sample("a.json")).text
    assert len(parse("a.jsonl", sample("a.jsonl")).blocks) == 2


def in_json(value: object) -> bytes:
    return json.dumps(value).encode()


def test_turns_of_a_chat_in_json_are_read_as_a_transcript(parse) -> None:
    slack = [
        {
            "type": "message",
            "user": "U1",
            "user_profile": {"real_name": "Dana"},
            "ts": "1709542800.0001",
            "text": "Hi.",
        },
        {"type": "message", "user": "U2", "user_profile": {"real_name": "Bo"}, "ts": "1709543100.0002", "text": "Hm?"},
    ]
    assert parse("a.json", in_json(slack)).text == "Dana (2024-03-04 09:00): Hi.\n\nBo (2024-03-04 09:05): Hm?"
    discord = {
        "channel": {"name": "general"},
        "messages": [
            {
                "id": "9",
                "timestamp": "2024-03-12T14:05:11.1+00:00",
                "content": "Who?",
                "author": {"id": "3", "name": "mi"},
            }
        ],
    }
    assert parse("a.json", in_json(discord)).text == "general\n\nmi (2024-03-12 14:05): Who?"
    plain = {"messages": [{"role": "user", "content": "Why?"}, {"role": "assistant", "content": "So.\n\nOr so."}]}
    assert parse("a.json", in_json(plain)).text == "User: Why?\n\nAssistant: So.\n\nOr so."


def test_conversations_in_a_tree_of_json_keep_their_title_and_day(parse) -> None:
    message = {
        "author": {"role": "user"},
        "create_time": 1718200001.5,
        "content": {"content_type": "text", "parts": ["I flew."]},
    }
    tree = [
        {
            "title": "Trip",
            "create_time": 1718200000.0,
            "mapping": {"a": {"id": "a", "parent": None, "message": message}},
        }
    ]
    parsed = parse("a.json", in_json(tree))
    assert parsed.text == "Trip (2024-06-12 13:46)\n\nUser (2024-06-12 13:46): I flew."
    assert parsed.paths == [("Trip (2024-06-12 13:46)",)]


def test_what_a_message_in_json_says_besides_is_kept_and_a_mail_is_no_turn(parse) -> None:
    review = {"author": "Ann", "text": "Good.", "rating": 5}
    assert parse("a.json", in_json([review])).text == "Ann: Good.\nrating: 5"
    mail = {"from": "ann@example.org", "to": "bo@example.org", "subject": "Hi", "body": "Good."}
    assert (
        "subject: Hi" in parse("a.json", in_json([mail])).text and "Hi: " not in parse("a.json", in_json([mail])).text
    )
    long = {"role": "assistant", "content": "word " * 1_000, "name": "x"}
    assert len(parse("a.json", in_json([long])).blocks) == 1


def test_notebook_cells(parse) -> None:
    blocks = parse("a.ipynb", sample("a.ipynb")).blocks
    assert [block.kind for block in blocks] == ["heading", "paragraph", "code", "code"]
    assert blocks[2].attributes == {"cell": 2, "language": "python"}
    assert blocks[3].attributes == {"cell": 2, "output": True}


def test_rtf_letters_outside_ascii(parse) -> None:
    assert "Größe." in parse("a.rtf", sample("a.rtf")).text


def test_hidden_text_of_a_page_is_left_out_and_said_so(parse) -> None:
    unseen = "<p style='display: none'>ignore all</p><!-- secret --><script>x()</script>"
    parsed = parse("a.html", f"<html><body><p>{NEEDLE}</p>{unseen}</body></html>".encode())
    assert parsed.text == NEEDLE
    assert parsed.report.warnings == ("hidden text was left out",)


def test_page_in_the_charset_it_states(parse) -> None:
    page = "<html><head><meta charset='iso-8859-2'></head><body><p>zażółć gęślą jaźń</p></body></html>"
    assert parse("a.html", page.encode("iso-8859-2")).text == "zażółć gęślą jaźń"


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8"])
@pytest.mark.parametrize("name", ["a.csv", "a.html", "a.json", "a.py", "a.rst", "a.md"])
def test_text_formats_in_other_encodings(parse, name: str, encoding: str) -> None:
    marks = {"utf-16-le": b"\xff\xfe", "utf-16-be": b"\xfe\xff", "utf-8": b"\xef\xbb\xbf"}
    assert NEEDLE in parse(name, marks[encoding] + sample(name).decode().encode(encoding)).text


@pytest.mark.parametrize("name", ["a.csv", "a.html", "a.json", "a.py", "a.md", "a.eml", "a.ipynb"])
def test_nul_in_text_formats_is_replaced(parse, name: str) -> None:
    spoiled = sample(name).replace(b"notice period", b"notice\x00period")
    parsed = parse(name, spoiled)
    assert "\x00" not in parsed.text
