"""Questions with the spans that answer them, from the real data beside the project.

SQuAD's held-back articles are for fitting; XQuAD and the chunking corpora for measuring alone.
"""

from __future__ import annotations

import csv
import gzip
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TypeVar

from footnotes.testing.pages import page_questions

_FOLDERS = (parent / "shared" / "data" for parent in Path(__file__).resolve().parents)
DATA = next((folder for folder in _FOLDERS if folder.is_dir()), Path("shared/data"))
T = TypeVar("T")


@dataclass(frozen=True)
class Source:
    """A document of the labelled set."""

    name: str
    text: str


@dataclass(frozen=True)
class Case:
    """A question and the spans of one document that answer it. `group` keeps related questions in one half."""

    question: str
    source: str
    spans: tuple[tuple[int, int], ...]
    group: str


def xquad(language: str = "en", data: Path = DATA) -> tuple[list[Source], list[Case]]:
    """Every paragraph a document, every question a case. Groups are the articles."""
    articles = json.loads((data / "qa" / "xquad" / f"xquad.{language}.json").read_text())["data"]
    sources, cases = [], []
    for number, article in enumerate(articles):
        for index, paragraph in enumerate(article["paragraphs"]):
            name = f"article-{number:02}-{index}.txt"
            sources.append(Source(name, paragraph["context"]))
            cases.extend(_xquad_case(question, name, f"xquad-{number}") for question in paragraph["qas"])
    return sources, cases


def _xquad_case(question: dict[str, object], source: str, group: str) -> Case:
    answers: list[dict[str, object]] = question["answers"]  # type: ignore[assignment]
    spans = tuple((int(a["answer_start"]), int(a["answer_start"]) + len(str(a["text"]))) for a in answers)  # type: ignore[call-overload]
    return Case(str(question["question"]), source, spans, group)


def squad(data: Path = DATA, *, long: bool = False) -> tuple[list[Source], list[Case]]:
    """The articles of SQuAD that the chooser was not trained on, every paragraph a document, or every article one."""
    sources: list[Source] = []
    cases: list[Case] = []
    for name in ("squad11_a", "squad2_half"):
        folder = data / "training" / name
        with gzip.open(folder / "questions.jsonl.gz", "rt", encoding="utf-8") as lines:
            asked = [line for line in map(json.loads, lines) if line["split"] == "dev" and line["answerable"]]
        wanted = {line["passage_id"] for line in asked}
        with gzip.open(folder / "passages.jsonl.gz", "rt", encoding="utf-8") as lines:
            found = {line["id"]: line for line in map(json.loads, lines) if line["id"] in wanted}
        texts: dict[str, str] = {}
        places: dict[str, tuple[str, int]] = {}
        for key, line in found.items():
            source = str(line["title"]).replace("/", "-") if long else str(key)
            before = texts.get(f"{source}.txt", "")
            texts[f"{source}.txt"] = f"{before}\n\n{line['text']}".lstrip("\n") if before else line["text"]
            places[key] = (f"{source}.txt", len(texts[f"{source}.txt"]) - len(line["text"]))
        sources += [Source(source, text) for source, text in texts.items()]
        for line in asked:
            source, at = places[line["passage_id"]]
            spans = tuple((at + start, at + end) for start, end in line["spans"])
            title = found[line["passage_id"]]["title"]
            cases.append(Case(line["question"], source, spans, f"{'long' if long else 'xquad'}-{title}"))
    return sources, cases


def chunking(data: Path = DATA) -> tuple[list[Source], list[Case]]:
    """The five corpora, each one document; a question may need several spans."""
    folder = data / "chunking"
    sources = [Source(path.name, path.read_text()) for path in sorted((folder / "corpora").glob("*.md"))]
    with (folder / "questions_df.csv").open(newline="") as file:
        return sources, list(_chunking_cases(csv.DictReader(file)))


def _chunking_cases(rows: csv.DictReader[str]) -> Iterator[Case]:
    for number, row in enumerate(rows):
        references = json.loads(row["references"])
        spans = tuple((reference["start_index"], reference["end_index"]) for reference in references)
        yield Case(row["question"], row["corpus_id"] + ".md", spans, f"{row['corpus_id']}-{number // 5}")


def documentation(home: Path, texts: dict[str, str]) -> list[Case]:
    """The questions of a set of pages, with every place of their quotes; those that no page answers have none."""
    return [
        Case(each.question, each.page, tuple(chain.from_iterable(each.places)), home.name)
        for each in page_questions(home, texts)
    ]


def halves_of(items: Sequence[T], group: Callable[[T], str]) -> tuple[list[T], list[T]]:
    """Every second group, and the others: one half to choose by, one to measure on."""
    chosen = set(sorted({group(item) for item in items})[::2])
    return [item for item in items if group(item) in chosen], [item for item in items if group(item) not in chosen]
