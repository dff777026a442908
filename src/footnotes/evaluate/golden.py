"""Questions with expected results. Read from JSON Lines, CSV or a BEIR folder; written as JSON Lines.

A line of JSON has `question`, and any of `id`, `documents` (names or ids, or a mapping to grades), `passages`
(expected texts), `spans` (`document`, `start`, `end`), `answer`, `answerable` (false: no document supports one).
A CSV has the same columns; `|` separates several documents or passages. Names of other tools are accepted too:
`query` for the question, `expected_doc_ids` for the documents, `expected_answer` for the answer.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from footnotes.errors import GoldenError
from footnotes.evaluate.metrics import Span
from footnotes.library import Library
from footnotes.types import Document, KeptTurn

_SEPARATOR = "|"
_OTHER_NAMES = {"query": "question", "expected_doc_ids": "documents", "expected_answer": "answer"}
"""Names of our fields in other tools."""
_LONGEST_PASSAGE = 2_000


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


# ── turns ratings of answers into questions of a golden set ───────────────────────────────────────────────────


def questions_of_ratings(library: Library) -> Iterator[Question]:
    """Build questions from ratings. Quotes of a good answer are expected results. A bad one has only its question.

    The ids of the latter begin with `down-`: the editor of the set adds the expected results.
    """
    names = {document.id: document.filename for document in library.documents()}
    for place, turn in enumerate(_rated_turns(library), start=1):
        if turn.rating == "down":
            yield Question(f"down-{place}", turn.question)
        elif turn.answer is not None:
            yield _good(f"up-{place}", turn, names)


def _rated_turns(library: Library) -> list[KeptTurn]:
    """Return the rated turns, oldest first."""
    stored, user = library.conversations, library.settings.user
    found = [turn for one in stored.all(user, limit=2**31 - 1) for turn in stored.turns(user, one.id) if turn.rating]
    return sorted(found, key=lambda turn: turn.created_at)


def _good(name: str, turn: KeptTurn, names: dict[str, str]) -> Question:
    answer: Any = turn.answer
    quoted = [one for one in answer["citations"] if one["document_id"] in names]
    documents = dict.fromkeys((names[one["document_id"]] for one in quoted), 1)
    passages = tuple(dict.fromkeys(one["quote"] for one in quoted))
    return Question(name, turn.question, documents, passages, answer=turn.text, answerable=not answer["abstained"])


# ── resolves documents and passages of a golden set to ids and spans of a library ─────────────────────────────


class Names:
    """Finds documents by file name, with or without its suffix, by path or by id, because people use all of them."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._texts: dict[str, str] = {}

    @cached_property
    def _ids(self) -> dict[str, str]:
        documents = self._library.documents()
        found: dict[str, str] = {}
        for names in zip(*(_names(document) for document in documents), strict=True):
            for name, document in zip(names, documents, strict=True):
                found.setdefault(name, document.id)
        return found

    def grades(self, question: Question) -> dict[str, int]:
        """Return judgements by document id. A document missing in the library stays, and counts as not found."""
        return {self._ids.get(name, name): grade for name, grade in question.documents.items()}

    def spans(self, question: Question) -> tuple[Span, ...]:
        """Return the expected spans, with passages looked up in the text."""
        spans = [(self._id(document), start, end) for document, start, end in question.spans]
        ids = [identity for identity in self.grades(question) if identity in set(self._ids.values())]
        return (*spans, *(self._locate(passage, ids) for passage in question.passages))

    def _id(self, name: str) -> str:
        return self._ids.get(name, name)

    def _locate(self, passage: str, ids: list[str]) -> Span:
        """Find a passage, ignoring white space."""
        words = passage[:_LONGEST_PASSAGE].split()
        pattern = re.compile(r"\s+".join(map(re.escape, words)))
        for identity in ids or sorted(set(self._ids.values())):
            if words and (found := pattern.search(self._text(identity))):
                return identity, found.start(), found.end()
        beginning = " ".join(words)[:60]
        raise GoldenError(
            f"the passage {beginning!r} is in no document of the library",
            remedy="Correct the golden set or add the document.",
        )

    def _text(self, identity: str) -> str:
        if identity not in self._texts:
            self._texts[identity] = self._library.text(identity)
        return self._texts[identity]


def _names(document: Document) -> tuple[str, ...]:
    """Return the possible names of a document, the most reliable first."""
    return document.id, document.source, document.filename, document.filename.rpartition(".")[0]
