"""The tables that the hits of a question stand in, whole, and the best answer that one of them gives."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from footnotes.answer.context import ReadText
from footnotes.answer.passages import Passage, headings_at
from footnotes.answer.tables.ask import TableAnswer, ask_table
from footnotes.answer.tables.grid import Table, is_row, tables_in
from footnotes.answer.tables.records import ask_records
from footnotes.answer.tables.wording import wording_of
from footnotes.errors import FootnotesError

PASSAGES = 10
"""Passages whose tables are looked at."""
STEP, MOST = 8_000, 4_000_000
"""Characters a table is read on by, and those of the largest that is read."""
BEFORE = 600
"""Characters before the first row in which the header and the line above it are looked for."""
LATER = 0.01
"""What each place further down among the passages costs."""
NOT_COMPUTED = 0.5
"""What is left of the score of a cell where something was to be computed."""
COMPUTED = ("difference", "growth", "ratio", "share")
_COMPUTED_LABEL = re.compile(
    r"%|\b(?:percent\w*|change[sd]?|growth|increase|decrease|decline|difference|variance|ratio|margin|share|proportion|rate)\b",
    re.IGNORECASE,
)

Found = tuple[TableAnswer, Passage]


def best_answer(question: str, passages: Sequence[Passage], read: ReadText | None) -> Found | None:
    """The table answer that says most of the question, with the passage it was found by."""
    best: Found | None = None
    value = 0.0
    seen: set[tuple[str, int]] = set()
    with_rows = [passage for passage in passages if any(map(is_row, passage.text.splitlines()))]
    for place, passage in enumerate(with_rows[:PASSAGES]):
        text, begin, whole = _around(passage, read)
        about = " ".join((passage.title, _spaced(passage.filename), *headings_at(passage, passage.start)))
        for table in tables_in(text, begin):
            first, last = table.spans[0][0], table.spans[-1][1]
            if last <= passage.start or first >= passage.end or (passage.document_id, first) in seen:
                continue
            seen.add((passage.document_id, first))
            answer = _ask(question, table, about, whole=whole)
            if answer is not None and answer.score - LATER * place > value:
                best, value = (answer, passage), answer.score - LATER * place
    return best


def answer_in(question: str, document_id: str, name: str, read: ReadText) -> TableAnswer | None:
    """The answer that says most of the question of all tables of a document that it names, the first of equals."""
    try:
        text = read(document_id, 0, MOST)
    except FootnotesError:
        return None
    found = [
        answer
        for table in tables_in(text)
        if (answer := _ask(question, table, _spaced(name), whole=len(text) < MOST)) is not None
    ]
    return max(found, key=lambda answer: answer.score, default=None)


def _ask(question: str, table: Table, about: str, *, whole: bool) -> TableAnswer | None:
    answer = ask_records(question, table, about) or ask_table(question, table, about)
    if answer is None or (answer.over_rows and not whole):
        return None  # of a table that was not read to its end nothing is counted or added up
    return replace(answer, score=NOT_COMPUTED * answer.score) if _lacks_formula(question, answer) else answer


def _lacks_formula(question: str, answer: TableAnswer) -> bool:
    """Whether a question for a change or a ratio got a plain cell that no label calls one."""
    if answer.formula or wording_of(question).operation not in COMPUTED:
        return False
    table = answer.table
    labels = " ".join(f"{table.label(row)} {table.columns[column]}" for row, column in answer.cells)
    return not _COMPUTED_LABEL.search(labels)


def _spaced(filename: str) -> str:
    return re.sub(r"[_\W]+", " ", filename)


def _around(passage: Passage, read: ReadText | None) -> tuple[str, int, bool]:
    """A passage with the rest of the tables it begins and ends in, where that begins, and whether it is all of them."""
    if read is None:
        return passage.text, passage.start, False
    try:
        begin = max(0, passage.start - STEP)
        text = read(passage.document_id, begin, passage.end + STEP)
        while begin > 0 and _all_rows(text[: passage.start - begin][: STEP // 2]) and len(text) < MOST:
            further = max(0, begin - 8 * STEP)
            text, begin = read(passage.document_id, further, begin) + text, further
        while _all_rows(text[-STEP // 2 :]) and len(text) < MOST:
            more = read(passage.document_id, begin + len(text), begin + len(text) + 8 * STEP)
            if not more:
                break
            text += more
    except FootnotesError:  # deleted since it was found: what was found stands
        return passage.text, passage.start, False
    cut = text.find("\n") + 1 if begin > 0 else 0
    return text[cut:], begin + cut, len(text) < MOST


def _all_rows(text: str) -> bool:
    """Whether a stretch is nothing but rows of one table, so that the table goes on beyond it."""
    lines = text.splitlines()[1:-1]
    return len(lines) > 3 and all(is_row(line) for line in lines)
