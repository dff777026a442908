"""The text of an extractive answer: whole lists, whole code, no markup, the likeliest sentence first."""

from __future__ import annotations

from dataclasses import replace

import pytest

from footnotes.answer.candidates import Candidate
from footnotes.answer.compose import as_written, compose_answer, nearest_passages
from footnotes.answer.extend import extend_candidate, format_text
from footnotes.answer.extractive import Extract, extract
from footnotes.answer.passages import passages_of
from footnotes.answer.plain import plain_text
from footnotes.answer.questions import Form, form_of, subject_of
from footnotes.testing.hits import make_hit

PAGE = """## Install

To install the **tool**, run this command:

```console
pip install tool
```

The tool reads these formats:

- [PDF](https://example.com/pdf), page by page
- *Markdown*
- HTML

1. Open the lid.
2. Fill in the water.

3. Press the button.

It costs nothing."""


def test_a_quote_that_begins_inside_code_is_code() -> None:
    assert format_text("$ docker run -d image\n```") == "```\n$ docker run -d image\n```"
    assert format_text("Run this:\n```\nmake\n```") == "Run this:\n```\nmake\n```"


def candidate(sentence: str, page: str = PAGE) -> Candidate:
    (passage,) = passages_of([make_hit(page)])
    start = page.index(sentence)
    return Candidate(passage, start, start + len(sentence), sentence, frozenset(sentence.split()), 1, 1, 1, 1, 1, 1, 1)


def test_an_introduction_comes_with_its_list() -> None:
    whole = extend_candidate(candidate("The tool reads these formats:"), "plain")
    assert PAGE[whole.start : whole.end] == whole.text
    assert format_text(whole.text) == "The tool reads these formats:\n- PDF, page by page\n- Markdown\n- HTML"


def test_an_introduction_comes_with_its_code_which_stays_code() -> None:
    whole = extend_candidate(candidate("To install the **tool**, run this command:"), "howto")
    assert format_text(whole.text) == "To install the tool, run this command:\n```console\npip install tool\n```"


@pytest.mark.parametrize(
    "marks",
    ["To begin, run::\n", "To begin, run:\n\n::\n", "To begin, run:\n\n.. code-block:: console\n   :linenos:\n"],
)
def test_the_code_of_restructuredtext_comes_with_its_introduction(marks: str) -> None:
    page = f"{marks}\n   tool init\n\n     --all\n\nThen go on.\n"
    whole = extend_candidate(candidate(page[: page.index("\n")], page), "howto")
    assert format_text(whole.text) == "To begin, run:\n```\ntool init\n\n  --all\n```"


@pytest.mark.parametrize(("form", "steps"), [("howto", 3), ("list", 3), ("plain", 1)])
def test_a_step_comes_with_all_steps_in_order_where_they_are_asked_for(form: Form, steps: int) -> None:
    whole = extend_candidate(candidate("Fill in the water."), form)
    assert [line for line in format_text(whole.text).splitlines() if line][-1].endswith(("button.", "water."))
    assert format_text(whole.text).count(".") - sum(char.isdigit() for char in format_text(whole.text)) == steps


def test_a_sentence_alone_stays_alone() -> None:
    assert extend_candidate(candidate("It costs nothing."), "howto").text == "It costs nothing."


def test_what_is_cut_off_is_read_from_the_document() -> None:
    page = PAGE[: PAGE.index("- *Markdown*")]
    cut = candidate("The tool reads these formats:", page)
    assert "HTML" not in extend_candidate(cut, "list").text
    assert extend_candidate(cut, "list", lambda _, start, end: PAGE[start:end]).text.endswith("- HTML")


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("Use **`Depends`** and [this page](../a.md){.internal-link target=_blank}.", "Use `Depends` and this page."),
        ("a snake_case_name, 2 * 3 * 4 and *args, **kwargs", "a snake_case_name, 2 * 3 * 4 and *args, **kwargs"),
        ('<abbr title="x">term</abbr> ![picture](a.png)', "term picture"),
        ("### Heading\n> said", "Heading said"),
        (
            "See :doc:`the settings </settings>` and :ref:`move`; ``beet move``, `a key`_, `re <https://x.y/>`__.",
            "See the settings and move; `beet move`, a key, re.",
        ),
        ("Use :samp:`git checkout <branch>` at host:port:`80`.", "Use `git checkout <branch>` at host:port:`80`."),
        (
            "The {meth}`~beets.ui.main` of {ref}`the guide <guide>`, {option}`--all`, {code}`<a>` and :class:`.Item`.",
            "The beets.ui.main of the guide, `--all`, `<a>` and Item.",
        ),
        ("`__init__`, `**kwargs`, `a[i][j]` and `<b>`", "`__init__`, `**kwargs`, `a[i][j]` and `<b>`"),
        ("**Call `x` now**: names with AIRFLOW_ are read", "Call `x` now: names with AIRFLOW_ are read"),
        ("`one` and `two` under_score_ `three`", "`one` and `two` under_score_ `three`"),
        (
            "Decibels (``<loudness> + 107``) for files\nusing ``R128_`` tags, see Chromaprint_ and Flac_.\n"
            ".. _Chromaprint: https://x.y/z",
            "Decibels (`<loudness> + 107`) for files using `R128_` tags, see Chromaprint and Flac.",
        ),
    ],
)
def test_markup_is_left_out(raw: str, plain: str) -> None:
    assert plain_text(raw) == plain


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("How do I add a user?", "howto"),
        ("Which formats are supported?", "list"),
        ("What is the difference between a lease and a rent?", "comparison"),
        ("Can I pay by card?", "yesno"),
        ("When does it open?", "plain"),
    ],
)
def test_a_question_has_a_form(question: str, form: str) -> None:
    assert form_of(question) == form


def test_a_reason_and_a_definition_are_kinds() -> None:
    assert subject_of("Why is the door locked?")[0] == "reason"
    assert subject_of("What is a lease?")[0] == "definition"
    assert subject_of("What is the notice period during probation?")[0] == "any"


def test_the_likeliest_sentence_stands_first() -> None:
    text = "The pool has a slide. Guests like the hotel. The pool of the hotel opens at nine."
    found = extract("When does the pool of the hotel open?", [make_hit(text)])
    assert compose_answer(found)[0].startswith("The pool of the hotel opens at nine.")


def test_passages_stand_under_their_place_with_an_exact_footnote() -> None:
    near = candidate("It costs nothing.")
    text, citations = nearest_passages(Extract((), 0.1, (near,))) or ("", ())
    (citation,) = citations
    assert citation.quote == "It costs nothing." and text[slice(*citation.answer_span)] == "It costs nothing."
    assert nearest_passages(Extract((), 0.1, ())) is None


def test_a_passage_has_what_it_introduces_or_the_rest_of_its_paragraph() -> None:
    steps = "If the pump is killed:\n\n1. Close the valve.\n2. Call the office."
    text = f"{steps}\n\nThe pump is new. It needs oil once a year.\n\nThe garden is closed."
    shown, citations = nearest_passages(Extract((), 0.1, (candidate("If the pump is killed:", text),))) or ("", ())
    assert [citation.quote for citation in citations] == [steps]
    assert "1. Close the valve.\n2. Call the office." in shown
    shown, citations = nearest_passages(Extract((), 0.1, (candidate("The pump is new.", text),))) or ("", ())
    assert [citation.quote for citation in citations] == ["The pump is new. It needs oil once a year."]


def test_a_passage_is_shown_alone_if_the_sentence_before_it_is_shown_already() -> None:
    said = ("The old boiler heats the hall.", "It must be serviced every spring by a fitter.")
    text = "\n\n".join(said)
    near = [candidate(each, text) for each in said]
    near[1] = replace(near[1], passage=replace(near[1].passage, start=near[1].start, text=said[1]))
    _, citations = nearest_passages(Extract((), 0.1, tuple(near)), read=lambda _, start, end: text[start:end]) or (
        "",
        (),
    )
    assert [citation.quote for citation in citations] == list(said)


def test_a_passage_in_other_words_is_near_if_the_chooser_takes_it_for_an_answer() -> None:
    other = replace(candidate("It costs nothing."), around=0.1)
    assert nearest_passages(Extract((), 0.1, (other,))) is None
    assert nearest_passages(Extract((), 0.1, (other.with_choice(0.01, 0.01),))) is None
    assert nearest_passages(Extract((), 0.1, (other.with_choice(0.1, 0.4),))) is not None


def test_a_sentence_that_points_at_its_heading_names_it_in_brackets_outside_the_quote() -> None:
    page = "## The harp\n\nIt was built in 1969."
    (passage,) = passages_of([make_hit(page, headings=("Hall", "The harp"))])
    said = "It was built in 1969."
    start = page.index(said)
    one = Candidate(passage, start, start + len(said), said, frozenset(said.split()), 1, 1, 1, 1, 1, 1, 1)
    text, (citation,) = compose_answer(Extract(((one, 0.9),), 0.9))
    assert text == "[The harp] It was built in 1969."
    assert citation.quote == said
    assert text[slice(*citation.answer_span)] == said


def test_an_item_comes_whole() -> None:
    page = "Arguments:\n\n* `origins` - A list.\n* `max_age` - Sets a maximum time. Defaults to `600`.\n"
    whole = extend_candidate(candidate("`max_age` - Sets a maximum time.", page), "plain")
    assert whole.text == "`max_age` - Sets a maximum time. Defaults to `600`."
    assert page[whole.start : whole.end] == whole.text


def test_what_is_called_something_comes_with_the_sentence_that_says_what_it_is() -> None:
    page = "One program takes the encrypted requests and sends them on in plain text.\n\nThis server is called a proxy."
    whole = extend_candidate(candidate("This server is called a proxy.", page), "plain")
    assert whole.text == page


def test_labels_of_a_list_are_no_speakers() -> None:
    page = "* **Fast**: Very quick.\n* **Easy**: Made to be easy. It needs no manual.\n* **Short**: Few lines."
    text, _ = compose_answer(Extract(((candidate("It needs no manual.", page), 0.9),), 0.9))
    assert "Easy: It" not in text


CONCEPTS = """There are several concepts that you should care about.

Read on.

Some of the concepts are:

* Security
* Restarts

## Later

* Something else
"""


def test_a_list_that_is_introduced_below_comes_with_the_sentence_that_names_it() -> None:
    said = "There are several concepts that you should care about."
    whole = extend_candidate(candidate(said, CONCEPTS), "list")
    assert whole.text.endswith("* Restarts")
    assert extend_candidate(candidate(said, CONCEPTS), "plain").text == said


def test_a_list_that_says_the_same_again_is_left_out() -> None:
    page = "Concepts are:\n\n* Security\n* Restarts\n\nOnce more, the concepts are:\n\n* Security\n* Restarts\n"
    first, again = candidate("Concepts are:", page), candidate("Once more, the concepts are:", page)
    text, citations = compose_answer(Extract(((first, 0.9), (again, 0.8)), 0.9), "list")
    assert len(citations) == 1 and text.count("Security") == 1


def test_an_introduction_that_points_back_comes_with_what_it_points_at() -> None:
    page = "Tasks can run after the response. This is useful.\n\nThis includes, for example:\n\n* Sending a letter.\n"
    whole = extend_candidate(candidate("This includes, for example:", page), "plain")
    assert extend_candidate(candidate("Sending a letter.", page), "howto").text == whole.text
    assert whole.text.startswith("Tasks can run") and whole.text.endswith("* Sending a letter.")
    assert page[whole.start : whole.end] == whole.text


def test_a_colon_that_leads_nowhere_is_a_full_stop_in_the_answer_and_stays_in_the_quote() -> None:
    page = "Set the default to `None`:\n\n{* code.py *}\n"
    text, (citation,) = compose_answer(Extract(((candidate("Set the default to `None`:", page), 0.9),), 0.9))
    assert text == "Set the default to `None`."
    assert citation.quote == "Set the default to `None`:"


STEPS = """## Tests

Import `Client`.

Create a `Client` with your **app**.

Write simple `assert` statements.

You may see more below.
"""


def test_paragraphs_that_each_say_what_to_do_come_together_where_steps_are_asked_for() -> None:
    whole = extend_candidate(candidate("Write simple `assert` statements.", STEPS), "howto")
    assert whole.text == STEPS[STEPS.index("Import") : STEPS.index("\n\nYou may")]
    assert format_text(whole.text).splitlines() == [
        "Import `Client`.",
        "Create a `Client` with your app.",
        "Write simple `assert` statements.",
    ]
    assert extend_candidate(candidate("Write simple `assert` statements.", STEPS), "plain").text.startswith("Write")


@pytest.mark.parametrize(
    ("raw", "plain"),
    [
        ("clean <path> or <path to it> <b>now</b>", "clean <path> or <path to it> now"),
        ('<a href="x">here</a><br/>', "here"),
    ],
)
def test_words_in_angle_brackets_are_no_tags(raw: str, plain: str) -> None:
    assert plain_text(raw) == plain


def test_an_item_that_begins_with_signs_keeps_them() -> None:
    assert (
        format_text("- --list, which lists\n1. -n: nothing\n* *one*") == "- --list, which lists\n1. -n: nothing\n- one"
    )


def test_a_definition_comes_with_what_follows_it_in_its_paragraph() -> None:
    page = "A lamp is a tool. It gives light. It needs oil.\n\nLamps are cheap here."
    extracted = Extract(((candidate("A lamp is a tool.", page), 0.9),), 0.9, whole=True)
    text, citations = compose_answer(extracted)
    assert text == "A lamp is a tool. It gives light. It needs oil."
    assert page[citations[0].start : citations[0].end] == citations[0].quote
    assert compose_answer(Extract(extracted.sentences, 0.9))[0] == "A lamp is a tool."


def test_a_list_below_the_next_heading_is_not_what_a_sentence_introduces() -> None:
    page = "Lamps have several modes.\n\n2.1. Lids\n\nThe lids are:\n\n- red\n- blue"
    assert extend_candidate(candidate("Lamps have several modes.", page), "list").text == "Lamps have several modes."
    page = page.replace("2.1. Lids\n\n", "")
    assert extend_candidate(candidate("Lamps have several modes.", page), "list").text.endswith("- blue")


def test_code_and_titles_do_not_answer() -> None:
    page = "Lamp oil of today\n\nThe lamp burns the oil of olives.\n\n```\nthe lamp oil is poured out here\n```"
    extracted = extract("Which oil does the lamp burn?", [make_hit(page)])
    assert [pair[0].text for pair in extracted.sentences] == ["The lamp burns the oil of olives."]
    assert all("poured" not in each.text for each in extracted.near)


def test_two_empty_lines_after_colons_are_no_code() -> None:
    assert format_text("Names::\n\n\nThe next paragraph.") == "Names::\nThe next paragraph."
    assert format_text("Names::\n\n\n    code\n") == "Names:\n```\ncode\n```"


def test_a_note_is_no_code() -> None:
    assert "```" not in format_text(".. note::\n\n    The tool is free.\n")


def test_two_colons_are_left_out_where_their_code_is() -> None:
    assert as_written("Install the tool with pip::") == "Install the tool with pip."
    assert as_written("It makes small pictures. ::") == "It makes small pictures."
    assert format_text("It makes small pictures. ::\n\n    code\n") == "It makes small pictures.\n```\ncode\n```"


@pytest.mark.parametrize("pad", range(0, 60, 6))
def test_what_is_read_around_a_sentence_begins_with_a_whole_line(pad: int) -> None:
    code = f"\n\n  ```\n  $ make step\n  ```\n\n  After it {'the next one is ready ' * 5}{'x' * pad}.\n\n"
    items = [f"{number}. Step {number} is made with this command:{code}" for number in range(1, 56)]
    page = "word " * 300 + "\n" + "".join(items)
    start = page.index("54. Step")
    (passage,) = passages_of([replace(make_hit(page[start:]), start=start, end=len(page))])
    said = "Step 55 is made with this command:"
    at = page.index(said)
    one = Candidate(passage, at, at + len(said), said, frozenset(said.split()), 1, 1, 1, 1, 1, 1, 1)
    whole = extend_candidate(one, "howto", lambda _, begin, end: page[begin:end])
    assert whole.start < start and page[whole.start - 1] == "\n"


def test_a_quote_that_goes_on_after_its_passage_knows_its_last_line() -> None:
    page = "The modes are:\n\n- one\n- two\n- three\n"
    (passage,) = passages_of([replace(make_hit(page[:24]), lines=(1, 3))])
    said = "The modes are:"
    one = Candidate(passage, 0, len(said), said, frozenset(said.split()), 1, 1, 1, 1, 1, 1, 1)
    extracted = Extract(((one, 0.9),), 0.9, whole=True)
    _, (citation,) = compose_answer(extracted, "list", lambda _, begin, end: page[begin:end])
    assert citation.quote == page.rstrip() and citation.lines == (1, 5)


def test_code_between_tildes_stays_as_it_is() -> None:
    assert format_text("~~~haskell\nfoo ::\n\n    Int\n~~~") == "~~~haskell\nfoo ::\n\n    Int\n~~~"
