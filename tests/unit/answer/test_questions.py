"""What a question asks for."""

from __future__ import annotations

import pytest

from footnotes.answer.denial import yes_or_no
from footnotes.answer.forms import guess_kind
from footnotes.answer.questions import defines_at_once, form_of, names_kind, subject_of, without_pointers
from footnotes.answer.reader import Reader


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How long is the notice period?", "number"),
        ("how MANY points did they score", "number"),
        ("What percentage of staff agreed?", "number"),
        ("When was the school founded?", "date"),
        ("In what year did it open?", "date"),
        ("Who signed the treaty?", "name"),
        ("Where is the office?", "name"),
        ("Why does it rain?", "reason"),
        ("Which status code do I get when validation fails?", "number"),
        ("What happens when the alarm rings?", "any"),
        ("Tesla was born when?", "date"),
        ("In which version was it added?", "version"),
        ("What are scopes in OAuth2?", "definition"),
        ("What is the upload limit in Garden?", "number"),
        ("What is the colour of the garden gate?", "any"),
        ("somewhere over whole numbers", "any"),
        ("Wie lange dauert die Kündigungsfrist?", "number"),
        ("¿Cuándo nació?", "date"),
        ("¿Quién ganó?", "name"),
        ("有多少人？", "number"),
        ("متى تأسست؟", "date"),
    ],
)
def test_the_kind_is_told_by_the_words(question: str, kind: str) -> None:
    assert subject_of(question)[0] == kind


def test_the_subject_is_what_is_left_of_the_question() -> None:
    assert subject_of("How long is the notice period?")[1].split() == ["is", "the", "notice", "period?"]
    assert subject_of("Why does it rain?")[1].split() == ["does", "it", "rain?"]
    assert subject_of("Does it rain?")[1] == "Does it rain?"


@pytest.mark.parametrize(
    ("sentence", "kind", "question", "named"),
    [
        ("It is three months.", "number", "How long is it?", True),
        ("It is long.", "number", "How long is it?", False),
        ("Super Bowl 50 was long.", "number", "How many points fell in Super Bowl 50?", False),
        ("It was founded in 1913.", "date", "When was it founded?", True),
        ("It was founded by monks.", "date", "When was it founded?", False),
        ("The cup went to Jared Allen.", "name", "Who won the cup?", True),
        ("The cup was won.", "name", "Who won the cup?", False),
        ("Anything at all.", "any", "Why?", True),
    ],
)
def test_a_sentence_must_name_something_the_question_did_not(
    sentence: str, kind: str, question: str, named: bool
) -> None:
    assert names_kind(sentence, kind, question) is named  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("question", "sentence", "opening"),
    [
        (
            "Is multi-factor authentication required?",
            "For all staff, multi-factor authentication is mandatory.",
            "Yes: ",
        ),
        ("Can dogs enter the office?", "Dogs can enter the office on Fridays.", "Yes: "),
        ("Can dogs enter the office?", "Dogs cannot enter the office.", ""),
        ("Is smoking allowed in the building?", "Smoking in the building is prohibited.", ""),
        ("Is lunch free?", "Lunch is served at noon and costs four euros.", ""),
        ("Is it red or blue?", "It is red.", ""),
        ("Where can dogs enter the office?", "Dogs can enter the office on Fridays.", ""),
    ],
)
def test_yes_is_said_only_where_sentence_and_verifier_say_it(question: str, sentence: str, opening: str) -> None:
    found = yes_or_no(question, sentence, Reader())
    assert found == opening or (opening == "" and found == "No: ")
    assert yes_or_no(question, sentence, None) == ""


@pytest.mark.parametrize(
    ("question", "form"),
    [
        ("Which concepts matter when deploying?", "list"),
        ("Which tools can be used?", "list"),
        ("Which class do I need?", "plain"),
        ("Which president was shot?", "plain"),
        ("Which status code do I get?", "plain"),
    ],
)
def test_several_things_are_asked_for_in_the_plural(question: str, form: str) -> None:
    assert form_of(question) == form


@pytest.mark.parametrize(
    ("question", "form", "kind"),
    [
        ("turn on debug logging", "howto", "any"),
        ("reset the admin password", "howto", "any"),
        ("supported file formats", "list", "any"),
        ("default port of the server", "plain", "number"),
        ("meaning of transaction", "plain", "definition"),
        ("capital of France", "plain", "any"),
        ("Tower of London height", "plain", "any"),
        ("das Passwort des Benutzers zurücksetzen", "plain", "any"),
    ],
)
def test_terse_questions_are_guessed_from_their_words(question: str, form: str, kind: str) -> None:
    assert (form_of(question), subject_of(question)[0]) == (form, kind)


def test_question_words_are_surer_than_a_guess() -> None:
    assert guess_kind("turn on debug logging")[0] == "howto"
    assert form_of("Who can turn on debug logging?") == "plain"
    assert subject_of("When was debug logging turned on?")[0] == "date"


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("What is the main function of rennin as described in the text?", "What is the main function of rennin?"),
        ("According to the article, who won?", "who won?"),
        ("What are the roles of lipases mentioned in the articles?", "What are the roles of lipases?"),
        ("Which files are in the text folder?", "Which files are in the text folder?"),
        ("What is in the document?", "What is in the document?"),
        ("Which methods were used in the discussed study?", "Which methods were used?"),
        ("How is it measured in the control study?", "How is it measured in the control study?"),
    ],
)
def test_what_only_points_at_the_documents_is_no_part_of_the_question(question: str, asked: str) -> None:
    assert without_pointers(question) == asked


def test_a_longer_name_is_not_what_is_defined() -> None:
    assert names_kind("Garden is a framework for pages.", "definition", "What is Garden?")
    assert not names_kind("Garden Club is the sponsor of the pages.", "definition", "What is Garden?")
    assert not names_kind("In general, garden gates are made of wood.", "definition", "What is a garden?")
    assert names_kind("The garden tool is a rake.", "definition", "What is a garden?")
    assert names_kind("Gardens are pieces of land.", "definition", "What is a garden?")


@pytest.mark.parametrize(
    ("sentence", "question", "above", "at_once"),
    [
        ("A lamp is a tool.", "what is a lamp", "", True),
        ("The LAMP command lights the room.", "what does lamp do", "", True),
        ("lamp: Gives light.", "whats a lamp", "", True),
        ("-n, --dry-run: Lights nothing.", "what does lamp -n do", "lamp manual", True),
        ("-n, --dry-run: Lights nothing.", "what does lamp -n do", "", False),
        ("The price of a lamp is low.", "what is a lamp", "", False),
        ("LAMP, the Large Model, is a file.", "what is LAMP", "", True),
        ("In most houses a lamp is a luxury.", "what is a lamp", "", False),
        ("A lamp is used by many.", "what is a lamp", "", False),
    ],
)
def test_a_sentence_may_say_at_once_what_is_asked_about(
    sentence: str, question: str, above: str, at_once: bool
) -> None:
    assert defines_at_once(sentence, question, above) is at_once
    assert subject_of(question)[0] == "definition"


def test_the_number_of_a_quarter_or_a_year_is_no_figure() -> None:
    question = "What effective tax rate was reported?"
    assert not names_kind("The rate for the third quarter of 2023 was lower than in fiscal 2022.", "number", question)
    assert names_kind("The rate for the third quarter of 2023 was 12.5%.", "number", question)
    assert names_kind("It took nine months in 1987.", "number", "How long did it take?")
