"""Questions over tables, answered by rule or by a formula that a model writes: TAT-QA and WikiTableQuestions.

    python benchmarks/tables.py [--split dev] [--only tatqa] [--most 100] [--show 20] [--surest 0.8] [--model MODEL]

Every table is written as the parsers write it and read back from the text. Right is an answer equal to the expected
one, numbers within half a hundredth, percent with or without its sign. Printed are the share that is right of all, of
those whose answer stands in the table, and of those that were answered with a score of at least `--surest`, which is
what a library's answer asks for. With `--model`, `provider:model` or the file of a model for
llama.cpp, a question that computes and that the rules are not that sure of is asked of the model, whose formula is
computed here. `--most` questions are taken evenly.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from answers import evenly
from labelled import DATA

from footnotes.answer.answerer import build_request
from footnotes.answer.models import Message, complete
from footnotes.answer.models.table import make_chat_model
from footnotes.answer.tables import records
from footnotes.answer.tables.ask import TableAnswer, ask_table
from footnotes.answer.tables.formula import ask_formula
from footnotes.answer.tables.grid import Table, tables_in
from footnotes.answer.tables.values import value_of
from footnotes.answer.tables.wording import wording_of
from footnotes.parse.builder import CELL_SEPARATOR
from footnotes.remote import Deadline
from footnotes.settings import Settings

SETS = ("tatqa", "wikitablequestions")
SECONDS = 600.0


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def as_text(rows: list[list[str]]) -> str:
    """A table as the parsers write one."""
    return "\n".join(
        CELL_SEPARATOR.join(" ".join(cell.replace("|", "/").split()) for cell in row).strip() for row in rows
    )


def same(said: str, wanted: str) -> bool:
    one, other = (value_of(re.sub(r"[$€£%]", "", each).strip()) for each in (said, wanted))
    if one is not None and other is not None:
        return abs(one - other) < 0.0051 or (abs(abs(one) - abs(other)) < 0.0051 and "(" in said + wanted)
    plain = [" ".join(re.sub(r"[^\w\s.]", " ", each.lower()).split()) for each in (said, wanted)]
    return plain[0] == plain[1]


def right(answer: TableAnswer, wanted: list[str]) -> bool:
    return len(answer.text) == len(wanted) and all(any(same(said, each) for said in answer.text) for each in wanted)


Ask = Callable[[str, str], str]


def asked(question: str, table: Table, ask: Ask | None, surest: float) -> TableAnswer | None:
    found = records.ask_records(question, table) or ask_table(question, table)
    sure = found is not None and found.score >= surest
    if ask is None or sure or wording_of(question).operation == "lookup":
        return found
    return ask_formula(question, table, ask) or found


def asking(name: str) -> Ask:
    given: dict[str, Any] = {"model": name}
    if Path(name).is_file():
        given = {"model": "llama:file", "llama_model": name, "llama_threads": 1, "model_timeout": SECONDS}
    settings = Settings(**given, max_tokens=60)
    model = make_chat_model(settings.model, settings)

    def ask(system: str, user: str) -> str:
        request = build_request((Message("system", system), Message("user", user)), settings)
        return complete(model, request, deadline=Deadline(SECONDS)).text

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--split", default="dev", choices=("dev", "train"))
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--most", type=int, default=100_000)
    parser.add_argument("--show", type=int, default=0, help="print so many that went wrong")
    parser.add_argument("--surest", type=float, default=0.8)
    parser.add_argument("--model", help="writes formulas: provider:model, or a file")
    options = parser.parse_args()
    ask = asking(options.model) if options.model else None
    print(
        "| set | kind | questions | right | answered surely | right of these |\n| --- | --- | --- | --- | --- | --- |"
    )
    for name in (options.only,) if options.only else SETS:
        folder = DATA / "training" / name
        tables = {line["id"]: tables_in(as_text(line["table"])) for line in lines(folder / "tables.jsonl.gz")}
        rows: dict[str, list[tuple[bool, bool]]] = defaultdict(list)
        questions = [line for line in lines(folder / "questions.jsonl.gz") if line["split"] == options.split]
        shown = 0
        for line in evenly(questions, options.most):
            kind = line.get("answer_type") or "any"
            if line.get("answer_from") == "text":
                kind = "in the text"
            found = [
                one
                for table in tables[line["table_id"]]
                if (one := asked(line["question"], table, ask, options.surest))
            ]
            answer = max(found, key=lambda each: each.score, default=None)
            good = answer is not None and right(answer, line["answers"])
            sure = answer is not None and answer.score >= options.surest
            rows[kind].append((good, sure))
            rows["all"].append((good, sure))
            if not good and shown < options.show and kind != "in the text":
                shown += 1
                said = answer and (answer.text, answer.formula, round(answer.score, 2))
                wanted = f"{line['answers']} {line.get('derivation') or ''}"
                print(f"{line['question']}\n    wanted {wanted}; said {said}")
        for kind, each in sorted(rows.items()):
            sure = [good for good, surely in each if surely]
            all_right, sure_right = sum(good for good, _ in each) / len(each), sum(sure) / max(1, len(sure))
            print(f"| {name} | {kind} | {len(each)} | {all_right:.3f} | {len(sure)} | {sure_right:.3f} |")


if __name__ == "__main__":
    main()
