from __future__ import annotations

import pytest

SAMPLE = """---
title: The *Guide*
tags: [a, b]
date: 2024-05-06
---

# Guide to [things](https://example.org)

Intro with **bold** text
on two lines.

## Setup `now` {#setup}

- one
- two

  still two

```python
# not a heading
print(1)
```

| name | age |
| ---- | --- |
| Anna | 7   |

> quoted

### Deep

    indented code

Setext
======
last words
[ref]: https://example.org
"""


def test_blocks_carry_kind_span_and_path(parse) -> None:
    parsed = parse("a.md", SAMPLE.encode())
    assert parsed.text == SAMPLE
    assert [block.kind for block in parsed.blocks] == [
        *("code", "heading", "paragraph", "heading", "list", "code", "table", "quote", "heading", "code", "heading"),
        "paragraph",
    ]
    assert parsed.of("code")[1] == "```python\n# not a heading\nprint(1)\n```"
    assert parsed.of("list") == ["- one\n- two\n\n  still two"]
    assert parsed.paths == [
        ("Guide to things",),
        ("Guide to things", "Setup now"),
        ("Guide to things", "Setup now", "Deep"),
        ("Setext",),
    ]
    assert [block.level for block in parsed.blocks if block.kind == "heading"] == [1, 2, 3, 1]


def test_code_has_a_language_and_a_table_its_header(parse) -> None:
    blocks = parse("a.md", SAMPLE.encode()).blocks
    assert blocks[5].attributes == {"language": "python"}
    assert blocks[6].attributes == {"header": "| name | age |"}


def test_front_matter_becomes_metadata(parse) -> None:
    report = parse("a.md", SAMPLE.encode()).report
    assert report.title == "The *Guide*"
    dates = {"date": "2024-05-06", "created": "2024-05-06"}
    assert report.metadata == {"title": "The *Guide*", "tags": ["a", "b"], **dates, "encoding": "utf-8"}


@pytest.mark.parametrize("matter", ["a: &x [1, 2]\nb: *x", "just words", "[", "a: !!python/object:os.system x"])
def test_odd_front_matter_stays_text(parse, matter: str) -> None:
    parsed = parse("a.md", f"---\n{matter}\n---\n\n# Title\n\nText".encode())
    assert parsed.report.title == "Title"
    assert set(parsed.report.metadata) == {"encoding"}
    assert parsed.paths[-1][-1] == "Title"


def test_a_code_block_larger_than_a_part_stays_code(parse) -> None:
    text = "# Top\n\n```text\n" + "# a comment, not a heading\n\n" * 40_000 + "```\n\nAfter.\n"
    parsed = parse("a.md", text.encode())
    assert parsed.text == text
    assert parsed.paths == [("Top",)]
    assert parsed.blocks[-1].kind == "paragraph"
    assert {block.kind for block in parsed.blocks[1:-1]} == {"code"}


@pytest.mark.parametrize("unit", ["`", "[", ">", "- ", "|a", "#\n", "*", "```\n", "![](", "<a "])
def test_hostile_runs_are_read(parse, unit: str) -> None:
    text = "x " + unit * (60_000 // len(unit))
    assert parse("a.md", text.encode()).text == text
