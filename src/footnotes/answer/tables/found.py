"""Reads the whole tables around the hits of a question, and returns the best answer from one of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from footnotes.answer.context import ReadText
from footnotes.answer.passages import Passage, headings_at
from footnotes.answer.tables.ask import TableAnswer, ask_table
from footnotes.answer.tables.formula import ask_formula
from footnotes.answer.tables.grid import Table, is_row, tables_in
from footnotes.answer.tables.records import ask_records
from footnotes.answer.tables.wording import terms_of, wording_of
from footnotes.errors import FootnotesError

PASSAGES = 10
"""Passages whose tables are searched."""
STEP, MOST = 8_000, 4_000_000
"""Characters per step of reading a table, and the maximum read."""
BEFORE = 600
"""Characters before the first row that are searched for the header and the line above it."""
LATER = 0.01
"""The cost of each further rank among the passages."""
SAID = 0.4
"""The share of a question that a table and the text around it must cover before a model is asked for a formula."""
NOT_COMPUTED = 0.5
"""The factor for the score of a plain cell if the question asks for a computation."""
COMPUTED = ("difference", "growth", "ratio", "share")
_COMPUTED_LABEL = re.compile(
    r"%|\b(?:percent\w*|change[sd]?|growth|increase|decrease|decline|difference|variance|ratio|margin|share|proportion|rate)\b",
    re.IGNORECASE,
)

Found = tuple[TableAnswer, Passage]


def best_answer(question: str, passages: Sequence[Passage], read: ReadText | None) -> Found | None:
    """Return the table answer that covers most of the question, with the passage it was found by."""
    best: Found | None = None
    value = 0.0
    for place, (table, passage, about, whole) in enumerate(_tables(passages, read)):
        answer = _ask(question, table, about, whole=whole)
        if answer is not None and answer.score - LATER * place > value:
            best, value = (answer, passage), answer.score - LATER * place
    return best


def formula_answer(
    question: str, passages: Sequence[Passage], read: ReadText | None, ask: Callable[[str, str], str]
) -> Found | None:
    """Answer from the table that covers most of a question, by a formula that a model writes for it."""
    wanted = wording_of(question)
    if wanted.operation == "lookup":
        return None

    def said(found: _Read) -> float:
        table, _, about, _ = found
        words = terms_of(" ".join((about, table.above, *table.columns, *map(table.label, table.body))))
        return len(words & wanted.terms) / max(1, len(wanted.terms))

    best = max(_tables(passages, read), key=said, default=None)
    if best is None or said(best) < SAID:
        return None
    answer = ask_formula(question, best[0], ask)
    return None if answer is None or (answer.over_rows and not best[3]) else (answer, best[1])


_Read = tuple[Table, Passage, str, bool]
"""A table, the passage it was found by, the text around it, and whether it was read to its end."""


def _tables(passages: Sequence[Passage], read: ReadText | None) -> Iterator[_Read]:
    """Yield the tables around the first passages with rows, each once."""
    seen: set[tuple[str, int]] = set()
    with_rows = [passage for passage in passages if any(map(is_row, passage.text.splitlines()))]
    for passage in with_rows[:PASSAGES]:
        text, begin, whole = _around(passage, read)
        about = " ".join((passage.title, _spaced(passage.filename), *headings_at(passage, passage.start)))
        for table in tables_in(text, begin):
            first, last = table.spans[0][0], table.spans[-1][1]
            if last <= passage.start or first >= passage.end or (passage.document_id, first) in seen:
                continue
            seen.add((passage.document_id, first))
            yield table, passage, about, whole


def answer_in(question: str, document_id: str, name: str, read: ReadText) -> TableAnswer | None:
    """Return the answer that covers most of the question, from all tables of a document; the first of equals."""
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
        return None  # never count or sum the rows of an incomplete table
    return replace(answer, score=NOT_COMPUTED * answer.score) if _lacks_formula(question, answer) else answer


def _lacks_formula(question: str, answer: TableAnswer) -> bool:
    """Return whether a question for a change or a ratio got a plain cell whose label is neither."""
    if answer.formula or wording_of(question).operation not in COMPUTED:
        return False
    table = answer.table
    labels = " ".join(f"{table.label(row)} {table.columns[column]}" for row, column in answer.cells)
    return not _COMPUTED_LABEL.search(labels)


def _spaced(filename: str) -> str:
    return re.sub(r"[_\W]+", " ", filename)


def _around(passage: Passage, read: ReadText | None) -> tuple[str, int, bool]:
    """Return a passage with the rest of the tables at its ends, its start, and whether the tables are complete."""
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
    except FootnotesError:  # the document was deleted after the search: use what was found
        return passage.text, passage.start, False
    cut = text.find("\n") + 1 if begin > 0 else 0
    return text[cut:], begin + cut, len(text) < MOST


def _all_rows(text: str) -> bool:
    """Return whether a text has only rows of one table, so that the table continues beyond it."""
    lines = text.splitlines()[1:-1]
    return len(lines) > 3 and all(is_row(line) for line in lines)
