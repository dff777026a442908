"""Parses and computes spreadsheet formulas that a model writes for a table; every operand is a cell.

The model never states a number: `=(B3-C3)/C3*100` names cells. Formulas with a constant other than 100 or the number of
summed cells are rejected.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Sequence
from string import ascii_uppercase

from footnotes.answer.prompt import escape
from footnotes.answer.tables.ask import TableAnswer, bare
from footnotes.answer.tables.grid import Table
from footnotes.answer.tables.values import format_number

MOST_ROWS, MOST_CHARACTERS, LONGEST_FORMULA = 80, 8_000, 400
ASKS = (
    "Write one spreadsheet formula that answers the question from the table. Use cell references, + - * / and "
    "SUM, AVERAGE, COUNT, MAX, MIN alone, no numbers except 100 for a percentage. For a value or a name that stands in "
    "the table write its cell: =B3. Reply with the formula alone, or with NONE if the table does not answer.\n\n"
    "Example: a question for the percentage change from C2 to B2 is answered by =(B2-C2)/C2*100"
)
_FORMULA = re.compile(r"=\s*([A-Z0-9().,:+*/\s-]+)", re.IGNORECASE)
_CELL = re.compile(r"([A-Z])(\d{1,4})")
_RANGE = re.compile(r"([A-Z])(\d{1,4}):([A-Z])(\d{1,4})")
_SIGNS: dict[type[ast.operator], str] = {ast.Add: " + ", ast.Sub: " − ", ast.Mult: " × ", ast.Div: " ÷ "}
_FUNCTIONS: dict[str, Callable[[list[float]], float]] = {"SUM": sum, "MAX": max, "MIN": min}
_SUMS = {"SUM", "AVERAGE"}
PERCENT = 100

Place = tuple[int, int]
Part = tuple[float, str]
"""A value, and its derivation."""


def table_prompt(question: str, table: Table) -> str:
    """Format the table, with lettered columns and numbered rows, and the question."""
    width = min(table.width, len(ascii_uppercase))
    lines = ["   " + " | ".join(ascii_uppercase[:width])]
    for number, row in enumerate(table.rows[:MOST_ROWS], 1):
        lines.append(f"{number}: " + " | ".join(bare(cell.text) for cell in row[:width]))
    above = f"{table.above}\n" if table.above else ""
    return f"{escape(above + chr(10).join(lines))[:MOST_CHARACTERS]}\n\nQuestion: {escape(question)}"


def ask_formula(question: str, table: Table, ask: Callable[[str, str], str]) -> TableAnswer | None:
    """Answer from a table by the formula that `ask` returns for instructions and a text."""
    found = _FORMULA.search(ask(ASKS, table_prompt(question, table)).replace("$", ""))
    return compute_formula(found[1].strip(), table) if found and len(found[1]) <= LONGEST_FORMULA else None


def compute_formula(formula: str, table: Table) -> TableAnswer | None:
    """Compute a formula over a table; None if it is invalid, or names cells that are missing or no figures."""
    cells: list[Place] = []
    try:
        tree = ast.parse(_RANGE.sub(_spread, formula.upper()), mode="eval").body
        if isinstance(tree, ast.Name):
            return _cell(_place(tree.id, table), table)
        if isinstance(tree, ast.Call) and _name(tree) == "COUNT":
            places = [_place(_id(each), table) for each in tree.args]
            return _counted([place for place in places if table.rows[place[0]][place[1]].text], table)
        value, written = _value(tree, table, cells)
    except (SyntaxError, ValueError, ZeroDivisionError, IndexError, KeyError, RecursionError, OverflowError):
        return None
    if not cells:
        return None
    percent = bool(re.search(r"\* *100\b|\b100 *\*", formula))
    text = format_number(value) + ("%" if percent else "")
    return TableAnswer(table, (text,), tuple(dict.fromkeys(cells)), written, value, score=1.0)


def _cell(place: Place, table: Table) -> TableAnswer | None:
    text = bare(table.rows[place[0]][place[1]].text)
    return TableAnswer(table, (text,), (place,), score=1.0) if text else None


def _counted(places: Sequence[Place], table: Table) -> TableAnswer | None:
    names = ", ".join(bare(table.rows[row][column].text) for row, column in places)
    count = len(places)
    return TableAnswer(table, (str(count),), tuple(places), f"count({names})", float(count), 1.0) if places else None


def _value(node: ast.expr, table: Table, cells: list[Place]) -> Part:
    """Return the value of a part of a formula, and the part with the texts of its cells; append these to `cells`."""
    if isinstance(node, ast.Name):
        row, column = place = _place(node.id, table)
        cell = table.rows[row][column]
        if cell.value is None or not _is_figure(node, table):
            raise ValueError(node.id)
        cells.append(place)
        return cell.value, bare(cell.text)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value, written = _value(node.operand, table, cells)
        return -value, f"−{written}"
    if isinstance(node, ast.Constant) and node.value == PERCENT:
        return float(PERCENT), str(PERCENT)
    if isinstance(node, ast.Call):
        figures = [each for each in node.args if not isinstance(each, ast.Name) or _is_figure(each, table)]
        return _called(_name(node), [_value(each, table, cells) for each in figures])
    if isinstance(node, ast.BinOp) and type(node.op) in _SIGNS:
        return _joined(node, table, cells)
    raise ValueError(ast.dump(node))


def _is_figure(node: ast.Name, table: Table) -> bool:
    """Return whether a cell has a number; dashes and names are left out of sums."""
    row, column = _place(node.id, table)
    cell = table.rows[row][column]
    return cell.value is not None and any(map(str.isdigit, cell.text))


def _joined(node: ast.BinOp, table: Table, cells: list[Place]) -> Part:
    one, left = _value(node.left, table, cells)
    if isinstance(node.op, ast.Mult) and isinstance(node.right, ast.Constant) and node.right.value == PERCENT:
        return one * PERCENT, left  # the sign after the result shows it
    added = isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Add | ast.Sub)
    left = f"({left})" if added and isinstance(node.op, ast.Mult | ast.Div) else left
    if isinstance(node.op, ast.Div) and isinstance(node.right, ast.Constant) and node.right.value == len(set(cells)):
        return one / len(set(cells)), f"{left} ÷ {len(set(cells))}"  # a mean
    other, right = _value(node.right, table, cells)
    right = f"({right})" if isinstance(node.right, ast.BinOp) else right
    made = {ast.Add: one + other, ast.Sub: one - other, ast.Mult: one * other}.get(type(node.op))
    return one / other if made is None else made, left + _SIGNS[type(node.op)] + right


def _called(name: str, parts: Sequence[Part]) -> Part:
    values = [value for value, _ in parts]
    if not values:
        raise ValueError(name)
    joined = (" + " if name in _SUMS else ", ").join(written for _, written in parts)
    if name == "AVERAGE":
        return sum(values) / len(values), f"({joined}) ÷ {len(values)}"
    return _FUNCTIONS[name](values), f"({joined})" if name == "SUM" else f"{name.lower()}({joined})"


def _name(node: ast.Call) -> str:
    if node.keywords:
        raise ValueError("keywords")
    return _id(node.func)


def _id(node: ast.expr) -> str:
    if not isinstance(node, ast.Name):
        raise ValueError(ast.dump(node))
    return node.id


def _place(name: str, table: Table) -> Place:
    """Return row and column of a cell with a spreadsheet name."""
    found = _CELL.fullmatch(name)
    if found is None:
        raise ValueError(name)
    row, column = int(found[2]) - 1, ascii_uppercase.index(found[1])
    if not (0 <= row < len(table.rows) and column < table.width):
        raise IndexError(name)
    return row, column


def _spread(found: re.Match[str]) -> str:
    """Expand `B3:B5` to `B3,B4,B5`."""
    columns = ascii_uppercase[ascii_uppercase.index(found[1]) : ascii_uppercase.index(found[3]) + 1]
    rows = range(int(found[2]), int(found[4]) + 1)
    if len(rows) > MOST_ROWS:
        raise ValueError(found[0])
    return ",".join(f"{column}{row}" for row in rows for column in columns)
