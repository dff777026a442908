"""Both dialects answer to the same query names."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import footnotes.store
from footnotes.store.statements import load_queries

STORE = Path(footnotes.store.__file__).parent
DIALECTS = ("sqlite", "postgres")
METHODS = ("all", "one", "value", "run", "many", "each", "keys")


def calls(folder: Path) -> Iterator[tuple[str, ast.Call]]:
    """Every named query that is run by the code of a folder, with the call."""
    for path in sorted(folder.glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
                continue
            first = node.args[0] if node.args else None
            if node.func.attr in METHODS and isinstance(first, ast.Constant) and isinstance(first.value, str):
                yield first.value, node


def shared() -> list[tuple[str, ast.Call]]:
    return [*calls(STORE), *calls(STORE / "groups")]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_query_of_the_shared_code_is_there(dialect: str) -> None:
    known = load_queries(f"footnotes.store.sql.{dialect}")
    assert {name for name, _ in shared()} - known.keys() == set()


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_parameter_of_a_query_is_given(dialect: str) -> None:
    known = load_queries(f"footnotes.store.sql.{dialect}")
    for name, call in [*shared(), *calls(STORE / dialect)]:
        given = {keyword.arg for keyword in call.keywords}
        if None in given or not isinstance(call.func, ast.Attribute) or call.func.attr == "many":
            continue  # values are given by a mapping
        assert set(known[name].parameters) <= {"user_id", *given}, name


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_query_is_left_over(dialect: str) -> None:
    code = "\n".join(path.read_text("utf-8") for path in STORE.rglob("*.py"))
    known = load_queries(f"footnotes.store.sql.{dialect}")
    assert [name for name in known if not re.search(rf'"{name}"', code)] == []


@pytest.mark.parametrize(("dialect", "mark"), [("sqlite", "?"), ("postgres", "$")])
def test_the_parameters_of_a_query_are_numbered_as_its_header_names_them(dialect: str, mark: str) -> None:
    for name, query in load_queries(f"footnotes.store.sql.{dialect}").items():
        used = {int(number) for number in re.findall(re.escape(mark) + r"(\d+)", query.sql)}
        if query.parameters[:1] == ("user_id",):
            used.add(1)  # rows that `insert` takes carry the tenant, which a table by document does not repeat
        assert used == set(range(1, len(query.parameters) + 1)), name
