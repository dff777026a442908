"""The published match table: which written forms find which. Docs repeat it in docs/concepts/analysis.md."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from footnotes.text.analysis import LONGEST, analyze, analyze_question, fingerprint
from footnotes.text.languages import detect

MATCHES = [
    # a question word, a text that must be found by it
    ("Database", "several databases run here"),
    ("running", "he runs"),
    ("camelCase", "the camelCase style"),
    ("case", "the camelCase style"),
    ("get_user_name", "def get_user_name(self)"),
    ("user", "def get_user_name(self)"),
    ("HTTPServer2", "class HTTPServer2:"),
    ("server", "class HTTPServer2:"),
    ("httpserver2", "class HTTPServer2:"),
    ("os.path.join", "call os.path.join(a, b)"),
    ("join", "call os.path.join(a, b)"),
    ("iphone", "an iPhone"),
    ("RNA", "several RNAs"),
    ("C++", "written in C++."),
    ("C++", "c++11 code"),
    ("C#", "a C# program"),
    (".NET", "the .NET runtime"),
    ("net", "the .NET runtime"),
    ("asp.net", "ASP.NET pages"),
    ("Node.js", "on node.js."),
    ("AT&T", "AT&T said"),
    ("USA", "the U.S.A. and"),
    ("3.5", "version 3.5 is out"),
    ("3.5", "Version 3,5 ist da"),
    ("1000", "1,000 people"),
    ("1,000", "1000 people"),
    ("1000", "1.000 Personen"),
    ("1234.56", "EUR 1.234,56"),
    ("1.2.3", "tag v1.2.3"),
    ("10 mg", "10mg a day"),
    ("IL-6", "IL6 levels"),
    ("company", "the company’s rules"),
    ("don't", "they don’t"),
    ("avion", "l’avion"),
    ("brien", "Mr O'Brien"),
    ("e-mail", "an e-mail"),
    ("cafe", "the café"),
    ("café", "the cafe\u0301"),
    ("strasse", "die Straße"),
    ("lodz", "Łódź"),
    ("abc", "ＡＢＣ"),
    ("file", "ﬁle"),
    ("password", "pass\u200bword"),
    ("password", "pass\u00adword"),
    ("日本", "日本語の文書"),
    ("文書", "日本語の文書"),
    ("猫", "猫 が"),
    ("入門", "Python入門"),
    ("python", "Python入門"),
    ("문서", "한국어 문서입니다"),
    ("สวย", "ภาษาไทยสวยมาก"),
    ("कर्मचारी", "कर्मचारी लिखें।"),
    ("كتاب", "في الكتاب"),
    ("مكتبة", "المكتبات"),
    ("собака", "две собаки"),
    ("елка", "ёлка"),
    ("שלום", "שָׁלוֹם"),
    ("١٢٣", "number 123"),
    ("Häuser", "Das Haus ist alt"),
    ("gestión", "las gestiones de la empresa"),
    ("gestion", "la gestión de la empresa"),
]

MISSES = [
    ("C++", "a c program"),
    ("net", "network"),
    ("1.2", "tag v1.2.3"),
    ("日語", "日本語の文書"),
    ("well", "we'll see"),
]

NOTHING = ["", " ", "\x00", "\ud800", "👨\u200d👩\u200d👧", "____", "...", "'\"()[]", "\u0301", "\u200b", "।"]


@pytest.mark.parametrize(("question", "text"), MATCHES)
def test_matches(question: str, text: str) -> None:
    assert set(analyze(question)) & set(analyze(text))


@pytest.mark.parametrize(("question", "text"), MISSES)
def test_misses(question: str, text: str) -> None:
    assert not set(analyze(question)) & set(analyze(text))


@pytest.mark.parametrize("text", NOTHING)
def test_no_terms(text: str) -> None:
    assert analyze(text) == []


def test_terms_keep_order_and_repetitions() -> None:
    assert analyze("cats and cats") == ["cat", "and", "cat"]
    assert analyze("東京東京") == ["東京", "京東", "東京"]


@pytest.mark.parametrize("language", ["auto", "en", "de"])
def test_numbers_are_terms_of_themselves(language: str) -> None:
    assert analyze("row 0042, 1234567 and (7).", language)[1:3] == ["0042", "1234567"]
    assert analyze("1" * 40, language) == ["1" * 40]


def test_control_characters_between_words_do_not_join_them() -> None:
    assert analyze("one\x00two\ud800three") == ["one", "two", "three"]


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("How long is the notice period?", "en"),
        ("Wie lange ist die Kündigungsfrist?", "de"),
        ("¿Cuál es el plazo de preaviso?", "es"),
        ("Quelle est la durée du préavis ?", "fr"),
        ("Qual è il periodo di preavviso della società?", "it"),
        ("Qual é o prazo do aviso para uma empresa?", "pt"),
        ("Hoe lang is de opzegtermijn van het contract?", "nl"),
        ("Hur lång är uppsägningstiden för den anställde?", "sv"),
        ("Jak długi jest okres wypowiedzenia, który się liczy?", "pl"),
        ("İhbar süresi için ne kadar bir zaman var?", "tr"),
        ("Kündigungsfristen", "de"),
        ("años", "es"),
        ("notice period", "en"),
        ("The naïve café of Ms Müller", "en"),
        ("", "en"),
    ],
)
def test_detects_the_language_of_a_question(text: str, language: str) -> None:
    assert detect(text.split()) == language


def test_another_language_adds_its_stems_to_the_english_ones() -> None:
    assert analyze("Sind die Häuser") == ["sind", "die", "haus", "hauser"]
    assert analyze("Sind die Häuser", "de") == ["sind", "die", "haus"]


def test_a_language_without_a_stemmer_keeps_words_as_they_are() -> None:
    assert analyze("databases", "zh") == ["databases"]


@pytest.mark.parametrize(
    ("question", "terms"),
    [
        ("How long is the notice period?", ["long", "notic", "period"]),
        ("Wie lange ist die Frist?", ["lang", "frist"]),
        ("to be or not to be", ["to", "be", "or", "not", "to", "be"]),
        ("The Who", ["the", "who"]),
        ("日本の文書は?", ["日本", "本の", "の文", "文書", "書は"]),
    ],
)
def test_questions_are_looked_up_without_function_words_unless_they_have_no_others(
    question: str, terms: list[str]
) -> None:
    assert analyze_question(question) == terms


def test_fingerprint_names_rules_and_stemmers() -> None:
    assert fingerprint().startswith("analysis-")
    assert "snowball" in fingerprint()


@given(st.text(max_size=200))
def test_any_text_gives_clean_terms(text: str) -> None:
    for term in analyze(text):
        assert term
        assert len(term) <= 3 * LONGEST
        assert not any(character.isspace() for character in term)
        term.encode("utf-8")


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_a_text_is_found_by_itself_in_any_case(text: str) -> None:
    assert analyze(text) == analyze(text)
    if text.isascii() and text.isalpha():
        assert analyze(text.lower()) == analyze(text.lower().capitalize())


@pytest.mark.parametrize("unit", ["a.", "a'", "_", "1,", "A", "日", "aB", ".a", "é", "\u0301", "ก", "a&"])
def test_long_hostile_runs_are_survived(unit: str) -> None:
    assert all(len(term) <= LONGEST + 1 for term in analyze(unit * 50_000))
