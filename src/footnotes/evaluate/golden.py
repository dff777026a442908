"""Questions with expected results. Read from JSON Lines, CSV or a BEIR folder; written as JSON Lines.

A line of JSON has `question`, and any of `id`, `documents` (names or ids, or a mapping to grades), `passages`
(expected texts), `spans` (`document`, `start`, `end`), `answer`, `answerable` (false: no document supports one).
A CSV has the same columns; `|` separates several documents or passages. Names of other tools are accepted too:
`query` for the question, `expected_doc_ids` for the documents, `expected_answer` for the answer.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from footnotes.errors import GoldenError
from footnotes.evaluate.metrics import Span

_SEPARATOR = "|"
_OTHER_NAMES = {"query": "question", "expected_doc_ids": "documents", "expected_answer": "answer"}
"""Names of our fields in other tools."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question with the expected results. Empty fields are not judged."""

    id: str
    text: str
    documents: Mapping[str, int] = field(default_factory=dict)
    passages: tuple[str, ...] = ()
    spans: tuple[Span, ...] = ()
    answer: str = ""
    answerable: bool = True


def read_golden(path: Path) -> list[Question]:
    """Read the questions of a file or of a BEIR folder."""
    if path.is_dir():
        return list(_from_beir(path))
    if not path.is_file():
        raise GoldenError(f"there is no golden set at {path}")
    reader = _from_csv if path.suffix.lower() == ".csv" else _from_jsonl
    questions = [_question(values, f"{path.name}:{number}", number) for number, values in reader(path)]
    if not questions:
        raise GoldenError(f"{path} holds no questions")
    return questions


def write_golden(path: Path, questions: Iterable[Question]) -> int:
    """Write questions as JSON Lines, for people to edit. Returns how many."""
    lines = [json.dumps(_as_json(question), ensure_ascii=False) for question in questions]
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return len(lines)


def _from_jsonl(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        if not line.strip():
            continue
        values = _parse_json(line, f"{path.name}:{number}")
        if not isinstance(values, dict):
            raise GoldenError(f"{path.name}:{number} is not a JSON object")
        yield number, values


def _parse_json(text: str, place: str) -> object:
    try:
        return json.loads(text)
    except ValueError as error:
        raise GoldenError(f"{place} is not JSON: {error}") from error


def _from_csv(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for number, row in enumerate(csv.DictReader(file), start=2):
            values: dict[str, Any] = {_OTHER_NAMES.get(key, key): value for key, value in row.items() if key and value}
            for name in ("documents", "passages"):
                values[name] = [each.strip() for each in values.get(name, "").split(_SEPARATOR) if each.strip()]
            if "spans" in values:
                values["spans"] = _parse_json(values["spans"], f"{path.name}:{number}")
            values["answerable"] = values.get("answerable", "true").strip().lower() not in ("false", "no", "0")
            yield number, values


def _from_beir(folder: Path) -> Iterator[Question]:
    """Read `queries.jsonl` with `qrels.tsv` or `qrels/test.tsv`; only judged questions (Thakur et al., BEIR, 2021)."""
    judged = _judgements(folder)
    queries = folder / "queries.jsonl"
    if not queries.is_file():
        raise GoldenError(f"{folder} holds no queries.jsonl")
    for _, values in _from_jsonl(queries):
        identity = str(values.get("_id", ""))
        if any(grade > 0 for grade in judged.get(identity, {}).values()):
            yield Question(identity, str(values["text"]), judged[identity])


def _judgements(folder: Path) -> dict[str, dict[str, int]]:
    names = ("qrels.tsv", "qrels/test.tsv")
    path = next((folder / name for name in names if (folder / name).is_file()), None)
    if path is None:
        raise GoldenError(f"{folder} holds neither {' nor '.join(names)}")
    judged: dict[str, dict[str, int]] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        if len(fields) >= 3 and fields[-1].lstrip("-").isdigit():
            judged.setdefault(fields[0], {})[fields[-2]] = int(fields[-1])
    return judged


def _question(values: Mapping[str, Any], place: str, number: int) -> Question:
    values = {_OTHER_NAMES.get(name, name): value for name, value in values.items()}
    text = values.get("question")
    if not isinstance(text, str) or not text.strip():
        raise GoldenError(f"{place} has no question")
    try:
        return Question(
            id=str(values.get("id", number)),
            text=text,
            documents=_grades(values.get("documents", [])),
            passages=tuple(map(str, values.get("passages", []))),
            spans=tuple(map(_span, values.get("spans", []))),
            answer=str(values.get("answer", "")),
            answerable=bool(values.get("answerable", True)),
        )
    except (TypeError, KeyError, ValueError) as error:
        raise GoldenError(f"{place} has a field of the wrong shape: {error}") from error


def _span(values: Mapping[str, Any]) -> Span:
    return str(values["document"]), int(values["start"]), int(values["end"])


def _grades(documents: Any) -> dict[str, int]:
    if isinstance(documents, Mapping):
        return {str(name): int(grade) for name, grade in documents.items()}
    if isinstance(documents, str):
        documents = [documents]
    return {str(name): 1 for name in documents}


def _as_json(question: Question) -> dict[str, object]:
    graded = any(grade != 1 for grade in question.documents.values())
    values: dict[str, object] = {"id": question.id, "question": question.text}
    if question.documents:
        values["documents"] = dict(question.documents) if graded else list(question.documents)
    if question.passages:
        values["passages"] = list(question.passages)
    if question.spans:
        values["spans"] = [{"document": name, "start": start, "end": end} for name, start, end in question.spans]
    if question.answer:
        values["answer"] = question.answer
    if not question.answerable:
        values["answerable"] = False
    return values
