"""Writes a table's answer as text with footnotes: a row as a small table, or a formula with footnoted operands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from footnotes.answer.passages import Passage, lines_of, origin_of, page_of
from footnotes.answer.tables.ask import TableAnswer, bare
from footnotes.types import Citation

MOST_OPERANDS = 12
"""The maximum operands written out; with more, their rows get footnotes, one per run."""
LONGEST_QUOTE = 2_000
MARK = "▸ "
"""Marks the answering cell."""

Span = tuple[int, int]


def write_table(answer: TableAnswer, passage: Passage) -> tuple[str, tuple[Citation, ...]]:
    """Return the text of a table's answer and its footnotes."""
    if answer.formula:
        return (
            _write_computed(answer, passage) if len(answer.cells) <= MOST_OPERANDS else _write_summary(answer, passage)
        )
    return _rows(answer, passage)


def _rows(answer: TableAnswer, passage: Passage) -> tuple[str, tuple[Citation, ...]]:
    table = answer.table
    shown = sorted(dict.fromkeys(row for row, _ in answer.cells))
    text = f"{_named(answer)}: {', '.join(answer.text)}{_in_units(answer)}\n\n"
    names = [bare(name) for name in table.columns]
    text += f"| {' | '.join(names)} |\n|{' --- |' * len(names)}"
    citations = []
    for number, row in enumerate(shown):
        cells = [
            (MARK if (row, column) in answer.cells else "") + bare(cell.text)
            for column, cell in enumerate(table.rows[row])
        ]
        begin = 0 if not number else len(text) + 1
        text += f"\n| {' | '.join(cells)} |"
        citations.append(_footnote(number + 1, answer, passage, table.row_span(row), (begin, len(text))))
    return text, tuple(citations)


def _named(answer: TableAnswer) -> str:
    """Return what an answer is the value of: the row's label and the columns."""
    rows = dict.fromkeys(bare(answer.table.label(row)) for row, _ in answer.cells)
    columns = dict.fromkeys(bare(answer.table.columns[column]) for _, column in answer.cells)
    joined = [" and ".join(list(names)[:3]) for names in (rows, columns) if len(names) <= 3]
    return ", ".join(part for part in joined if part) or "Answer"


def _in_units(answer: TableAnswer) -> str:
    table = answer.table
    labels = " ".join(f"{table.sections[row]} {table.label(row)}" for row, _ in answer.cells).lower()
    scaled = all(cell.value is not None and "%" not in cell.text for cell in answer.operands)
    return f" (in {table.scale})" if table.scale and scaled and "per share" not in labels else ""


def _write_computed(answer: TableAnswer, passage: Passage) -> tuple[str, tuple[Citation, ...]]:
    """Write a formula with a footnote after every operand; the same cell is the same footnote."""
    text = f"{_named(answer)}: "
    cells = {bare(cell.text): cell for cell in answer.operands}
    markers = {written: number for number, written in enumerate(cells, 1)}
    citations = []
    if answer.formula.startswith("count"):
        for number, cell in enumerate(answer.operands, 1):
            text += ", " if number > 1 else ""
            begin = len(text)
            text += bare(cell.text) or "—"
            if cell.end > cell.start >= 0:
                citations.append(_footnote(number, answer, passage, (cell.start, cell.end), (begin, len(text))))
        return f"{text}: {answer.text[0]}", tuple(citations)
    for operand, between in _operands(answer.formula, list(cells)):
        if operand:
            begin = len(text)
            text += operand
            cell = cells[operand]
            citations.append(_footnote(markers[operand], answer, passage, (cell.start, cell.end), (begin, len(text))))
        text += between
    percent = answer.text[0].endswith("%")
    return f"{text} = {answer.text[0]}{'' if percent else _in_units(answer)}", tuple(citations)


def _operands(formula: str, cells: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Split the formula at its operands into pairs of an operand, at first perhaps empty, and the text after it."""
    longest = sorted(cells, key=len, reverse=True)
    operand, between, at = "", "", 0
    while at < len(formula):
        found = next((cell for cell in longest if cell and formula.startswith(cell, at)), "")
        if found:
            yield operand, between
            operand, between, at = found, "", at + len(found)
        else:
            between += formula[at]
            at += 1
    yield operand, between


def _write_summary(answer: TableAnswer, passage: Passage) -> tuple[str, tuple[Citation, ...]]:
    """Write a formula over many rows, with the runs of rows it was computed from."""
    column = bare(answer.table.columns[answer.cells[0][1]]) or "rows"
    operation = "COUNT" if answer.formula.startswith("count") else "AVERAGE" if "÷" in answer.formula else "SUM"
    text = f"{operation}({column}) over {len(answer.cells)} rows = {answer.text[0]}"
    rows = sorted({row for row, _ in answer.cells})
    citations = [
        _footnote(number, answer, passage, span, (0, len(text))) for number, span in enumerate(_runs(answer, rows), 1)
    ]
    return text, tuple(citations)


def _runs(answer: TableAnswer, rows: Sequence[int]) -> Iterator[Span]:
    """Yield spans of consecutive rows, none longer than a quote may be."""
    start, end, last = -1, -1, -2
    for row in rows:
        first, final = answer.table.spans[row]
        if start >= 0 and (row != last + 1 or final - start > LONGEST_QUOTE):
            yield start, end
            start = -1
        start, end, last = (first if start < 0 else start), final, row
    if start >= 0:
        yield start, end


def _footnote(marker: int, answer: TableAnswer, passage: Passage, span: Span, answer_span: Span) -> Citation:
    path, commit = origin_of(passage)
    return Citation(
        marker,
        answer_span,
        passage.document_id,
        passage.filename,
        page_of(passage, min(max(span[0], passage.start), passage.end - 1)),
        span[0],
        span[1],
        answer.table.quote(*span),
        lines=lines_of(passage, span[0], answer.table.quote(*span)) if passage.start <= span[0] else None,
        path=path,
        commit=commit,
    )
