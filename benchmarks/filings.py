"""Analysts' questions over annual reports and releases as PDFs: is the evidence found, and what is answered?

    python benchmarks/filings.py [--library FOLDER] [--embedder hashing] [--passages N] [--show]

The reports and questions are FinanceBench's; each question names the pages that hold its evidence. Counted are the
questions with such a page among the passages, the kinds of the results, and those answers that have the figure or
half of the words of the expected one, which is a hint and no judgement: `--show` prints all to be read. Measured and
never trained on; the rules for reports were written while reading these questions.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
from collections import Counter
from pathlib import Path

from labelled import DATA
from pages import said

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Answer, Hit

FOLDER = DATA / "pdf" / "financebench"
ENOUGH = 0.5
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")


def pages_of(hit: Hit) -> range:
    """The pages of a hit, counted from 0 as the set does."""
    return range(hit.pages[0] - 1, hit.pages[1]) if hit.pages else range(0)


def has_evidence(answer: Answer, line: dict[str, object]) -> bool:
    pages = {evidence["evidence_page_num"] for evidence in line["evidence"]}  # type: ignore[attr-defined]
    return any(hit.filename.startswith(f"{line['doc_name']}.") and pages & set(pages_of(hit)) for hit in answer.hits)


def says(answer: str, wanted: str) -> bool:
    """Whether an answer has the first figure of the expected one, or half of its words where that has none."""
    number = _NUMBER.search(wanted)
    if number is None:
        return said(answer, wanted) >= ENOUGH
    digits = number[0].replace(",", "").removesuffix(".00")
    return digits in answer.replace(",", "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", type=Path, help="a library that holds the reports already, or is to hold them")
    parser.add_argument("--embedder", default=Settings().embedder)
    parser.add_argument("--passages", type=int, default=None)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    lines = [json.loads(line) for line in (FOLDER / "questions.jsonl").read_text().splitlines()]
    found, right, kinds = 0, 0, Counter[str]()
    settings = Settings(embedder=options.embedder)
    with (
        tempfile.TemporaryDirectory() as folder,
        Library(options.library or Path(folder), settings=settings) as library,
    ):
        if not library.documents():
            library.add(FOLDER / "pdfs")
            library.settle()
        for line in lines:
            answer = library.ask(line["question"], passages=options.passages)
            evidence, hint = has_evidence(answer, line), not answer.abstained and says(answer.answer, line["answer"])
            found, right = found + evidence, right + hint
            kinds[answer.kind] += 1
            if options.show:
                print(f"## {line['doc_name']}: {line['question']}\nexpected: {line['answer']}")
                print(f"evidence {'found' if evidence else 'not found'}, {answer.kind}\n\n{answer.answer}\n")
    print(
        f"{len(lines)} questions, evidence page among the passages {found}, "
        f"answers with the figure {right}, {dict(kinds)}"
    )


if __name__ == "__main__":
    main()
