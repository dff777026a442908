"""Analysts' questions over annual reports and releases as PDFs: is the evidence found, and what is answered?

    python benchmarks/filings.py [--set sec_10q --part even] [--library FOLDER] [--passages N] [--show]

The reports and questions are FinanceBench's; each question names the pages that hold its evidence. With
`--set sec_10q` they are quarterly reports of Apple, Amazon and Nvidia, whose questions name the documents alone; the
questions in even places were read while the rules were written, those in odd places are for measuring. Counted are
the questions with such a page (document) among the passages, the kinds of the results, and those answers that have
the figure or half of the words of the expected one, which is a hint and no judgement: `--show` prints all to be read.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from labelled import DATA
from pages import said

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Answer, Hit

FINANCEBENCH, SEC_10Q = DATA / "pdf" / "financebench", DATA / "training" / "sec_10q"
ENOUGH = 0.5
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


@dataclass(frozen=True)
class Asked:
    """A question with its expected answer, the documents that hold it and, where they are known, the pages."""

    question: str
    answer: str
    documents: frozenset[str]
    pages: frozenset[int] | None = None


def load_questions(name: str, part: str) -> list[Asked]:
    if name == "financebench":
        lines = [json.loads(line) for line in (FINANCEBENCH / "questions.jsonl").read_text().splitlines()]
        asked = [
            Asked(
                line["question"],
                line["answer"],
                frozenset((f"{line['doc_name']}.pdf",)),
                frozenset(evidence["evidence_page_num"] for evidence in line["evidence"]),
            )
            for line in lines
        ]
    else:
        with gzip.open(SEC_10Q / "questions.jsonl.gz", "rt") as file:
            lines = [json.loads(line) for line in file]
        asked = [Asked(line["question"], line["answers"][0], frozenset(line["pdfs"])) for line in lines]
    return asked[{"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}[part]]


def pages_of(hit: Hit) -> range:
    """The pages of a hit, counted from 0 as the set does."""
    return range(hit.pages[0] - 1, hit.pages[1]) if hit.pages else range(0)


def has_evidence(answer: Answer, asked: Asked) -> bool:
    return any(
        hit.filename in asked.documents and (asked.pages is None or asked.pages & set(pages_of(hit)))
        for hit in answer.hits
    )


def says(answer: str, wanted: str) -> bool:
    """Whether an answer has the first figure of the expected one, or half of its words where that has none."""
    number = _NUMBER.search(wanted)
    if number is None:
        return said(answer, wanted) >= ENOUGH
    digits = number[0].replace(",", "").removesuffix(".00")
    return digits in answer.replace(",", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", choices=("financebench", "sec_10q"), default="financebench")
    parser.add_argument("--part", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--library", type=Path, help="a library that holds the reports already, or is to hold them")
    parser.add_argument("--embedder", default=Settings().embedder)
    parser.add_argument("--passages", type=int, default=None)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lines = load_questions(options.set, options.part)
    found, right, kinds = 0, 0, Counter[str]()
    settings = Settings(embedder=options.embedder)
    with (
        tempfile.TemporaryDirectory() as folder,
        Library(options.library or Path(folder), settings=settings) as library,
    ):
        if not library.documents():
            library.add({"financebench": FINANCEBENCH, "sec_10q": SEC_10Q}[options.set] / "pdfs")
            library.settle()
        for line in lines:
            answer = library.ask(line.question, passages=options.passages)
            evidence, hint = has_evidence(answer, line), not answer.abstained and says(answer.answer, line.answer)
            found, right = found + evidence, right + hint
            kinds[answer.kind] += 1
            if options.show:
                print(f"## {', '.join(sorted(line.documents))}: {line.question}\nexpected: {line.answer}")
                print(f"evidence {'found' if evidence else 'not found'}, {answer.kind}\n\n{answer.answer}\n")
    print(
        f"{len(lines)} questions, evidence page among the passages {found}, "
        f"answers with the figure {right}, {dict(kinds)}"
    )


if __name__ == "__main__":
    main()
