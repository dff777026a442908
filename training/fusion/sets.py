"""Questions with the documents that answer them, from `../shared/data`: the sets the fusion learns from and is measured on.

Every set is written as files and a golden set. What may not be trained on is measured on only: sets for research
use, sets whose licence is not stated, and `retrieval`, `chunking` and `qa`, which are for measuring.
"""

from __future__ import annotations

import ast
import gzip
import inspect
import json
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from footnotes.evaluate.golden import Question, read_golden, write_golden

MOST_QUESTIONS, MOST_CHARACTERS = 300, 700_000
"""Of each set: so much that finding is not easy, and so little that all of them are embedded within an hour."""
FOR_ANSWERS = 0.7
"""The share of the characters that documents which answer may take."""


@dataclass(frozen=True, slots=True)
class Text:
    """A document before it is a file."""

    id: str
    title: str
    text: str
    suffix: str = ".md"

    @property
    def content(self) -> str:
        title = " ".join(self.title.split())
        return (f"# {title}\n\n{self.text}" if title else self.text) or " "


Made = tuple[list[Text], list[tuple[str, set[str]]]]
"""Documents, and questions with the ids of those that answer."""


def rows(path: Path) -> Iterator[dict[str, Any]]:
    content = path.read_bytes()
    text = (gzip.decompress(content) if path.suffix == ".gz" else content).decode("utf-8")
    yield from map(json.loads, filter(None, text.split("\n")))


def passages(data: Path, name: str) -> Made:
    """Questions about passages; the same question about several passages has several answers."""
    folder = data / "training" / name
    texts = [Text(row["id"], row["title"], row["text"]) for row in rows(folder / "passages.jsonl.gz")]
    answers: dict[str, set[str]] = {}
    for row in rows(folder / "questions.jsonl.gz"):
        if row["answerable"] or name == "pubmedqa":
            answers.setdefault(row["question"], set()).add(row["passage_id"])
    return texts, list(answers.items())


def tables(data: Path, name: str) -> Made:
    """Questions that several linked passages answer."""
    folder = data / "training" / name
    texts = [Text(row["id"], row["title"], row["text"]) for row in rows(folder / "passages.jsonl.gz")]
    known = {text.id for text in texts}
    asked = [
        (row["question"], set(row.get("passage_ids") or ()) & known) for row in rows(folder / "questions.jsonl.gz")
    ]
    return texts, [(question, found) for question, found in asked if found]


def filings(data: Path, name: str) -> Made:
    """Questions about a table and the paragraphs around it, as one document."""
    folder = data / "training" / name
    texts = []
    for row in rows(folder / "tables.jsonl.gz"):
        table = "\n".join("| " + " | ".join(cells) + " |" for cells in row["table"])
        around = [_joined(row["text_before"]), table, _joined(row["text_after"])]
        texts.append(Text(row["id"], "", "\n\n".join(part for part in around if part)))
    answers: dict[str, set[str]] = {}
    for row in rows(folder / "questions.jsonl.gz"):
        answers.setdefault(row["question"], set()).add(row["table_id"])
    return texts, [(question, found) for question, found in answers.items() if len(found) == 1]


def _joined(text: Any) -> str:
    return "\n".join(text) if isinstance(text, list) else str(text or "")


def relevance(data: Path, name: str, suffix: str = ".md", where: str = "training") -> Made:
    """A set in the form of BEIR."""
    folder = data / where / name
    path = next(folder / each for each in ("corpus.jsonl.gz", "corpus.jsonl") if (folder / each).is_file())
    texts = [Text(row["_id"], row.get("title") or "", row["text"], suffix) for row in rows(path)]
    asked = [(q.text, {d for d, grade in q.documents.items() if grade > 0}) for q in read_golden(folder)]
    return texts, asked


def claims(data: Path, name: str) -> Made:
    """Claims with the evidence that supports or denies them. A yes/no question is asked without its "Yes."."""
    ids: dict[str, str] = {}
    answers: dict[str, set[str]] = {}
    for row in rows(data / "entailment" / f"{name}.jsonl.gz"):
        key = ids.setdefault(row["premise"], f"{name}-{len(ids)}")
        if row["label"] != "unsupported":
            answers.setdefault(row["claim"].removesuffix(" Yes."), set()).add(key)
    return [Text(key, "", premise) for premise, key in ids.items()], list(answers.items())


def standard_library(data: Path) -> Made:
    """Functions of Python's own library without their docstring; the docstring's first line asks for them."""
    texts: list[Text] = []
    asked: list[tuple[str, set[str]]] = []
    for module in sorted(pkgutil.iter_modules([str(Path(inspect.__file__).parent)]), key=lambda each: each.name):
        path = Path(inspect.__file__).parent / f"{module.name}.py"
        if not path.is_file():
            continue
        source = path.read_text(encoding="utf-8", errors="replace")
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.FunctionDef) and (said := ast.get_docstring(node)) and len(node.body) > 1:
                first = node.body[0]
                lines = source.splitlines()
                code = "\n".join(
                    [*lines[node.lineno - 1 : first.lineno - 1], *lines[first.end_lineno or 0 : node.end_lineno]]
                )
                question = said.split("\n\n")[0].replace("\n", " ")
                if 15 < len(question) < 200 and 80 < len(code) < 3_000 and node.name.strip("_") not in question:
                    key = f"{module.name}-{node.name}-{node.lineno}"
                    texts.append(Text(key, "", inspect.cleandoc("\n" + code), ".py"))
                    asked.append((question, {key}))
    return texts, asked


def xquad(data: Path, language: str) -> Made:
    texts, asked = [], []
    for article in json.loads((data / "qa" / "xquad" / f"xquad.{language}.json").read_text("utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            key = f"p{len(texts)}"
            texts.append(Text(key, "", paragraph["context"], ".txt"))
            asked += [(each["question"], {key}) for each in paragraph["qas"]]
    return texts, asked


Maker = Callable[[Path], Made]

LEARNT: dict[str, Maker] = {
    "squad11_a": lambda data: passages(data, "squad11_a"),
    "squad11_b": lambda data: passages(data, "squad11_b"),
    "nq": lambda data: passages(data, "nq_gold_passage"),
    "policyqa": lambda data: passages(data, "policyqa"),
    "pubmedqa": lambda data: passages(data, "pubmedqa"),
    "clapnq": lambda data: passages(data, "clapnq"),
    "qnli": lambda data: relevance(data, "qnli_dev"),
    "medquad": lambda data: relevance(data, "medquad"),
    "ottqa": lambda data: tables(data, "ottqa"),
    "tatqa": lambda data: filings(data, "tatqa"),
    "citations": lambda data: claims(data, "citation_integrity"),
    "fever": lambda data: claims(data, "fever_dev"),
    "boolq": lambda data: claims(data, "boolq_dev"),
    "cosqa_dev": lambda data: relevance(data, "cosqa_dev_pairs", ".py"),
    "stdlib": standard_library,
}
"""Sets whose licence allows weights that ship."""

MEASURED: dict[str, Maker] = {
    "trecqa": lambda data: relevance(data, "trecqa_train"),
    "cisi": lambda data: relevance(data, "cisi"),
    "conala": lambda data: relevance(data, "conala", ".py"),
    "docstrings": lambda data: relevance(data, "python_docstrings", ".py"),
    "amazon": lambda data: passages(data, "squadshifts_amazon"),
    "wikiqa": lambda data: passages(data, "wikiqa"),
    "scifact": lambda data: relevance(data, "scifact", where="retrieval"),
    "nfcorpus": lambda data: relevance(data, "nfcorpus", where="retrieval"),
    "cranfield": lambda data: relevance(data, "cranfield", where="retrieval"),
    "cosqa": lambda data: relevance(data, "cosqa", ".py", where="retrieval"),
    **{f"xquad_{each}": (lambda data, each=each: xquad(data, each)) for each in ("en", "de", "zh", "ar")},
}
"""Sets that are only measured on: never learnt from."""


def write_set(name: str, data: Path, folder: Path) -> None:
    """The documents of a set as files under `documents`, its questions as `golden.jsonl`."""
    texts, asked = _sample(*(LEARNT | MEASURED)[name](data), Random(name))
    source = folder / "documents"
    source.mkdir(parents=True, exist_ok=True)
    number = {text.id: f"{at}{text.suffix}" for at, text in enumerate(texts)}
    for text in texts:
        (source / number[text.id]).write_text(text.content, encoding="utf-8")
    write_golden(
        folder / "golden.jsonl",
        [
            Question(str(at), question, {number[key]: 1 for key in sorted(found)})
            for at, (question, found) in enumerate(asked)
        ],
    )


def _sample(texts: list[Text], asked: Iterable[tuple[str, set[str]]], random: Random) -> Made:
    """The same documents and questions each time, within the sizes above."""
    size = {text.id: len(text.text) for text in texts if text.text.strip()}
    questions = [(question, found & size.keys()) for question, found in asked if question.strip()]
    random.shuffle(questions)
    kept: set[str] = set()
    if sum(len(found) for _, found in questions) < 5 * len(questions):
        for _, found in questions[:MOST_QUESTIONS]:
            if sum(map(size.__getitem__, kept | found)) <= FOR_ANSWERS * MOST_CHARACTERS:
                kept |= found
    others = sorted(size.keys() - kept)
    random.shuffle(others)
    for key in others:
        if sum(map(size.__getitem__, kept)) < MOST_CHARACTERS:
            kept.add(key)
    answered = [(question, found & kept) for question, found in questions if found & kept]
    return [text for text in texts if text.id in kept], answered[:MOST_QUESTIONS]


if __name__ == "__main__":
    shared, work = Path(sys.argv[1]), Path(sys.argv[2])
    for each in sys.argv[3:] or [*LEARNT, *MEASURED]:
        write_set(each, shared, work / each)
        files = list((work / each / "documents").iterdir())
        print(each, len(files), sum(file.stat().st_size for file in files) // len(files))
