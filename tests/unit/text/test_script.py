"""The language of a document, where it can be told."""

from __future__ import annotations

import pytest

from footnotes.text.lines import LineCounter
from footnotes.text.script import language_of

TEXTS = {
    "en": "The notice period is three months to the end of the quarter, and it has to be given in writing.",
    "de": "Die Kündigungsfrist beträgt drei Monate zum Ende des Quartals und sie ist schriftlich zu erklären.",
    "fr": "Le chat est sur la table et il ne veut pas en descendre, parce que le chien est dans la cuisine.",
    "es": "El plazo de preaviso es de tres meses hasta el final del trimestre y se debe dar por escrito.",
    "ru": "Срок уведомления составляет три месяца до конца квартала.",
    "uk": "Строк повідомлення становить три місяці до кінця кварталу, і його дають письмово.",
    "zh": "通知期为季度末前三个月，必须以书面形式提出。",
    "ja": "通知期間は四半期末までの三か月で、書面で行う必要があります。",
    "ko": "통지 기간은 분기 말까지 3개월이며 서면으로 해야 합니다.",
    "ar": "فترة الإشعار ثلاثة أشهر حتى نهاية الربع ويجب أن تكون مكتوبة.",
    "el": "Η προθεσμία είναι τρεις μήνες μέχρι το τέλος του τριμήνου.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_prose_tells_its_language(language: str) -> None:
    assert language_of(TEXTS[language]) == language


@pytest.mark.parametrize("text", ["", "1 2 3 " * 20, "x = y\n" * 30, "Meyer Schmidt Huber " * 10, "short", "🙂" * 300])
def test_what_is_no_prose_has_none(text: str) -> None:
    assert language_of(text) is None


def test_lines_of_spans() -> None:
    text = "one\ntwo\n\nfour\n"
    lines = LineCounter(text)
    assert lines.span(0, 3) == (1, 1)
    assert lines.span(0, 4) == (1, 1)
    assert lines.span(4, 13) == (2, 4)
    assert lines.span(9, 13) == (4, 4)
    assert lines.span(0, len(text)) == (1, 4)
    assert LineCounter(text, first_line=10).span(4, 7) == (11, 11)
