"""Answers a question from a table by rule: with a cell, or a result computed from cells."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from footnotes.answer.tables.grid import Cell, Table
from footnotes.answer.tables.values import format_number, is_value, years_in
from footnotes.answer.tables.wording import Wording, terms_of, wording_of

FOREIGN = 0.3
"""The cost of a label's word that is not in the question, relative to the worth of one that is."""
EXACT = 1.0
"""The bonus if the question has the label word for word."""
ENOUGH = 0.8
"""The share of a synonym that the answer must contain to cover the question's term."""
LEAST_LABEL = 0.34
"""The share of a row's label that the question must contain."""
BESIDE = 0.5
"""The factor for the score if row and column have nothing of the question but a year."""
RIVALLED = 0.7
"""The factor for it if another column also matches: the stores at the beginning and at the end of a year."""

_A_QUARTER = re.compile(r"\b(?:three months|(?<!-)quarter(?!-)|(?:13|thirteen) weeks)\b|\bQ[1-4]\b", re.IGNORECASE)
"""Matches a column of one quarter, which may be next to one of the year so far."""
_A_CHANGE = re.compile(r"\W*(?:net )?\W*(?:increase|decrease|change)", re.IGNORECASE)
"""Matches a row that is itself a change, so no change of it is computed."""


@dataclass(frozen=True)
class TableAnswer:
    """The answer of a table: the result as text, the formula if it was computed, and the cells behind it.

    `score` is the share of the question covered by row, column and table, from 0 to 1.
    """

    table: Table
    text: tuple[str, ...]
    cells: tuple[tuple[int, int], ...]
    formula: str = ""
    value: float | None = None
    score: float = 0.0

    @property
    def over_rows(self) -> bool:
        """Return whether rows were counted, summed or compared, so that one more would change the result."""
        return len({row for row, _ in self.cells}) > 2 or self.formula.startswith("count")

    @property
    def operands(self) -> list[Cell]:
        return [self.table.rows[row][column] for row, column in self.cells]


def ask_table(question: str, table: Table, about: str = "") -> TableAnswer | None:
    """Answer from a table; None if no row matches the subject of the question.

    `about` is the text around the table: the document's title, headings, the line above.
    """
    if not table.body:
        return None
    return _Asking(wording_of(question), table, about).answer()


class _Asking:
    def __init__(self, asked: Wording, table: Table, about: str) -> None:
        self.asked, self.table = asked, table
        self.about = terms_of(f"{about} {table.above}")
        self.labels = {row: terms_of(table.label(row)) for row in table.body}
        counts = Counter(term for terms in self.labels.values() for term in terms)
        self._counts, self._total = counts, len(self.labels) + 1
        self._plain = {row: _words(table.label(row)) for row in table.body}
        self._question = f" {_words(asked.text)} "
        self.columns = [terms_of(name) for name in table.columns]
        valued = [
            column
            for column in range(1, table.width)
            if sum(is_value(table.rows[row][column].text) for row in table.body) * 2 > self._filled(column)
        ]
        self.valued = self._of_the_quarter(valued) if self.asked.quarterly else valued

    def _filled(self, column: int) -> int:
        return sum(bool(self.table.rows[row][column].text) for row in self.table.body)

    def weight(self, term: str) -> float:
        return math.log(1 + self._total / (1 + self._counts[term]))

    def _of_the_quarter(self, valued: list[int]) -> list[int]:
        """Return the columns of single quarters, if any; if no year is asked for, those of the latest."""
        found = [column for column in valued if _A_QUARTER.search(self.table.columns[column])] or valued
        years = {column: max(years_in(self.table.columns[column]), default="") for column in found}
        latest = max(years.values(), default="")
        return found if self.asked.years else [column for column in found if years[column] == latest]

    # ── matching

    def row_score(self, row: int, wanted: frozenset[str]) -> float:
        """Score how well a row's label matches: shared words, minus those only in the label."""
        label = self.labels[row]
        both = label & wanted
        if not both:
            return 0.0
        held, foreign = sum(map(self.weight, both)), sum(self.weight(term) for term in label - wanted)
        if held < LEAST_LABEL * (held + foreign):
            return 0.0
        section = terms_of(self.table.sections[row]) & wanted
        whole = EXACT if self._plain[row] and f" {self._plain[row]} " in self._question else 0.0
        return held - FOREIGN * foreign + 0.5 * sum(map(self.weight, section - both)) + whole

    def best_row(self, wanted: frozenset[str]) -> int | None:
        scored = [(self.row_score(row, wanted), -row) for row in self.table.body if self._has_values(row)]
        best, place = max(scored, default=(0.0, 0))
        return -place if best > 0 else None

    def _has_values(self, row: int) -> bool:
        return any(is_value(self.table.rows[row][column].text) for column in self.valued)

    def columns_of_years(self, row: int | None = None) -> list[int]:
        """Return the columns of the requested years, in that order; if a year has several, the one that matches best.

        For a row prefer columns in which it has a value, if it has one for the year.
        """
        found = []
        for year in self.asked.years:
            mine = [column for column in self.valued if year in years_in(self.table.columns[column])]
            mine = [column for column in mine if row is not None and self.table.rows[row][column].text] or mine
            if mine:
                found.append(max(mine, key=lambda column: (self._column_score(column), -column)))
        return found

    def _column_score(self, column: int) -> float:
        return sum(1.0 for term in self.columns[column] & self.asked.terms) - FOREIGN * len(
            self.columns[column] - self.asked.terms
        )

    def best_column(self, row: int | None = None) -> int | None:
        """Return the requested column of values: by year, by name, or the only one."""
        if by_year := self.columns_of_years(row):
            return by_year[0]
        named = [
            (self._column_score(column), -column) for column in self.valued if self.columns[column] & self.asked.content
        ]
        if named:
            return -max(named)[1]
        if self.asked.years and len(self.valued) > 1:
            return None  # a year is asked for, and nothing says which column has it
        years = years_in(self.table.columns[self.valued[0]]) if self.valued else []
        if self.asked.years and years and not self.asked.quarterly:
            return None  # the only column is for another year
        return self.valued[0] if self.valued else None

    # ── answering

    def answer(self) -> TableAnswer | None:
        if not self.valued:
            return None
        sides = self._two_rows()
        named = frozenset().union(*self.labels.values()) & self.asked.terms
        row = self.best_row((self.asked.content | named).union(*(other for _, other in self.asked.otherwise)))
        operation = self.asked.operation
        if sides and operation in ("difference", "ratio", "share", "sum", "average"):
            return self._of_two_rows(*sides)
        if row is None:
            return self._over_rows()
        columns = self.columns_of_years(row)
        if operation in ("difference", "growth") and (pair := self._pair(columns)):
            return self._of_two_columns(row, *pair)
        if operation == "average" and len(columns) == 1 and (pair := self._pair(columns)):
            columns = list(pair)  # the values at both ends of the year
        if operation in ("average", "sum") and len(columns) > 1 and not self._says(row, operation):
            return self._over([(row, column) for column in self._through(columns)], operation)
        if operation == "average" and not columns and len(self.valued) > 1:
            return self._over([(row, column) for column in self.valued], operation)
        if operation == "count" and self.asked.bound is not None:
            return self._count(row)
        if (
            operation in ("lookup", "most", "least")
            and self.asked.bound is not None
            and "year" in self.asked.text.lower()
        ):
            return self._years_within(row)
        if (
            operation in ("most", "least")
            and len(columns) != 1
            and re.search(r"\b(?:year|fy|period)", self.asked.text.lower())
        ):
            return self._extreme([(row, column) for column in self.valued], by_column=True)
        if operation in ("growth",) and not self._is_percent(row):
            return None
        if len(columns) > 1:
            return self._build_found([(row, column) for column in columns])
        column = self.best_column(row)
        return None if column is None or not self.table.rows[row][column].text else self._build_found([(row, column)])

    def _through(self, columns: Sequence[int]) -> list[int]:
        """Return all columns of a span of years if the question names its ends: "from 2017 to 2019"."""
        if len(self.asked.years) != 2 or not re.search(r"\b(?:from|between|through|period|over)\b", self.asked.text):
            return list(columns)
        first, last = sorted(self.asked.years)
        within = [c for c in self._periods() if first <= years_in(self.table.columns[c])[0] <= last]
        return within if len(within) > len(columns) else list(columns)

    def _periods(self) -> list[int]:
        return [column for column in self.valued if years_in(self.table.columns[column])]

    def _says(self, row: int, operation: str) -> bool:
        return operation in self.table.label(row).lower() or (
            operation == "sum" and "total" in self.table.label(row).lower()
        )

    def _is_percent(self, row: int) -> bool:
        return any("%" in cell.text for cell in self.table.rows[row])

    def _pair(self, columns: Sequence[int]) -> tuple[int, int] | None:
        """Return the later and the earlier column: the requested ones, or the only two."""
        chosen = list(dict.fromkeys(columns))
        among = self._periods() or self.valued
        if len(chosen) < 2 and len(among) == 2:
            chosen = list(among)
        if len(chosen) == 1:
            year = years_in(self.table.columns[chosen[0]])
            before = [c for c in self.valued if year and str(int(year[0]) - 1) in years_in(self.table.columns[c])]
            chosen += before[:1]
        if len(chosen) < 2:
            return None
        first, second = chosen[:2]
        years = [years_in(self.table.columns[column]) for column in (first, second)]
        if all(years) and years[0][0] < years[1][0]:
            return second, first
        return first, second

    def _two_rows(self) -> tuple[int, int] | None:
        if not self.asked.sides:
            return None
        rows = [self.best_row(terms_of(side)) for side in self.asked.sides]
        if rows[0] is None or rows[1] is None or rows[0] == rows[1]:
            return None
        return rows[0], rows[1]

    def _of_two_rows(self, one: int, other: int) -> TableAnswer | None:
        column = self.best_column()
        if column is None:
            return None
        cells = [(one, column), (other, column)]
        operation = self.asked.operation
        if operation in ("sum", "average"):
            return self._over(cells, operation)
        first, second = self._values(cells)
        if first is None or second is None or not self._are_figures(cells):
            return None
        written = [self.table.rows[row][at].text for row, at in cells]
        if operation == "difference":
            return self._build_answer(cells, f"{bare(written[0])} − {bare(written[1])}", first - second)
        if not second:
            return None
        percent = operation == "share"
        quotient = first / second * (100 if percent else 1)
        return self._build_answer(cells, f"{bare(written[0])} ÷ {bare(written[1])}", quotient, "%" if percent else "")

    def _of_two_columns(self, row: int, later: int, earlier: int) -> TableAnswer | None:
        cells = [(row, later), (row, earlier)]
        new, old = self._values(cells)
        if new is None or old is None or not self._are_figures(cells) or _A_CHANGE.match(self.table.label(row)):
            return None
        written = [bare(self.table.rows[at][column].text) for at, column in cells]
        if self.asked.operation == "growth":
            if not old:
                return None
            return self._build_answer(
                cells,
                f"({written[0]} − {written[1]}) ÷ {written[1]}",
                (new - old) / abs(old) * 100 * (1 if old > 0 else -1),
                "%",
            )
        unit = "%" if all("%" in self.table.rows[at][column].text for at, column in cells) else ""
        return self._build_answer(cells, f"{written[0]} − {written[1]}", new - old, unit)

    def _values(self, cells: Sequence[tuple[int, int]]) -> list[float | None]:
        return [self.table.rows[row][column].value for row, column in cells]

    def _are_figures(self, cells: Sequence[tuple[int, int]]) -> bool:
        """Return whether all cells are figures. A dash adds nothing to a sum, and cannot be compared."""
        return all(any(map(str.isdigit, self.table.rows[row][column].text)) for row, column in cells)

    def _over(self, cells: Sequence[tuple[int, int]], operation: str) -> TableAnswer | None:
        kept = [(cell, value) for cell, value in zip(cells, self._values(cells), strict=True) if value is not None]
        if len(kept) < 2:
            return None
        total = sum(value for _, value in kept)
        joined = " + ".join(bare(self.table.rows[row][column].text) for (row, column), _ in kept)
        places = [cell for cell, _ in kept]
        if operation == "average":
            return self._build_answer(places, f"({joined}) ÷ {len(kept)}", total / len(kept))
        return self._build_answer(places, joined, total)

    def _over_rows(self) -> TableAnswer | None:
        """Answer a question about no single row: find the row with most or least in a column."""
        column = self.best_column()
        if column is None or self.asked.operation not in ("most", "least"):
            return None
        if not self.columns[column] & self.asked.terms:
            return None
        rows = [row for row in self.table.body if "total" not in self.table.label(row).lower()]
        return self._extreme([(row, column) for row in rows], by_column=False)

    def _extreme(self, cells: Sequence[tuple[int, int]], *, by_column: bool) -> TableAnswer | None:
        kept = [(value, cell) for cell, value in zip(cells, self._values(cells), strict=True) if value is not None]
        if len(kept) < 2:
            return None
        chosen = (
            max(kept, key=lambda pair: pair[0])
            if self.asked.operation == "most"
            else min(kept, key=lambda pair: pair[0])
        )
        row, column = chosen[1]
        name = self._period(column) if by_column else self.table.label(row)
        return self._score(TableAnswer(self.table, (name,), ((row, column),)))

    def _period(self, column: int) -> str:
        """Return a column as an answer to "which year": its year if it has one."""
        years = years_in(self.table.columns[column])
        return years[0] if len(years) == 1 else self.table.columns[column]

    def _count(self, row: int) -> TableAnswer | None:
        assert self.asked.bound is not None
        cells = [(row, column) for column in self.valued]
        kept = [
            cell
            for cell, value in zip(cells, self._values(cells), strict=True)
            if value is not None and self.asked.bound(abs(value))
        ]
        names = ", ".join(self.table.columns[column] for _, column in kept)
        formula = f"count({names})" if names else "count()"
        return self._score(TableAnswer(self.table, (str(len(kept)),), tuple(kept or cells), formula, float(len(kept))))

    def _years_within(self, row: int) -> TableAnswer | None:
        assert self.asked.bound is not None
        cells = [(row, column) for column in self.valued]
        kept = [
            cell
            for cell, value in zip(cells, self._values(cells), strict=True)
            if value is not None and self.asked.bound(abs(value))
        ]
        if not kept:
            return None
        return self._score(TableAnswer(self.table, tuple(self._period(column) for _, column in kept), tuple(kept)))

    def _build_found(self, cells: Sequence[tuple[int, int]]) -> TableAnswer:
        texts = tuple(bare(self.table.rows[row][column].text) for row, column in cells)
        return self._score(TableAnswer(self.table, texts, tuple(cells)))

    def _build_answer(
        self, cells: Sequence[tuple[int, int]], formula: str, value: float, unit: str = ""
    ) -> TableAnswer:
        return self._score(TableAnswer(self.table, (format_number(value) + unit,), tuple(cells), formula, value))

    def _score(self, answer: TableAnswer) -> TableAnswer:
        """Score the share of the question covered by the rows, the columns and the text around the table."""
        own = set[str]()
        for row, column in answer.cells:
            own |= self.labels[row] | self.columns[column] | terms_of(self.table.sections[row])
        said = own | self.about
        dated = self.asked.years and any(years_in(self.table.columns[column]) for _, column in answer.cells)
        if self.asked.years and not dated and len(self.valued) > 1:
            said -= set(
                self.asked.years
            )  # the document's name may have the year, but nothing says which column is for it
        for name, other in self.asked.otherwise:
            said |= name if len(other & said) >= ENOUGH * len(other) else frozenset()
        content = self.asked.content
        total = sum(map(self.weight, content))
        score = sum(self.weight(term) for term in content & said) / total if total else 0.0
        if not own & content.union(*(other for _, other in self.asked.otherwise)) - set(self.asked.years):
            score *= BESIDE
        nameless = self.asked.quarterly and not any(self.table.columns)  # its quarter is unknown
        if nameless or any(self._has_rival(*cell) for cell in answer.cells):
            score *= RIVALLED
        return TableAnswer(answer.table, answer.text, answer.cells, answer.formula, answer.value, score)

    def _has_rival(self, row: int, column: int) -> bool:
        """Return whether the row has another value in a column of the same years that also matches the question."""
        years, named = years_in(self.table.columns[column]), self._column_score(column)
        own = self.table.rows[row][column].text
        return any(
            other != column
            and years_in(self.table.columns[other]) == years
            and self._column_score(other) == named
            and self.table.rows[row][other].text not in ("", own)
            for other in self.valued
            if years
        )


def _words(text: str) -> str:
    """Return only the words, separated by single spaces."""
    return " ".join(re.findall(r"\w+", text.lower()))


def bare(text: str) -> str:
    """Format a cell for a formula or an answer: with collapsed white space."""
    joined = " ".join(text.split())
    return joined.replace("$ ", "$").replace("£ ", "£").replace("€ ", "€")
