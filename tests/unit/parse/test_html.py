"""What a reader sees of a page of HTML, and how its lists, terms and code stand in the text."""

from __future__ import annotations

from typing import Any

import pytest

PAGE = "<html><head><title>T</title></head><body>{}</body></html>"


def text_of(parse: Any, body: str) -> str:
    return str(parse("a.html", PAGE.format(body).encode()).text)


def kinds_of(parse: Any, body: str) -> list[tuple[str, str]]:
    parsed = parse("a.html", PAGE.format(body).encode())
    return [(block.kind, parsed.text[block.start : block.end]) for block in parsed.blocks]


def test_terms_stand_on_one_line_with_what_they_mean(parse: Any) -> None:
    body = (
        "<dl><dt>-n</dt><dt> --dry-run </dt><dd>\n<p>Shows it.</p><p>Twice.</p></dd><dt>-q</dt><dd>Is quiet.</dd></dl>"
    )
    assert text_of(parse, body) == "- -n, --dry-run: Shows it.\n  Twice.\n- -q: Is quiet."


def test_a_term_that_asks_is_the_heading_of_its_answer(parse: Any) -> None:
    body = "<h1>FAQ</h1><dl><dt>How do I <i>begin</i>?</dt><dd><p>Press it.</p><p>Wait.</p></dd></dl>"
    assert kinds_of(parse, body) == [
        ("heading", "FAQ"),
        ("heading", "How do I begin?"),
        ("paragraph", "Press it."),
        ("paragraph", "Wait."),
    ]


def test_code_stands_between_fences(parse: Any) -> None:
    assert text_of(parse, "<p>Run:</p><pre>\nls -l\n  cd ..\n</pre>") == "Run:\n\n```\nls -l\n  cd ..\n```"
    assert text_of(parse, "<pre>a ``` b</pre>") == "````\na ``` b\n````"


def test_steps_are_numbered_and_keep_their_code(parse: Any) -> None:
    body = "<ol><li><p>Open it:</p><pre>open\nit</pre></li><li>Close it.</li></ol>"
    assert text_of(parse, body) == "1. Open it:\n\n  ```\n  open\n  it\n  ```\n\n2. Close it."


def test_lists_in_lists_are_indented(parse: Any) -> None:
    body = "<ul><li>Fruit<ul><li>Pear</li><li>Fig</li></ul></li><li>Nuts</li></ul>"
    assert text_of(parse, body) == "- Fruit\n  - Pear\n  - Fig\n- Nuts"


def test_what_leads_elsewhere_is_left_out(parse: Any) -> None:
    menu = "<ul><li><a href='/'>Home</a></li><li><a href='/d'>Docs</a></li></ul>"
    body = (
        f"{menu}<div class='docnav top'>Back up</div><nav>All <b>pages</b></nav><h1>Lamps</h1>"
        "<ul><li><a href='#red'>Red</a></li><li><a href='#blue'>Blue</a></li></ul>"
        f"<p>They glow.</p><ul><li><a href='x'>Bulbs</a></li></ul><p>They break.</p>{menu}"
    )
    assert text_of(parse, body) == "Lamps\n\nThey glow.\n\n- Bulbs\n\nThey break."


def test_a_page_of_links_alone_is_kept(parse: Any) -> None:
    assert text_of(parse, "<nav><ul><li><a href='a'>Apples</a></li></ul></nav>") == "- Apples"


def test_headings_have_no_permalinks(parse: Any) -> None:
    body = "<h2>Lamps<a class='headerlink' href='#lamps'>¶</a></h2><p>They glow.</p>"
    assert kinds_of(parse, body)[0] == ("heading", "Lamps")


def test_a_question_in_bold_is_a_heading(parse: Any) -> None:
    body = "<h1>FAQ</h1><p><b>(1) Does it glow?</b></p><p>It does. <b>Always.</b></p><p><b>Never touch it.</b></p>"
    assert [kind for kind, _ in kinds_of(parse, body)] == ["heading", "heading", "paragraph", "paragraph"]


def test_a_table_of_one_row_is_no_table(parse: Any) -> None:
    body = "<table><tr><td class='icon'>Note</td><td>Mind the gap.</td></tr></table>"
    assert kinds_of(parse, body) == [("paragraph", "Note"), ("paragraph", "Mind the gap.")]


def test_links_below_the_last_heading_and_addresses_are_kept(parse: Any) -> None:
    body = (
        "<h1>Lamps</h1><p>They glow.</p><p><a href='https://l.test/'>→ https://l.test/</a></p>"
        "<h2>Further reading</h2><ul><li><a href='/a'>The Bulb</a></li></ul>"
    )
    assert text_of(parse, body) == "Lamps\n\nThey glow.\n\n→ https://l.test/\n\nFurther reading\n\n- The Bulb"


@pytest.mark.parametrize("inner", ["<blockquote>x</blockquote>Why?", "<pre>x</pre>Why?", "<nav>x</nav>Why?", ""])
def test_a_term_with_blocks_in_it_is_read(parse: Any, inner: str) -> None:
    assert text_of(parse, f"<p>Begin.</p><dl><dt>{inner}<dd>So.</dl>").endswith("So.")


def test_the_title_is_no_part_of_the_first_block(parse: Any) -> None:
    page = b"<title>A long title of a page</title><p><a href='/'>Home</a></p><h1>Lamps</h1><p>They glow.</p>"
    assert parse("a.html", page).text == "Lamps\n\nThey glow."
