"""Answers made of the documents' own sentences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from footnotes.answer import Answerer, extractive
from footnotes.answer.candidates import Candidate, candidates_of
from footnotes.answer.compose import as_written, compose_answer
from footnotes.answer.extractive import ABSTENTION, extract, heard
from footnotes.answer.passages import passages_of
from footnotes.answer.questions import names_kind
from footnotes.answer.tables.write import MARK
from footnotes.answer.terms import read_question
from footnotes.embed import Matrix
from footnotes.settings import Settings
from footnotes.testing.hits import make_hit
from footnotes.text.analysis import analyze
from footnotes.types import Answer, Hit, Leg, Role
from libraries import quick_library

HANDBOOK = """# Employment

## Notice

Either side may end the contract in writing. The notice period is three months
to the end of a quarter. During probation it is two weeks.

## Holidays

Staff have 28 days of paid holiday a year. Holidays are agreed with the manager.

- Unused days expire on 31 March.
"""
CANTEEN = "The canteen opens at noon. Lunch costs four euros. The cook is Maria Rossi, who came from Bologna in 2011."


def ask(question: str, *hits: Hit, **changes: object) -> Answer:
    answer = Answerer(Settings(**changes)).answer(question, hits, legs={"lexical": Leg("ok")}, degraded=False)  # type: ignore[arg-type]
    sources = {hit.document_id: (hit.start, hit.text) for hit in hits}
    for citation in answer.citations:
        begin, text = sources[citation.document_id]
        assert citation.quote == text[citation.start - begin : citation.end - begin]
        start, end = citation.answer_span
        said = answer.answer[start:end]
        if MARK in said:  # a row, set as a small table with the cell marked
            assert all(cell.strip() in said for cell in citation.quote.split("|"))
        else:
            assert said == as_written(citation.quote)
    return answer


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("How long is the notice period?", "The notice period is three months to the end of a quarter."),
        ("How many days of holiday do staff have?", "Staff have 28 days of paid holiday a year."),
        ("When do unused days expire?", "Unused days expire on 31 March."),
        ("Who is the cook of the canteen?", "The cook is Maria Rossi, who came from Bologna in 2011."),
    ],
)
def test_the_sentence_that_answers_is_given_with_its_exact_footnote(question: str, expected: str) -> None:
    answer = ask(question, make_hit(HANDBOOK), make_hit(CANTEEN, document="canteen.txt"))
    assert not answer.abstained and expected in answer.answer
    assert [citation.marker for citation in answer.citations] == list(range(1, len(answer.citations) + 1))


PAGES = """## Pages

You can configure the two pages that come with the tool:

* **Swagger**: served at `/docs`.
    * You can set its address with `docs_url`.
    * You can disable it by setting `docs_url=None`.
* **ReDoc**: served at `/redoc`.
    * You can disable it by setting `redoc_url=None`.
"""


def test_an_item_below_another_is_on_what_that_one_names() -> None:
    answer = ask("Can one disable Swagger?", make_hit(PAGES))
    assert "docs_url=None" in answer.citations[0].quote
    assert "[Swagger: served at `/docs`] You can disable it by setting `docs_url=None`." in answer.answer


def test_options_that_the_page_calls_arguments_are_listed() -> None:
    page = """## The filter

The filter takes two steps:

- Make a filter.
- Add the filter to the app.

The following arguments are supported:

- `origins`: who may ask.
- `methods`: what may be asked.
"""
    answer = ask("What are all the options of the filter?", make_hit(page))
    assert answer.answer.startswith("The following arguments are supported:\n- `origins`: who may ask.")


def test_an_entry_of_a_list_says_what_its_name_means() -> None:
    page = (
        "A number can be bounded:\n\n- `gt`: greater than\n- `ge`: greater than or equal\n- `le`: less than or equal\n"
    )
    other = "That means that the price is bounded. These bounds mean nothing to `ge` shops."
    answer = ask("What does ge mean?", make_hit(other, document="shop.txt"), make_hit(page))
    assert answer.kind == "answer" and answer.citations[0].quote.startswith("`ge`: greater than or equal")


def test_signs_that_no_sentence_has_are_not_answered() -> None:
    page = "Use `Query()` to declare a query parameter. A query parameter means that a value stands in the address."
    assert ask("What does `...` mean in Query()?", make_hit(page)).kind != "answer"
    dots = f"{page} ...the query parameters are: `skip` and `limit`."
    assert ask("What does `...` mean in Query()?", make_hit(dots)).kind != "answer"
    told = f"{page} In `Query(...)` the three dots `...` mean that the parameter is required."
    assert "is required" in ask("What does `...` mean in Query()?", make_hit(told)).answer


def test_a_sentence_that_goes_on_comes_with_the_one_before() -> None:
    page = "Make a response object with your data. Then set the cookies in the response and return it."
    answer = ask("How do I set cookies in the response?", make_hit(page))
    assert "Make a response object with your data. Then set the cookies" in answer.answer


def test_a_sentence_that_ends_in_if_not_comes_with_the_one_before() -> None:
    page = "Make sure that the region of the translator is set to Global. You will get 401 unauthorized errors if not."
    answer = ask("Why does the translator give 401 unauthorized errors?", make_hit(page))
    assert answer.answer.startswith("Make sure that the region")
    whole = "The workshop sends it. An estimate is free when the repair is ordered, and costs 9 euros otherwise."
    answer = ask("What does an estimate cost?", make_hit(whole))
    assert answer.answer.startswith("An estimate is free")


def test_the_next_steps_follow_a_step_further_than_other_sentences() -> None:
    first = "To submit fingerprints of your songs, get a key from the service. "
    key = "The service asks for a name and an address, and it shows a short string of letters and digits at the end. "
    more = "That string does not change as long as nobody asks for another one in the settings of the account there. "
    more += "It can be given to as many programs as are wanted, and it may be written down on paper and kept at home. "
    last = "Then, add the key to the configuration as the value of `apikey`. Finally, run `beet submit`."
    answer = ask("How do I submit fingerprints of my songs?", make_hit(first + key + more + last))
    assert "run `beet submit`" in answer.answer
    other = "The moon is a rock without water that goes around our earth once in some four weeks of the year again. "
    assert "moon" not in ask("How do I submit fingerprints of my songs?", make_hit(first + key + more + other)).answer


def test_what_goes_on_from_a_sentence_that_is_given_is_given_too() -> None:
    page = "It is possible to upload several files at once. To do that, declare a list of files to upload."
    answer = ask("How do I upload several files at once?", make_hit(page))
    assert "declare a list of files" in answer.answer and answer.answer.count("It is possible") == 1


def test_code_alone_under_its_heading_answers() -> None:
    page = """# Workers

A worker takes jobs from the queue. It writes a log of every job.

## Restart a worker

```bash
tool worker restart --all
```

## Logs

The log has a line for each job that a worker took.
"""
    answer = ask("How do I restart a worker?", make_hit(page))
    assert answer.kind == "answer" and "tool worker restart --all" in answer.citations[0].quote
    assert answer.answer.startswith("Restart a worker\n```bash\ntool worker restart --all\n```")


def test_a_comment_at_the_end_of_code_is_no_heading() -> None:
    page = (
        "Write the settings:\n\n```python\nworkers = 4\n# restart a worker\n```\n\nThe log has a line for each job.\n"
    )
    assert not ask("How do I restart a worker?", make_hit(page)).answer.startswith("restart a worker")


def test_a_name_alone_is_answered_by_what_opens_its_section() -> None:
    page = """# Brewing

Brewing tea takes four minutes and hot water.

## Errors

Now let us extend the example of brewing and see how brewing goes wrong in several ways.
"""
    answer = ask("brewing", make_hit(page))
    assert answer.answer.startswith("Brewing tea takes four minutes")


def test_so_that_is_gives_no_reason() -> None:
    page = (
        "HTTPS has a port. So that's the port we would need for HTTPS. We need HTTPS because it keeps passwords secret."
    )
    assert ask("Why do we need HTTPS?", make_hit(page)).answer.startswith("We need HTTPS because")


@pytest.mark.parametrize(
    "question", ["Who invented the telephone?", "How tall is Mount Fuji?", "Quelle heure est-il ?"]
)
def test_it_abstains_when_nothing_supports_an_answer(question: str) -> None:
    answer = ask(question, make_hit(HANDBOOK), make_hit(CANTEEN, document="canteen.txt"))
    assert answer.abstained and answer.citations == () and answer.answer == ABSTENTION
    assert answer.hits, "what was found is still shown"


def test_without_hits_it_abstains() -> None:
    assert ask("How long is the notice period?").abstained


def test_a_heading_or_a_question_alone_is_never_an_answer() -> None:
    for text in ("# Notice period\n", "Notice period\n", "What is the notice period?\n", "| --- | --- |\n"):
        assert ask("What is the notice period?", make_hit(text, headings=("Notice period",))).abstained


def test_a_sentence_of_the_questions_words_alone_tells_nothing() -> None:
    text = "Cell culture. Cells were grown in flasks at 37 degrees. Other work followed."
    found = candidates_of(read_question("How was the cell culture done?", [], None), passages_of([make_hit(text)]))
    assert "Cell culture." not in [candidate.text for candidate in found]
    assert "Cells were grown in flasks at 37 degrees." in [candidate.text for candidate in found]


def test_the_answer_below_a_question_in_the_document_is_found() -> None:
    text = "What is the notice period?\nThree months to the end of a quarter.\n\nWhat is for lunch?\nSoup and bread.\n"
    assert ask("What is the notice period?", make_hit(text)).answer.startswith("Three months")


def test_duplicates_stand_once() -> None:
    text = (
        "The notice period of managers is six months. Lunch is at noon. The notice period of managers is six months! "
        "The notice period of trainees is one month."
    )
    answer = ask("What is the notice period?", make_hit(text))
    assert answer.answer.count("six months") == 1


def test_the_number_of_sentences_is_a_setting() -> None:
    text = "The notice period of cooks is one month. The notice period of clerks is two months."
    assert len(ask("What is the notice period?", make_hit(text), answer_sentences=1).citations) == 1


def test_pages_come_from_the_hit() -> None:
    metadata = {"page_starts": [[1, 0], [2, HANDBOOK.index("## Holidays")]]}
    answer = ask("How many days of holiday do staff have?", make_hit(HANDBOOK, pages=(1, 2), metadata=metadata))
    assert answer.citations[0].page == 2


def test_legs_degradation_and_hits_pass_through() -> None:
    legs = {"lexical": Leg("ok"), "dense": Leg("failed", "down")}
    answer = Answerer(Settings()).answer("notice period?", [make_hit(HANDBOOK)], legs=legs, degraded=True)
    assert answer.degraded and answer.legs == legs and answer.model == "extractive"


def test_rare_words_of_the_library_weigh_more() -> None:
    text = "The turbine report is ready. The quarterly report of the turbine shows a crack. A report was read."
    share = {"turbin": 0.5, "report": 0.5, "crack": 0.001}
    found = extract(
        "report crack turbine", [make_hit(text)], limit=1, document_frequency=lambda term: share.get(term, 0.5)
    )
    assert "crack" in found.sentences[0][0].text


def test_vectors_decide_where_words_do_not() -> None:
    text = "The firm gave up 308 points in the season. The firm took a loan of 500 points in the season."

    def embed(texts: Sequence[str], *, role: Role) -> Matrix:
        near = [role == "query" or "gave up" in text for text in texts]
        return np.array([[1.0, 0.0] if each else [0.0, 1.0] for each in near], dtype=np.float32)

    found = extract("How many points did the firm surrender in the season?", [make_hit(text)], limit=1, embed=embed)
    assert "308" in found.sentences[0][0].text


def test_other_languages() -> None:
    german = "Die Kündigungsfrist beträgt drei Monate. Der Vertrag endet schriftlich. Die Kantine öffnet um zwölf."
    assert "drei Monate" in ask("Wie lange beträgt die Kündigungsfrist?", make_hit(german)).answer
    chinese = "合同的通知期为三个月。食堂中午开门。员工每年有二十八天假期。"
    assert "三个月" in ask("合同的通知期是多久？", make_hit(chinese)).answer


@settings(max_examples=60, deadline=None)
@given(text=st.text(max_size=300), question=st.text(max_size=60))
def test_any_text_gives_exact_footnotes_or_an_abstention(text: str, question: str) -> None:
    answer = ask(question, make_hit(text))
    assert answer.abstained == (answer.kind != "answer") and (answer.kind == "nothing") == (not answer.citations)
    assert compose_answer(extract(question, [make_hit(text)]))[0]


LEAVE = """| occasion | paid days | who approves |
| --- | --- | --- |
| Funeral of a parent | 3 | people team |
| Own wedding | 2 | head of workshop |
"""


def test_what_holds_after_it_does_not_answer_what_holds_during_it() -> None:
    text = (
        "The first six months are a probation period. During it either side may leave with two weeks of notice. "
        "After the probation period the notice period is three months."
    )
    found = ask("What is the notice period during the probation period?", make_hit(text)).answer
    assert "two weeks" in found and "three months" not in found
    assert "three months" in ask("What is the notice period after the probation period?", make_hit(text)).answer


@pytest.mark.parametrize("table", [LEAVE, LEAVE.replace("| --- | --- | --- |\n", "")], ids=["rule", "no rule"])
def test_a_tables_header_is_no_answer_but_tells_what_its_rows_are(table: str) -> None:
    days = ask("How many paid days for the funeral of a parent?", make_hit(table))
    assert [each.quote for each in days.citations] == ["Funeral of a parent | 3 | people team"]
    assert ask("paid days who approves occasion", make_hit(table)).answer.count("occasion") == 0
    who = ask("Who approves days for my own wedding?", make_hit(table))
    assert [each.quote for each in who.citations] == ["Own wedding | 2 | head of workshop"]


def test_paths_and_macros_are_no_sentences() -> None:
    text = "{* ../docs_src/response_model/tutorial001.py hl[17,22] *}\n\nThe response model filters what is returned."
    found = ask("What does the response model tutorial return?", make_hit(text))
    assert [each.quote for each in found.citations] == ["The response model filters what is returned."]


def test_a_heading_says_what_the_line_below_it_is() -> None:
    hits = [
        make_hit("Next meeting\n\n9 April 2026, at ten.", document="a.txt", headings=("Next meeting",), score=0.9),
        make_hit("Minutes of the workshop meeting of Thursday.", document="b.txt", score=0.8),
    ]
    assert ask("When is the next meeting?", *hits).answer == "9 April 2026, at ten."


def test_a_colour_is_found_in_the_sentence_that_points_back() -> None:
    text = "The harp in the hall was built in Dublin. It is painted green with shamrocks. The piano is black."
    assert ask("What colour is the harp?", make_hit(text)).answer.startswith(text[: text.index(" The piano")])
    assert ask("What colour is the harp?", make_hit("The harp in the hall was built in Dublin.")).abstained


def test_a_version_is_found_under_the_heading_of_what_came_with_it() -> None:
    text = "# Streams\n\nStreams send a ping every 15 seconds.\n\nAdded in Kettle 2.14.0.\n\n# Filters\n\n"
    text += "Added in Kettle 1.2.0."
    question = read_question("In which version was support for streams added?", [], None)
    found = [candidate.text for candidate in candidates_of(question, passages_of([make_hit(text)]))]
    assert question.kind == "version" and found == ["Added in Kettle 2.14.0.", "Added in Kettle 1.2.0."]


def test_a_line_of_release_notes_comes_with_its_release() -> None:
    notes = "# Release Notes\n\n## 2.14.0 (2026-03-01)\n\n* Add support for streams in kettles.\n"
    answer = ask("In which version was support for streams added to kettles?", make_hit(notes))
    assert answer.answer == "[2.14.0 (2026-03-01)] Add support for streams in kettles."


def test_words_of_one_stem_and_years_with_letters_are_the_same() -> None:
    shares = {"2023": 0.1, "percentag": 0.2}
    read = read_question("Did it fall by a percent in FY2023, or xy1999?", [], lambda term: shares.get(term, 0.0))
    assert "2023" in read.weights and "xy1999" in read.weights
    assert read.among(["percentag", "perfect", "2023"]) == {"percent", "2023"}


def test_a_word_inside_a_name_is_not_that_word() -> None:
    text = "FastAPI Experts are listed because they help. It is quick and fast thanks to its core."
    question = read_question("Why is FastAPI so fast?", [], None)
    assert question.only_in_names("FastAPI Experts are listed because they help.") == frozenset({"fast"})
    assert not question.only_in_names(text)


def test_a_sentence_that_sends_the_reader_elsewhere_does_not_answer() -> None:
    page = "For more info about brewing tea, check the brewing guide. Boil the water and add the tea to brew it."
    answer = ask("How do I brew tea?", make_hit(page))
    assert not answer.answer.startswith("For more info")


@pytest.mark.parametrize(
    "elsewhere",
    [
        "You'll read about how to clean kettles in the next chapter.",
        "You probably read before that you can clean kettles.",
        "Later, in the [long guide](../advanced/a-long-name-of-a-page.md), you will see how to clean kettles.",
        "There's a short tutorial on how to clean kettles.",
        "$ kettle clean --all kettles",
    ],
)
def test_what_only_announces_an_answer_is_behind_it(elsewhere: str) -> None:
    text = f"{elsewhere}\n\nUse vinegar to clean kettles."
    answer = ask("How do I clean kettles?", make_hit(text))
    assert answer.citations[0].quote == "Use vinegar to clean kettles."


def test_how_far_a_passage_leads_is_told_by_the_next_passage_of_any_document() -> None:
    from footnotes.answer.candidates import candidates_of
    from footnotes.answer.passages import passages_of

    text = "The harp is green. " * 3 + "x" * 50 + " The harp is old. " * 3
    hits = [make_hit(text, 0, 50, score=1.0), make_hit(text, 120, len(text), score=0.9)]
    passages = passages_of(hits)
    leads = {round(one.lead, 2) for one in candidates_of(read_question("Which harp?", passages, None), passages)}
    assert leads == {0.1, -0.1}


CHAT = """## 8 May, 2023

Carla: Hey Milo! Good to see you. How have you been?
Milo: Busy with the kids. Anything new?
Carla: I joined a support group yesterday. It was powerful, and everybody was kind.
Milo: Wow! I painted a lake last year. It hangs in the kitchen.
Carla: Lovely. I want to look into counselling jobs.
"""


def chat(*, reader: bool = False) -> tuple[Hit, Settings]:
    return make_hit(CHAT, document="chat.md"), Settings(reader=reader)


def test_a_sentence_of_a_chat_is_said_by_its_speaker() -> None:
    hit, settings = chat()
    answer = Answerer(settings).answer("Where does the painting of Milo hang?", [hit], legs={}, degraded=False)
    assert answer.answer == "[Milo, 8 May, 2023] I painted a lake last year. It hangs in the kitchen."
    assert answer.citations[0].quote == "I painted a lake last year. It hangs in the kitchen."


def test_what_another_says_is_no_answer_on_the_one_asked_about() -> None:
    hit, _ = chat()
    mine = extract("What did Carla join?", [hit])
    other = extract("What did Milo join?", [hit])
    assert "support group" in mine.sentences[0][0].text
    assert other.confidence < mine.confidence
    assert not any("support group" in candidate.text for candidate, _ in other.sentences)


def test_a_time_told_by_the_day_of_a_chat_comes_with_that_day() -> None:
    hit, settings = chat()
    answer = Answerer(settings).answer("When did Carla join a support group?", [hit], legs={}, degraded=False)
    assert answer.answer.startswith("[Carla, 8 May, 2023, asked “Anything new?”] I joined")
    assert "8 May" not in answer.citations[0].quote


WITH_ASSISTANT = """## Session 1: 2023/05/20 (Sat) 02:21

**User:** What should I use for portraits of my cat? I've had Biscuit for about nine months now.

**Assistant:** For a moving cat use a shutter speed of 1/500 s. I have seen cats of twenty years.

**User:** I bought a tripod today. Which lens is good?

**Assistant:** The 35 mm lens is good for portraits.
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("How long have I had my cat?", "[User, 2023/05/20] I've had Biscuit for about nine months now."),
        ("When did I buy a tripod?", "[User, 2023/05/20] I bought a tripod today."),
        (
            "Which lens did you recommend?",
            "[Assistant, 2023/05/20, asked “Which lens is good?”] The 35 mm lens is good for portraits.",
        ),
    ],
)
def test_of_a_chat_with_an_assistant_the_user_answers_for_i_and_the_assistant_for_you(
    question: str, answer: str
) -> None:
    given = Answerer(Settings()).answer(question, [make_hit(WITH_ASSISTANT)], legs={}, degraded=False)
    assert given.answer.startswith(answer)
    assert all(citation.quote in WITH_ASSISTANT for citation in given.citations)


def test_a_sentence_that_points_back_does_not_take_in_what_another_said() -> None:
    text = CHAT.replace("Milo: Wow! I painted", "Milo: It was great to paint") + "Milo: Good."
    answer = Answerer(Settings()).answer("When did Milo paint a lake?", [make_hit(text)], legs={}, degraded=False)
    assert "everybody" not in answer.answer and "Carla:" not in "".join(each.quote for each in answer.citations)


def test_a_figure_is_not_answered_with_a_sentence_that_has_none() -> None:
    page = "Uploads are kept in memory up to a maximum upload size, after which they are written to the disk."
    frequency = {"maximum": 0.1, "upload": 0.1, "size": 0.1}.get
    asked = "What is the maximum upload size?"
    (vague, exact) = (
        extract(asked, [make_hit(text)], document_frequency=lambda term: frequency(term, 0.2))
        for text in (page, page.replace("upload size", "upload size of 5 megabytes"))
    )
    assert vague.confidence < exact.confidence


def test_a_word_no_document_has_lowers_what_asks_how_something_is_done() -> None:
    page = "You can schedule background tasks that run after the response."
    known = ("schedul", "background", "task", "run", "respons", "job")
    heard, unheard = (
        extract(f"How do I schedule a {word} job?", [make_hit(page)], document_frequency=lambda t: 0.1 * (t in known))
        for word in ("background", "zorbing")
    )
    assert unheard.confidence < 0.7 * heard.confidence


def test_a_name_no_document_has_counts_by_its_share_of_the_question() -> None:
    page = "We will cap the cost of insulin at 35 dollars a month for everyone who needs it."
    short, long = (
        read_question(asked, passages_of([make_hit(page)]), lambda term: 0.1 * (term in analyze(page)))
        for asked in (
            "Does it support Zorbing?",
            "What will President Zorb cap the cost of insulin a month at for everyone?",
        )
    )
    assert short.unknown and long.unknown
    assert heard(short) == 0.25 < heard(long) < 1.0


def test_an_entry_of_a_list_of_references_is_behind_a_sentence() -> None:
    entry = (
        "Steen SB, Roth DB Initiation of recombination in vivo: role of signal sequences. Cell 1996 87 263 276 88619"
    )
    page = f"Recombination is begun by signal sequences, which play the main role in vivo.\n\n{entry}\n"
    asked = read_question("What role do signal sequences play in recombination?", passages_of([make_hit(page)]), None)
    said, listed, *_ = candidates_of(asked, passages_of([make_hit(page)]))
    assert listed.prior == said.prior - 2.0


def test_what_release_notes_say_was_done_is_no_instruction() -> None:
    line = "Add custom token to prevent API rate limits."
    hits = [make_hit(line, document="release-notes.md"), make_hit(line, document="usage.md")]
    asked = read_question("How do I add rate limits?", passages_of(hits), lambda _: 0.1)
    notes, usage = sorted(candidates_of(asked, passages_of(hits)), key=lambda each: each.passage.filename)
    assert notes.prior == usage.prior - 3.0 - 0.6


def test_what_is_asked_in_several_words_is_found_in_one() -> None:
    page = "The docs are shown at /docs. You can disable the docs by setting their address to nothing."
    found = extract("How do I turn off the docs?", [make_hit(page)], document_frequency=lambda _: 0.1)
    assert "disable the docs" in found.sentences[0][0].text


def test_the_sides_of_a_comparison_come_from_the_page_that_speaks_of_both() -> None:
    updates = (
        "PATCH is used less than PUT. PUT is used to replace the whole of the data. "
        "You can use PATCH to update a part of the data."
    )
    versions = "The PATCH is the last number of a version. The minor number is the one before."
    hits = [make_hit(updates, document="updates.md"), make_hit(versions, document="versions.md", score=0.9)]
    answer = ask("What is the difference between PUT and PATCH?", *hits, reader=False)
    assert {citation.filename for citation in answer.citations} == {"updates.md"}
    assert "replace" in answer.answer and "update a part" in answer.answer


def test_the_noun_that_two_sides_share_tells_neither() -> None:
    fields = "A path parameter is a part of the address. Each parameter has a name. A query parameter stands behind it."
    names = "Parameters of a path operation may be deprecated. Deprecated parameters are shown with a line."
    hits = [make_hit(names, document="names.md"), make_hit(fields, document="fields.md", score=0.9)]
    answer = ask("What is the difference between path and query parameters?", *hits, reader=False)
    assert "part of the address" in answer.answer and "stands behind it" in answer.answer


def test_what_follows_from_something_is_no_reason() -> None:
    assert names_kind("Because of the core, it is fast.", "reason", "Why is it fast?")
    assert not names_kind("Because of this, the page of experts moved.", "reason", "Why is it fast?")


def test_a_reason_is_given_if_the_chooser_doubts_every_window(monkeypatch: pytest.MonkeyPatch) -> None:
    ranked = extractive.rank
    monkeypatch.setattr(
        extractive, "rank", lambda *asked: [(replace(each, window=-0.1), 0.5) for each, _ in ranked(*asked)]
    )
    assert extract("Why is the tool so fast?", [make_hit("The tool is fast, thanks to its compiled core.")]).sentences


@pytest.mark.parametrize(("window", "count"), [(0.2, 1), (0.45, 2)])
def test_a_further_reason_must_answer_as_surely(window: float, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def rank(*asked: Any) -> list[tuple[Candidate, float]]:
        read = {"speed.md": 0.5, "people.md": window}
        return [(replace(each, window=read[each.passage.filename]), 0.5) for each, _ in ranked(*asked)]

    ranked = extractive.rank
    monkeypatch.setattr(extractive, "rank", rank)
    speed = "The tool is fast, thanks to its compiled core."
    people = "Because of this, the data of the fast experts of the tool is no longer updated."
    hits = [make_hit(speed, document="speed.md"), make_hit(people, document="people.md", score=0.95)]
    assert len(extract("Why is the tool so fast?", hits).sentences) == count


def test_keywords_find_the_sentence_that_has_them_all() -> None:
    page = "The notice period is three months. Every employee has 28 days of leave."
    answer = ask("notice period three months", make_hit(page))
    assert "three months" in answer.answer


def test_a_sentence_that_points_back_compares_nothing_by_itself() -> None:
    page = (
        "Lamps are lights of oil. Torches are lights of wood. This combination of lamps and torches was my favourite."
    )
    extracted = extractive.extract_sides(
        "What is the difference between lamps and torches?", ("lamps", "torches"), [make_hit(page)]
    )
    assert all(not candidate.text.startswith("This") for candidate, _ in extracted.sentences)


def test_the_foot_of_a_page_is_no_answer() -> None:
    page = "Expenses of Apex rose in 2023.\n\nApex Inc. | Q1 2023 Form 10-Q | 20\n\nCosts fell, Apex says."
    found = extract("Which Form 10-Q of Apex Inc. is of Q1 2023?", [make_hit(page)])
    assert not any("|" in candidate.text for candidate in (*(each for each, _ in found.sentences), *found.near))


def test_marks_and_code_of_restructuredtext_are_no_sentences() -> None:
    page = """Drawing text
============

.. py:method:: draw.text(place, text of the picture)

    Draws the text at the given place of the picture.

Draw text with a picture like this::

    picture = Picture()
    picture draw the text and save the text
"""
    found = extract("How is text drawn in a picture?", [make_hit(page)])
    texts = [candidate.text for candidate in (*(each for each, _ in found.sentences), *found.near)]
    assert texts and not any(".." in text or "Picture()" in text or "save" in text for text in texts)


def test_a_note_of_restructuredtext_is_prose() -> None:
    page = """.. note::

    The text in a picture is drawn with a brush.
"""
    assert "brush" in ask("How is text drawn in a picture?", make_hit(page)).answer


def test_a_title_on_a_page_is_no_answer() -> None:
    page = "Costs of Research and Development\n\nResearch costs rose.\n\nOther Costs of Research and Development\n"
    hit = replace(make_hit(page), pages=(1, 1))
    found = extract("What are costs of research and development?", [hit])
    told = [candidate.text for candidate in (*(each for each, _ in found.sentences), *found.near)]
    assert told and not any("Development" in text for text in told)


@pytest.mark.parametrize("question", ["When did Milo join a support group?", "Which jobs does Milo want to look into?"])
def test_what_one_says_of_oneself_does_not_answer_what_is_asked_of_another(question: str) -> None:
    hit, settings = make_hit(CHAT), Settings()
    told = Answerer(settings).answer(question, [hit], legs={}, degraded=False)
    of_herself = ("I joined", "I want")
    assert told.abstained or not any(said in each.quote for each in told.citations for said in of_herself)
    told = Answerer(settings).answer(question.replace("Milo", "Carla"), [hit], legs={}, degraded=False)
    assert told.citations[0].quote.startswith("I ")


def test_a_title_above_its_line_is_no_sentence(tmp_path: Path) -> None:
    text = (
        "Guide\n=====\n\nReload the proxy\n----------------\n\n.. code-block:: sh\n\n   proxyctl reload\n\n"
        "Limits of the proxy\n-------------------\n\nThe proxy takes forty requests at once\n=====\n"
    )
    with quick_library(tmp_path) as library:
        library.add_text(text, filename="guide.rst")
        for question in ("How do I reload the proxy?", "reload proxy", "limits of the proxy"):
            quotes = [citation.quote for citation in library.ask(question).citations]
            assert not [quote for quote in quotes if "Reload the proxy" in quote or "Limits of" in quote], quotes
        # A short line below a long one marks no title.
        assert "forty requests" in library.ask("How many requests does the proxy take at once?").answer
