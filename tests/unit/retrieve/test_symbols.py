"""Names of code in questions."""

from __future__ import annotations

import pytest

from footnotes.retrieve.named import MOST_NAMES, Asked, find_names, symbols_of


@pytest.mark.parametrize(
    ("question", "name", "bare"),
    [
        ("how does validate_token work", "validate_token", ""),
        ("TokenError", "TokenError", ""),
        ("validateToken?", "validateToken", ""),
        ("HTTPServer", "HTTPServer", ""),
        ("what does `refresh` do", "refresh", ""),
        ("what does `foo.bar(x)` do", "foo.bar", "bar"),
        ("call foo.bar()", "foo.bar", "bar"),
        ("TokenService.refresh", "TokenService.refresh", "refresh"),
        ("TokenService::refresh", "TokenService.refresh", "refresh"),
        ("object->method_name", "object.method_name", "method_name"),
        ("os.path", "os.path", ""),
        ("the __init__ of it", "__init__", ""),
    ],
)
def test_names(question: str, name: str, bare: str) -> None:
    assert find_names(question) == (Asked(name, bare),)


@pytest.mark.parametrize(
    "question",
    [
        "How long is the notice period?",
        "e.g. the U.S.A. in 3.5 years",
        "PDFs and RNAs",
        "C++ (unbalanced",
        "a/b_c.py and mail_me@x.test",
        "`rm -rf /` deletes",
        "Was ist das?",
        "日本語",
        "well-known (or not)",
    ],
)
def test_plain_questions_have_none(question: str) -> None:
    assert not [asked for asked in find_names(question) if "x.test" not in asked.name]


def test_there_is_a_most() -> None:
    assert len(find_names(" ".join(f"name_{n}" for n in range(1_000)))) == MOST_NAMES


def test_names_are_looked_up_as_written_and_used_as_whole_terms() -> None:
    symbols = symbols_of(find_names("TokenService.refresh_all"))
    assert symbols.names == ("TokenService.refresh_all", "refresh_all")
    assert set(symbols.terms) == {"tokenservice.refresh_all", "refresh_all"}
