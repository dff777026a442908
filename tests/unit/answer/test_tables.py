# ruff: noqa: E501 (questions and rows read better whole)
"""Tables are read as tables: cells by row and column, figures computed from footnoted cells."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.answer.passages import passages_of
from footnotes.answer.tables.ask import ask_table
from footnotes.answer.tables.formula import compute_formula
from footnotes.answer.tables.found import best_answer
from footnotes.answer.tables.grid import Table, tables_in
from footnotes.answer.tables.records import ask_records
from footnotes.answer.tables.values import scale_in, value_of, years_in
from footnotes.answer.tables.write import write_table
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.hits import make_hit
from footnotes.types import Answer

STATEMENT = """Cash Flows from Investing Activities:

Years ended December 31

(Millions)\t2018\t2017\t2016
Purchases of property, plant and equipment (PP&E)\t$\t(1,577) $\t(1,373) $\t(1,420)
Proceeds from sale of PP&E and other assets\t262\t49\t58

Purchases and proceeds from maturities and sale of marketable

securities and investments, net\t669\t(798)\t(163)
Net cash used in investing activities\t$\t222\t$\t(3,086)\t$\t(1,403)

Something else follows, in a paragraph of its own that is no row of a table, however long it may go on to be.
"""
SALES = "region,product,year,units\nNorth,Lamp,2023,120\nSouth,Lamp,2023,80\nNorth,Chair,2023,30\nSouth,Chair,2024,45\n"


def table_of(text: str) -> Table:
    (table,) = tables_in(text)
    return table


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$ (1,577)", -1577),
        ("$\t(1,577)", -1577),
        ("12.5 %", 12.5),
        ("—", 0),
        ("1,234.5", 1234.5),
        ("-3", -3),
        ("Total", None),
    ],
)
def test_cells_are_numbers_as_accountants_write_them(text: str, value: float | None) -> None:
    assert value_of(text) == value


def test_units_and_years_are_read() -> None:
    assert scale_in("(in millions, except per share data)") == "millions"
    assert scale_in("U.S. $ in thousands") == "thousands"
    assert years_in("FY18 and fiscal 2019") == ["2018", "2019"]


def test_a_borderless_statement_has_columns() -> None:
    table = table_of(STATEMENT)
    assert table.columns[1:] == ("2018", "2017", "2016")
    assert table.scale == "millions"
    assert [cell.value for cell in table.rows[1][1:]] == [-1577, -1373, -1420]
    assert (
        table.label(4)
        == "Purchases and proceeds from maturities and sale of marketable securities and investments, net"
    )
    for row in table.rows:
        for cell in row:
            assert not cell.text or STATEMENT[cell.start : cell.end] == cell.text


def test_header_levels_name_a_column_together() -> None:
    table = table_of(
        "\tThree Months Ended\tSix Months Ended\n\t2023\t2022\t2023\t2022\nSales\t10\t9\t20\t17\nCosts\t4\t3\t8\t7\n"
    )
    assert table.columns[1:] == (
        "Three Months Ended 2023",
        "Three Months Ended 2022",
        "Six Months Ended 2023",
        "Six Months Ended 2022",
    )


@pytest.mark.parametrize(
    ("question", "text", "formula"),
    [
        ("What were the proceeds from sale of PP&E and other assets in 2017?", "49", ""),
        ("What was the change in proceeds from sale of PP&E and other assets between 2017 and 2018?", "213", "262 − 49"),
        ("What was the percentage change in proceeds from sale of PP&E and other assets from 2016 to 2017?", "-15.52%", "(49 − 58) ÷ 58"),
        ("What was the average of proceeds from sale of PP&E and other assets in 2017 and 2018?", "155.5", "(49 + 262) ÷ 2"),
        ("In which year were the proceeds from sale of PP&E and other assets the lowest?", "2017", ""),
    ],
)  # fmt: skip
def test_a_statement_answers_by_row_and_column(question: str, text: str, formula: str) -> None:
    answer = ask_table(question, table_of(STATEMENT))
    assert answer is not None
    assert (answer.text, answer.formula) == ((text,), formula)


def test_a_row_that_is_not_asked_about_does_not_answer() -> None:
    assert ask_table("How many employees were hired in 2018?", table_of(STATEMENT)) is None


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("What is the total of units in the North region?", "150"),
        ("How many units of Chair were there in the South?", "45"),
        ("Which product has the most units?", "Lamp"),
        ("How many rows are from the South?", "2"),
    ],
)
def test_records_are_filtered_counted_and_added_up(question: str, text: str) -> None:
    answer = ask_records(question, table_of(SALES.replace(",", " | ")))
    assert answer is not None
    assert answer.text == (text,)


def asked(tmp_path: Path, name: str, text: str, question: str) -> tuple[Answer, Library]:
    library = Library(tmp_path / "library", settings=Settings(embedder="hashing"))
    (tmp_path / name).write_text(text)
    library.add(tmp_path / name)
    return library.ask(question), library


def quotes_hold(answer: Answer, library: Library) -> bool:
    return all(library.text(each.document_id, each.start, each.end) == each.quote for each in answer.citations)


def test_a_cell_answers_with_its_row_and_the_quote_is_the_row(tmp_path: Path) -> None:
    text = "# Rates\n\n| Plan | Storage | Price |\n| --- | --- | --- |\n| Basic | 5 GB | 4 euros |\n| Plus | 50 GB | 9 euros |\n"
    answer, library = asked(tmp_path, "rates.md", text, "What is the price of the Plus plan?")
    with library:
        assert answer.kind == "answer"
        assert answer.answer.startswith("Plus, Price: 9 euros")
        assert "| Plus | 50 GB | ▸ 9 euros |" in answer.answer
        assert [each.quote for each in answer.citations] == ["Plus | 50 GB | 9 euros"]
        assert quotes_hold(answer, library)


def test_a_sum_is_a_formula_with_a_footnote_to_every_cell(tmp_path: Path) -> None:
    answer, library = asked(tmp_path, "sales.csv", SALES, "What is the total of units in the North region?")
    with library:
        assert answer.kind == "answer"
        assert "120 + 30 = 150" in answer.answer
        assert [each.quote for each in answer.citations] == ["120", "30"]
        assert [answer.answer[slice(*each.answer_span)] for each in answer.citations] == ["120", "30"]
        assert quotes_hold(answer, library)


def test_a_sum_over_many_rows_quotes_the_rows_it_is_made_of(tmp_path: Path) -> None:
    rows = "".join(f"day {number},{number}\n" for number in range(1, 401))
    answer, library = asked(tmp_path, "visits.csv", "day,visits\n" + rows, "What is the total of visits?")
    with library:
        assert "SUM(visits) over 400 rows = 80,200" in answer.answer
        assert quotes_hold(answer, library)
        assert sum(each.quote.count("\n") + 1 for each in answer.citations) == 400


@pytest.mark.parametrize("others", [True, False])
def test_a_figure_of_a_named_report_is_found_in_its_tables(tmp_path: Path, others: bool) -> None:
    prose = (
        "Acme sells capital goods. The amount of its expenditure for goods was discussed in 2018 and 2017 by many. "
        * 40
    )
    library = Library(tmp_path / "library", settings=Settings(embedder="hashing"))
    with library:
        library.add_text(prose + "\n\n" + STATEMENT, filename="ACME_2018_10K.txt")
        if others:
            library.add_text("Zenith spent much on capital in 2018.\n", filename="ZENITH_2018_10K.txt")
        answer = library.ask(
            "What is the FY2018 capital expenditure amount (in USD millions) for ACME? Give a response to the question by relying on the"
            " details shown in the cash flow statement."
        )
        assert "$(1,577) (in millions)" in answer.answer
        assert quotes_hold(answer, library)


def test_a_year_is_not_looked_up_in_columns_that_name_none() -> None:
    table = table_of("Assets\t12\t10\nInventories\t7\t5\nPayables\t3\t2\n")
    assert ask_table("What were the inventories in 2018?", table, "report 2018") is None
    assert ask_table("What were the inventories?", table, "report 2018") is not None


def test_a_dash_is_nothing_to_compare_with() -> None:
    table = table_of("Stores\tOpened 2024\tOpened 2023\nTotal\t—\t1\nDomestic\t3\t1\n")
    assert ask_table("What was the change in total stores from 2023 to 2024?", table) is None
    assert ask_table("What was the change in domestic stores from 2023 to 2024?", table) is not None


def test_values_under_a_header_of_several_columns_stand_one_under_each() -> None:
    rows = "Year ended June 30, 2022\tYear ended June 30, 2023\nEBITDA\tEBIT\tEBITDA\tEBIT\nAdjusted\t21\t17\t20\t16\nAdjusted EBITDA\t21\t20\n"
    answer = ask_table("What was the adjusted EBITDA in 2023?", table_of(rows))
    assert answer is not None and answer.text == ("20",)


def test_a_row_that_says_nothing_of_the_question_but_its_year_is_beside_it() -> None:
    table = table_of("Remainder of fiscal 2024\t$\t17\nFiscal 2025\t$\t12\n")
    answer = ask_table("How did the stores change in 2024?", table, "stores in 2024")
    assert answer is None or answer.score < 0.75


def test_a_plain_cell_does_not_answer_what_is_to_be_computed() -> None:
    passages = passages_of([make_hit("Items\tCore constant\nEPS\t2\nSales\t7\n")])
    by_how_much, plain = (
        best_answer(question, passages, None)
        for question in ("By how many percent did core constant EPS rise?", "What is the core constant EPS?")
    )
    assert plain is not None and plain[0].text == ("2",)
    assert by_how_much is None or by_how_much[0].score < 0.75


def test_a_name_is_no_average() -> None:
    table = table_of("Item | 2019 | 2018\nNet income | 106.4 | 70.5\nTaxes | 12.0 | 9.5\nDividends | 3.0 | 2.0")
    answer = ask_records("What is the average net income for 2018 and 2019?", table)
    assert answer is None or value_of(answer.text[0]) == 88.45


def test_a_column_that_another_rivals_is_not_sure() -> None:
    table = table_of("Stores | 2024 Opening | 2024 Closing | 2023 Opening\nNorth | 12 | 15 | 11\nSouth | 7 | 7 | 6")
    one, other = (ask_table(f"How many stores had the {region} in 2024?", table) for region in ("North", "South"))
    assert one is not None and other is not None and one.score < other.score


@pytest.mark.parametrize(
    ("formula", "text", "written"),
    [
        ("(B3-C3)/C3*100", "14.86%", "((1,577) − (1,373)) ÷ (1,373)"),
        ("B3", "(1,577)", ""),
        ("AVERAGE(B4:D4)", "123", "(262 + 49 + 58) ÷ 3"),
        ("(B4+C4)/2", "155.5", "(262 + 49) ÷ 2"),
        ("MAX(B4:D4)", "262", "max(262, 49, 58)"),
        ("COUNT(B4:D4)", "3", "count(262, 49, 58)"),
        ("A4", "Proceeds", ""),
    ],
)
def test_a_formula_is_computed_and_written_with_its_cells(formula: str, text: str, written: str) -> None:
    table = table_of(
        "Flows | 2018 | 2017 | 2016\nNothing | | |\nPurchases | (1,577) | (1,373) | (1,420)\nProceeds | 262 | 49 | 58"
    )
    answer = compute_formula(formula, table)
    assert answer is not None and answer.text == (text,) and answer.formula.startswith(written)


@pytest.mark.parametrize(
    "formula", ["B3+1", "B99", "Z1", "A4+B4", "B4**B4", "SUM()", "B4/(B4-B4)", "B1:B999", "lambda: B4", "(" * 300]
)
def test_what_is_no_formula_over_figures_is_not_computed(formula: str) -> None:
    table = table_of(
        "Flows | 2018 | 2017 | 2016\nNothing | | |\nPurchases | (1,577) | (1,373) | (1,420)\nProceeds | 262 | 49 | 58"
    )
    assert compute_formula(formula, table) is None


QUARTER = """Products and Services Performance (dollars in millions):

Three Months Ended\tNine Months Ended
July 1,\tJune 25,\tJuly 1,\tJune 25,
2023\t2022\tChange\t2023\t2022\tChange
Net sales by category:
iPhone\t$ 39,669\t$ 40,665\t(2)%\t$ 156,778\t$ 162,863\t(4)%
Mac\t6,840\t7,382\t(7)%\t21,743\t28,669\t(24)%
"""


def test_days_of_a_header_stand_over_their_years() -> None:
    (table,) = tables_in(QUARTER)
    assert table.columns[1:] == (
        "Three Months Ended July 1, 2023",
        "Three Months Ended June 25, 2022",
        "Three Months Ended June 25, Change",
        "Nine Months Ended July 1, 2023",
        "Nine Months Ended June 25, 2022",
        "Nine Months Ended June 25, Change",
    )


def test_of_a_quarter_the_columns_of_three_months_answer() -> None:
    (table,) = tables_in(QUARTER)
    for question in ("What were net sales of Mac in the latest quarter?", "What were Mac net sales in Q3 2023?"):
        answer = ask_table(question, table)
        assert answer is not None and answer.text == ("6,840",)
    answer = ask_table("What were the net sales of Mac of the third quarter of 2022?", table)
    assert answer is not None and answer.text == ("7,382",)


def test_days_beside_names_of_changes_stand_over_their_years() -> None:
    (table,) = tables_in(
        "Three Months Ended\nOctober 29,\tJuly 30,\tOctober 30,\tQuarter-over-Quarter\tYear-over-Year\n"
        "2023\t2023\t2022\tChange\tChange\nGross margin\t74.0 %\t70.1 %\t53.6 %\t3.9 pts\t20.4 pts\n"
        "Operating expenses\t$ 2,983\t$ 2,662\t$ 2,576\t12 %\t16 %\n"
    )
    assert table.columns[1:4] == ("October 29, 2023", "July 30, 2023", "October 30, 2022")
    answer = ask_table("What was the gross margin in the most recent 10-Q report?", table)
    assert answer is not None and answer.text == ("74.0 %",)


def test_of_the_latest_quarter_the_column_of_the_latest_year_answers() -> None:
    (table,) = tables_in(
        "Three Months Ended September 30,\tNine Months Ended September 30,\n2022\t2023\t2022\t2023\n"
        "Net sales\t$ 20,538\t$ 23,059\t$ 58,718\t$ 66,553\nOperating expenses\t15,135\t16,083\t41,082\t49,072\n"
    )
    answer = ask_table("What were operating expenses in the latest quarter?", table)
    assert answer is not None and answer.text == ("16,083",)


def test_of_a_row_that_is_a_change_no_change_is_computed() -> None:
    (table,) = tables_in("Millions\t2023\t2022\nDecrease in cash\t$ (762)\t$ (2,053)\nNet earnings\t518\t647\n")
    answer = ask_table("What was the decrease in cash between 2022 and 2023?", table)
    assert answer is None or not answer.formula


def test_shares_of_a_hundred_and_amounts_per_share_are_not_in_millions() -> None:
    page = "(In millions)\n\t2023\t2022\nNet sales\t$ 39,669\t$ 40,665\nTax rate\t12.5%\t15.7%\nDiluted earnings per share\t1.26\t1.20\n"
    passage = passages_of([make_hit(page)])[0]
    (table,) = tables_in(page)
    for question, said in (
        ("What were net sales in 2023?", "$39,669 (in millions)\n"),
        ("What was the tax rate in 2023?", "12.5%\n"),
        ("What were diluted earnings per share in 2023?", "1.26\n"),
    ):
        answer = ask_table(question, table)
        assert answer is not None and f": {said}" in write_table(answer, passage)[0]


def test_a_figure_of_no_period_is_no_sure_answer_on_a_quarter() -> None:
    (table,) = tables_in("Core growth\t18%\nOrganic growth\t14%\n")
    asked = "What was the core growth?"
    (sure, unsure) = (ask_table(each, table) for each in (asked, "What was the core growth in the first quarter?"))
    assert sure is None or unsure is None or unsure.score < sure.score


def test_the_only_column_of_another_year_does_not_answer() -> None:
    (table,) = tables_in("(Millions)\t2017\nProperty, plant and equipment (net)\t20\nGoodwill\t35\n")
    assert ask_table("What was net property, plant and equipment in 2018?", table) is None


def test_a_list_of_options_has_no_header() -> None:
    page = (
        "-n, --dry-run | do not create an archive\n--list | show a list of items\n--json | write the result as JSON\n"
    )
    (table,) = tables_in(page)
    assert [table.rows[number][0].text for number in table.body] == ["-n, --dry-run", "--list", "--json"]
