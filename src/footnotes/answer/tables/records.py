# ruff: noqa: E501, SIM905 (patterns and lists of words read better whole)
"""Answers from tables whose rows are things and whose columns are their properties: sheets, CSV files, results.

A question picks rows by the contents of their cells ("from Canada", "in 2009", "more than 40 laps") and then asks for a
cell, their number, the sum, mean or extreme of a column, the difference of two, or the row before or after.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from footnotes.answer.tables.ask import TableAnswer, bare
from footnotes.answer.tables.grid import Table
from footnotes.answer.tables.values import format_number, is_value, is_year, value_of, years_in
from footnotes.answer.tables.wording import Wording, terms_of, wording_of

_WORD = re.compile(r"\w+")
_NEXT = re.compile(r"\b(?:after|next|following|below|succeeded|comes? after)\b", re.IGNORECASE)
_BEFORE = re.compile(r"\b(?:before|previous|prior|preceding|above|preceded)\b", re.IGNORECASE)
_QUALIFIED = re.compile(
    r"\b(?:only|not|n't|other|besides|except|else|both|either|neither|same|each|every|consecutive|second|third|fourth|fifth|ever|again"
    r"|previous|prior|before|after|next|until|combined|than|same|average|named?|title|person|people|times?|different|still|actually)\b",
    re.IGNORECASE,
)
_SEVERAL = re.compile(r"\b(?:list|all|which \w+s|what \w+s|what are|who are)\b", re.IGNORECASE)
DOUBTED = 0.8
"""The factor for a score per word that may change the meaning of the question."""
_LEAST_PHRASE = 3
_CHOICE = re.compile(r"(?:,\s*|\bof\s+|\b)([^,?]+?),?\s+or\s+([^,?]+?)\s*\?*\Z", re.IGNORECASE)
_WHEN = re.compile(r"\b(?:when|what|which|in what|in which) (?:year|date|month|season|day)\b|\bwhen\b", re.IGNORECASE)
_FIRST_LAST = re.compile(r"\b(first|last|final|latest|earliest)\b", re.IGNORECASE)
_LISTED = re.compile(r"\b(?:listed|list|table|chart)\b", re.IGNORECASE)


@dataclass(frozen=True)
class _Pick:
    """The rows that a phrase of the question picks by a column."""

    column: int
    phrase: str
    rows: frozenset[int]


FIGURES = ("sum", "average", "difference", "growth", "ratio", "share")
"""Operations whose result is a figure, so a name never answers."""


def ask_records(question: str, table: Table, about: str = "") -> TableAnswer | None:
    """Answer from a table of things; None if the question picks nothing in it."""
    if table.headers != 1 or table.width < 2 or len(table.body) < 2 or _is_statement(table):
        return None
    asked = wording_of(question)
    answer = _Records(asked, table, about).answer()
    figure = answer is None or answer.formula or any(map(is_value, answer.text))
    return answer if figure or asked.operation not in FIGURES else None


def _is_statement(table: Table) -> bool:
    """Return whether each column of values has a year or period: such a table is read by its row labels."""
    periods = sum(bool(years_in(name)) for name in table.columns[1:])
    return periods * 2 >= table.width - 1


class _Records:
    def __init__(self, asked: Wording, table: Table, about: str) -> None:
        self.asked, self.table = asked, table
        self.words = f" {' '.join(_WORD.findall(asked.text.lower()))} "
        self.columns = [terms_of(name) if name else frozenset() for name in table.columns]
        self.about = terms_of(f"{about} {table.above}")
        self.picks = self._picks()

    # ── what the question names

    def _picks(self) -> list[_Pick]:
        """Return for every column the longest phrase of the question that is, or begins, a cell."""
        found: list[_Pick] = []
        for column in range(self.table.width):
            by_phrase: dict[str, set[int]] = {}
            for row in self.table.body:
                for phrase in _phrases(self.table.rows[row][column].text):
                    if f" {phrase} " in self.words and (len(phrase) >= _LEAST_PHRASE or phrase.isdigit()):
                        by_phrase.setdefault(phrase, set()).add(row)
            header = {word for name in self.table.columns for word in _WORD.findall(name.lower())}
            usable = {p: rows for p, rows in by_phrase.items() if not set(p.split()) <= header | _ORDINARY}
            for phrase in sorted(usable, key=lambda each: -len(each)):
                if not any(f" {phrase} " in f" {other.phrase} " and other.column == column for other in found):
                    found.append(_Pick(column, phrase, frozenset(usable[phrase])))
        return _longest(found)

    def _rows(self, picks: Sequence[_Pick]) -> list[int]:
        """Return the rows that match in every column; phrases of one column are joined with OR."""
        rows = set(self.table.body)
        for column in {pick.column for pick in picks}:
            held = frozenset().union(*(pick.rows for pick in picks if pick.column == column))
            if rows & held:
                rows &= held
        if self.asked.bound is not None and (bounded := self._bounded_column()) is not None:
            rows = {row for row in rows if (value := self._value(row, bounded)) is not None and self.asked.bound(value)}
        return sorted(rows)

    def _bounded_column(self) -> int | None:
        """Return the column of a bound: the one named in the question, or that of years if the bound is a year."""
        numbers = [column for column in range(self.table.width) if self._is_numeric(column)]
        if years_in(self.asked.bound_text):
            dated = [
                c
                for c in range(self.table.width)
                if sum(bool(years_in(self._text(r, c))) for r in self.table.body) * 2 > len(self.table.body)
            ]
            return dated[0] if dated else None
        named = [(self._named(column), -column) for column in numbers if self._named(column)]
        if named:
            return -max(named)[1]
        return numbers[0] if len(numbers) == 1 else None

    def _named(self, column: int) -> float:
        terms = self.columns[column]
        return len(terms & self.asked.terms) / len(terms) if terms else 0.0

    def _text(self, row: int, column: int) -> str:
        return self.table.rows[row][column].text

    def _value(self, row: int, column: int) -> float | None:
        text = self._text(row, column)
        if (value := value_of(text)) is not None:
            return value
        if years := years_in(text):
            return float(years[0])
        number = re.match(r"[^\d]{0,3}(\d[\d,]*(?:\.\d+)?)", text)
        return float(number[1].replace(",", "")) if number else None

    def _is_numeric(self, column: int) -> bool:
        filled = [self._text(row, column) for row in self.table.body if self._text(row, column)]
        return bool(filled) and sum(is_value(text) for text in filled) * 2 > len(filled)

    def target(self, used: frozenset[int] = frozenset()) -> int:
        """Return the requested column: by name right after the question word or anywhere, by kind, else the first."""
        asking = re.search(
            r"\b(?:what|which|name of the|name the|list the)\b\s+(?:\w+\s+){0,2}?(\w+)", self.asked.text.lower()
        )
        scored = []
        for column, terms in enumerate(self.columns):
            if column in used or not terms:
                continue
            score = self._named(column)
            head = terms_of(asking[0]) if asking else frozenset()
            score += 1.0 * len(terms & head) / len(terms)
            if _WHEN.search(self.asked.text):
                score += 0.6 * (_dated(self.table, column))
            scored.append((score, -column))
        best, place = max(scored, default=(0.0, 0))
        if best > 0.3:
            return -place
        texts = [
            c
            for c in range(self.table.width)
            if c not in used and not self._is_numeric(c) and not _dated(self.table, c)
        ]
        return texts[0] if texts else next((c for c in range(self.table.width) if c not in used), 0)

    # ── answering

    def answer(self) -> TableAnswer | None:
        operation, text = self.asked.operation, self.asked.text
        used = frozenset(pick.column for pick in self.picks)
        rows = self._rows(self.picks)
        if chosen := self._choice():
            return chosen
        if operation == "difference" and (made := self._difference()):
            return made
        if operation == "count":
            return self._count(rows, used)
        if operation in ("sum", "average") and (made := self._sum(rows, operation)):
            return made
        if self.picks and len(rows) == 1 and (_NEXT.search(text) or _BEFORE.search(text)) and self.asked.bound is None:
            row = rows[0] + (1 if _NEXT.search(text) else -1)
            if row in self.table.body:
                column = self.target() if self.target() not in used else next(iter(used))
                return self._cells([(row, column)], extra=rows)
        if operation in ("most", "least"):
            return self._extreme(rows, used)
        if not self.picks and self.asked.bound is None:
            return None
        if not rows or len(rows) > 8:
            return None
        column = self.target(used)
        return self._cells([(row, column) for row in rows])

    def _cells(self, cells: Sequence[tuple[int, int]], extra: Sequence[int] = ()) -> TableAnswer | None:
        texts = tuple(dict.fromkeys(bare(self._text(row, column)) for row, column in cells if self._text(row, column)))
        if not texts:
            return None
        return self._score(TableAnswer(self.table, texts, tuple(cells)), [*(row for row, _ in cells), *extra])

    def _count(self, rows: Sequence[int], used: frozenset[int]) -> TableAnswer | None:
        asked = re.search(
            r"\b(?:how many|number of)\s+(?:total\s+|different\s+)?((?:\w+\s+){0,2}\w+)", self.asked.text.lower()
        )
        head = terms_of(asked[1]) if asked else frozenset()
        numeric = [
            c
            for c in range(self.table.width)
            if c not in used
            and self._is_numeric(c)
            and self.columns[c]
            and self.columns[c] <= head | self.asked.terms
            and self.columns[c] & head
        ]
        if numeric and self.picks and len(rows) == 1:
            return self._cells([(rows[0], numeric[0])])
        if numeric and self.picks and len(rows) > 1 and not is_year(self._text(rows[0], numeric[0])):
            return self._summed([(row, numeric[0]) for row in rows], "sum")
        if not rows:
            return None
        column = self._count_column(head)
        if "different" in self.asked.text.lower():
            names = dict.fromkeys(self._text(row, column) for row in rows if self._text(row, column))
            rows = [next(row for row in rows if self._text(row, column) == name) for name in names]
        if self.picks or self.asked.bound is not None or self._all_asked():
            cells = tuple((row, column) for row in rows)
            answer = TableAnswer(self.table, (str(len(rows)),), cells, f"count of {len(rows)} rows", float(len(rows)))
            return self._score(answer, rows)
        return None

    def _all_asked(self) -> bool:
        """Return whether the question counts the whole table: it names nothing beyond headers and context."""
        said = frozenset().union(*self.columns) | self.about
        return not (self.asked.content - said)

    def _count_column(self, head: frozenset[str]) -> int:
        return next((c for c, terms in enumerate(self.columns) if terms & head), 0)

    def _sum(self, rows: Sequence[int], operation: str) -> TableAnswer | None:
        numeric = [(self._named(c), -c) for c in range(self.table.width) if self._is_numeric(c) and self._named(c)]
        if not numeric:
            return (
                self._count(rows, frozenset(p.column for p in self.picks))
                if operation == "sum" and self.picks
                else None
            )
        return self._summed([(row, -max(numeric)[1]) for row in rows], operation)

    def _summed(self, cells: Sequence[tuple[int, int]], operation: str) -> TableAnswer | None:
        kept = [(cell, value) for cell in cells if (value := self._value(*cell)) is not None]
        if not kept:
            return None
        if len(kept) == 1:
            return self._cells([kept[0][0]])
        total = sum(value for _, value in kept)
        joined = " + ".join(bare(self._text(*cell)) for cell, _ in kept)
        value = total / len(kept) if operation == "average" else total
        formula = f"({joined}) ÷ {len(kept)}" if operation == "average" else joined
        places = tuple(cell for cell, _ in kept)
        return self._score(
            TableAnswer(self.table, (format_number(value),), places, formula, value), [row for row, _ in places]
        )

    def _difference(self) -> TableAnswer | None:
        """Compute the difference in one column between two rows that the question names."""
        single = [next(iter(pick.rows)) for pick in self.picks if len(pick.rows) == 1]
        two = list(dict.fromkeys(single))
        numeric = [(self._named(c), -c) for c in range(self.table.width) if self._is_numeric(c)]
        if len(two) != 2 or not numeric:
            return None
        column = -max(numeric)[1]
        first, second = (self._value(row, column) for row in two)
        if first is None or second is None:
            return None
        if first < second:
            two, first, second = two[::-1], second, first
        formula = f"{bare(self._text(two[0], column))} − {bare(self._text(two[1], column))}"
        made = TableAnswer(
            self.table, (format_number(first - second),), tuple((row, column) for row in two), formula, first - second
        )
        return self._score(made, two)

    def _choice(self) -> TableAnswer | None:
        """Answer "A or B?": the one of two named rows with more, less, or earlier in the requested column."""
        if not _CHOICE.search(self.asked.text) or self.asked.operation == "count":
            return None
        named = [pick for pick in self.picks if len(pick.rows) == 1]
        after = [pick for pick in named if self.words.rfind(f" {pick.phrase} ") > len(self.words) * 0.3]
        by_row = {next(iter(pick.rows)): pick for pick in after}
        if len(by_row) != 2:
            return None
        numeric = [
            (self._named(c), -c) for c in range(self.table.width) if self._is_numeric(c) or _dated(self.table, c)
        ]
        if not numeric:
            return None
        column = -max(numeric)[1]
        values = [(value, row) for row in by_row if (value := self._value(row, column)) is not None]
        if len(values) != 2:
            return None
        fewer = re.search(
            r"\b(?:less|fewer|least|lowest|earlier|first|before|smaller|lower|shorter|younger)\b",
            self.asked.text.lower(),
        )
        _, row = min(values) if fewer else max(values)
        return self._cells([(row, by_row[row].column)], extra=list(by_row))

    def _extreme(self, rows: Sequence[int], used: frozenset[int]) -> TableAnswer | None:
        rows = rows or list(self.table.body)
        most = self.asked.operation == "most"
        place = _FIRST_LAST.search(self.asked.text)
        if place is not None:
            dated = [c for c in range(self.table.width) if _dated(self.table, c)]
            wanted = place[1].lower() in ("last", "final", "latest")
            key: Callable[[int], tuple[float, int]] = lambda row: (0.0, row)  # noqa: E731
            if dated and not _LISTED.search(self.asked.text):
                key = lambda row: (self._value(row, dated[0]) or 0.0, row)  # noqa: E731
            row = max(rows, key=key) if wanted else min(rows, key=key)
            return self._cells([(row, self.target(used))], extra=())
        numeric = [
            (self._named(c), -c)
            for c in range(self.table.width)
            if self._is_numeric(c) and c not in used and self._named(c)
        ]
        if not numeric:
            return self._commonest(rows, used)
        column = -max(numeric)[1]
        values = [(value, -row) for row in rows if (value := self._value(row, column)) is not None]
        if not values:
            return None
        _, negative = max(values) if most else min(values, key=lambda pair: (pair[0], -pair[1]))
        target = self.target(used | {column})
        asks_value = re.search(
            r"\b(?:what|how (?:much|many|long|high))\b.{0,30}\b(?:highest|largest|most|greatest|lowest|smallest|least|longest|shortest)\b\s+(?:\w+\s*){1,3}\?*$",
            self.asked.text.lower(),
        )
        return self._cells(
            [
                (
                    -negative,
                    column if asks_value and not re.search(r"\bwh(?:ich|o)\b", self.asked.text.lower()) else target,
                )
            ]
        )

    def _commonest(self, rows: Sequence[int], used: frozenset[int]) -> TableAnswer | None:
        """Return the most frequent name, if no column of numbers is meant."""
        column = self.target(used)
        counts = Counter(_without_count(self._text(row, column)) for row in rows if self._text(row, column))
        if not counts or self.asked.operation != "most":
            return None
        name, count = counts.most_common(1)[0]
        if count < 2:
            return None
        cells = tuple((row, column) for row in rows if _without_count(self._text(row, column)) == name)
        return self._score(TableAnswer(self.table, (name,), cells, f"count of {count} rows"), [row for row, _ in cells])

    def _score(self, answer: TableAnswer, rows: Sequence[int]) -> TableAnswer:
        """Score the share of the question covered by the phrases that picked rows, the headers and the text around."""
        said = set(self.about)
        for pick in self.picks:
            said |= terms_of(pick.phrase)
        for _, column in answer.cells:
            said |= self.columns[column]
        said |= {term for terms in self.columns for term in terms}
        content = self.asked.content
        score = len(content & said) / len(content) if content else 0.5
        # Qualifying words in the question, and several results if one is asked for, are doubts.
        doubts = len(_QUALIFIED.findall(self.asked.text)) + (
            len(answer.text) > 1 and not _SEVERAL.search(self.asked.text)
        )
        doubts += self.asked.operation in ("most", "least", "count")  # half of these mean something else
        return replace(answer, score=score * DOUBTED**doubts)


_ORDINARY = frozenset(
    "the a an of in on at to and or for is was were are by with what which who how many year years one two first last no yes".split()
)


def _phrases(text: str) -> list[str]:
    """Return the names of a cell in a question: all of it, without brackets, up to a comma, its year."""
    whole = " ".join(_WORD.findall(text.lower()))
    found = [whole]
    if "(" in text:
        found.append(" ".join(_WORD.findall(re.sub(r"\([^)]*\)", "", text).lower())))
    found += [" ".join(_WORD.findall(part.lower())) for part in re.split(r",|\n| - |/|;", text)[:4]]
    found += years_in(text)
    return [phrase for phrase in dict.fromkeys(found) if phrase]


def _longest(picks: list[_Pick]) -> list[_Pick]:
    """Drop picks whose phrase is part of a longer one found elsewhere."""
    return [
        pick
        for pick in picks
        if not any(
            pick is not other and pick.phrase != other.phrase and f" {pick.phrase} " in f" {other.phrase} "
            for other in picks
        )
    ]


def _dated(table: Table, column: int) -> bool:
    filled = [table.rows[row][column].text for row in table.body if table.rows[row][column].text]
    named = re.search(r"\b(?:year|date|season|released?|aired?|airdate)\b", table.columns[column].lower())
    return bool(filled) and (bool(named) or sum(bool(years_in(text)) for text in filled) * 2 > len(filled))


def _without_count(text: str) -> str:
    return re.sub(r"\s*\(\d+\)\s*\Z", "", text).strip()
