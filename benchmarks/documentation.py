"""Answers over real documentation, judged by the quotes that answer.

    python benchmarks/documentation.py --libraries FOLDER [--json] SET…

Each set is a folder with `pages/` and `questions.jsonl`, as `training/documentation.py` makes it. A question's answer
is `right` if it cites at least half of the characters of its quotes or has three quarters of their words, `partly`
from a tenth, else `beside`; `passages, there` if passages are shown instead and one of them is of the quotes. `first`
is the share whose first footnote is in the quotes; `in vain` the share of questions that no page answers with an
answer.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from footnotes.library import Library
from footnotes.testing.pages import kept_library, page_questions, page_texts
from footnotes.types import Answer

MOST_CITED, MOST_WORDS, SOME = 0.5, 0.75, 0.1
_WORD = re.compile(r"\w{2,}")


def ask(library: Library, home: Path) -> Iterator[dict[str, Any]]:
    texts = page_texts(library)
    for asked in page_questions(home, texts):
        answer = library.ask(asked.question)
        bounds = [places[0] for places in asked.places]
        quotes = [texts[asked.page][start:end] for start, end in bounds]
        yield {
            "question": asked.question,
            "kind": asked.kind,
            "page": asked.page,
            "evidence": quotes,
            "set": home.name,
            "result": answer.kind,
            "text": answer.answer,
            "from": [citation.filename for citation in answer.citations],
            "judged": judge(answer, asked.page, quotes, bounds),
            "first": _cites(answer, 1, asked.page, bounds) > 0,
        }


def judge(answer: Answer, page: str, quotes: Sequence[str], bounds: Sequence[tuple[int, int]]) -> str:
    """What became of a question."""
    if answer.kind == "nothing":
        return "nothing"
    cited = _cites(answer, len(answer.citations), page, bounds)
    if answer.kind == "passages":
        return "passages, there" if cited else "passages"
    if not bounds:
        return "in vain"
    wanted = set(_WORD.findall(" ".join(quotes).lower()))
    said = len(wanted & set(_WORD.findall(answer.answer.lower()))) / max(1, len(wanted))
    whole = sum(end - start for start, end in bounds)
    if cited >= MOST_CITED * whole or said >= MOST_WORDS:
        return "right"
    return "partly" if cited >= SOME * whole else "beside"


def _cites(answer: Answer, most: int, page: str, bounds: Sequence[tuple[int, int]]) -> int:
    """How many characters of the quotes the first footnotes cite."""
    cited: set[int] = set()
    for citation in answer.citations[:most]:
        if citation.filename == page:
            for start, end in bounds:
                cited |= set(range(max(start, citation.start), min(end, citation.end)))
    return len(cited)


def show(name: str, results: Sequence[dict[str, Any]]) -> None:
    there = [each for each in results if each["evidence"]]
    gone = [each for each in results if not each["evidence"]]
    counts = Counter(each["judged"] for each in there)
    shares = {kind: f"{counts[kind] / max(1, len(there)):.0%}" for kind in (
        "right", "partly", "beside", "passages, there", "passages", "nothing"
    )}  # fmt: skip
    first = sum(each["first"] for each in there) / max(1, len(there))
    vain = sum(each["judged"] == "in vain" for each in gone) / max(1, len(gone))
    length = sum(len(each["text"]) for each in there if each["result"] == "answer") / max(
        1, sum(each["result"] == "answer" for each in there)
    )
    print(
        f"| {name} | {len(there)} | "
        + " | ".join(shares.values())
        + f" | {first:.0%} | {vain:.0%} of {len(gone)} | {length:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", type=Path, nargs="+")
    parser.add_argument("--libraries", type=Path, required=True, help="where the libraries are kept")
    parser.add_argument("--json", type=Path, help="a file for one line of JSON a question")
    options = parser.parse_args()
    print(
        "| set | there | right | partly | beside | passages, there | passages | nothing | first | in vain | length |\n"
        "|" + " --- |" * 11
    )
    results: list[dict[str, Any]] = []
    for home in options.sets:
        with kept_library(options.libraries / home.name, home / "pages") as library:
            mine = list(ask(library, home))
        show(home.name, mine)
        results += mine
    for kind in sorted({each["kind"] for each in results if each["evidence"]}):
        show(kind, [each for each in results if each["kind"] == kind])
    show("all", results)
    if options.json:
        options.json.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in results))


if __name__ == "__main__":
    main()
