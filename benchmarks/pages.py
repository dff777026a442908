"""Questions about a real documentation tree, as people ask them: every answer beside what it must say, to be read.

    python benchmarks/pages.py [--model MODEL] [--library FOLDER] [--json]

The pages are FastAPI's. Counted by itself are the kinds of the results, how many questions that the pages do not answer
got an answer all the same, and how many words of what a right answer must say stand in the answer, which is a hint and
no judgement.
"""

from __future__ import annotations

import argparse
import json
import re
import tempfile
import time
from collections import Counter
from pathlib import Path

from labelled import DATA

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Turn


def said(answer: str, wanted: str) -> float:
    """The share of the words that must be said that are."""
    words = [word for word in re.findall(r"[\w.]{3,}", wanted.lower()) if not word.isspace()]
    return sum(word.strip(".") in answer.lower() for word in words) / max(1, len(words))


def ask(library: Library, line: dict[str, object], model: str | None) -> dict[str, object]:
    history = line["history"] or []
    turns = [Turn(role, text) for role, text in history]  # type: ignore[attr-defined]
    began = time.perf_counter()
    answer = library.ask(str(line["question"]), history=turns, **({"model": model} if model else {}))
    return {
        **line,
        "result": answer.kind,
        "answer": answer.answer,
        "from": [citation.filename for citation in answer.citations],
        "said": round(said(answer.answer, str(line["answer_says"])), 2),
        "ms": round((time.perf_counter() - began) * 1000),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="provider:model; without it answers are extractive")
    parser.add_argument("--library", type=Path, help="a library that holds the pages already, or is to hold them")
    parser.add_argument("--json", action="store_true", help="one line of JSON a question")
    options = parser.parse_args()
    lines = [json.loads(line) for line in (DATA / "questions" / "fastapi.jsonl").read_text().splitlines()]
    with (
        tempfile.TemporaryDirectory() as folder,
        Library(options.library or Path(folder), settings=Settings()) as library,
    ):
        if not library.documents():
            library.add(DATA / "markdown" / "fastapi")
            library.settle()
        results = [ask(library, line, options.model) for line in lines]
    for result in results:
        if options.json:
            print(json.dumps(result, ensure_ascii=False))
        else:
            print(f"## {result['question']} ({result['kind']})\nmust say: {result['answer_says']}")
            print(
                f"{result['result']}, {result['said']:.0%} of the words, from {result['from']}\n\n{result['answer']}\n"
            )
    there = [result for result in results if result["answerable"]]
    gone = [result for result in results if not result["answerable"]]
    print(f"answerable: {dict(Counter(str(each['result']) for each in there))}, not there: ", end="")
    print(dict(Counter(str(each["result"]) for each in gone)))


if __name__ == "__main__":
    main()
