"""Questions on chats and conversations as people export them: is the answer said, with who said it, and only there?

    python benchmarks/chats.py [--part even] [--embedder hashing] [--show]

The chats in `tests/chats` are of our own making, as WhatsApp, Slack, Discord, Teams, ChatGPT and others write them,
with the questions in `questions.json`, some of which nobody there answers. An answer is right when its first sentence
has words that were written down for it, and the answer all of them; a question without an answer when it gets none.
Questions in even places were read while the rules were written, those in odd places are for measuring.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections import Counter
from pathlib import Path

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Answer

CHATS = Path(__file__).resolve().parent.parent / "tests" / "chats"


def says(text: str, wanted: str) -> bool:
    return any(each.casefold() in text.casefold() for each in wanted.split("|"))


def judged(answer: Answer, line: dict[str, object]) -> str:
    """`right` where the first sentence has it, `wrong` where it says something else, `passages` where it says nothing.

    Where there is no answer: `abstains` or `made up`.
    """
    wanted: list[str] | None = line["says"]  # type: ignore[assignment]
    if wanted is None:
        return "abstains" if answer.abstained else "made up"
    if answer.abstained:
        return "passages"
    if not all(says(answer.answer, each) for each in wanted):
        return "wrong"
    first = answer.answer[: answer.citations[0].answer_span[1]]
    return "right" if any(says(first, each) for each in wanted) else "right, but further on"


def names_speaker(answer: Answer, line: dict[str, object]) -> bool:
    return says(answer.answer, str(line.get("who", "")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embedder", default=Settings().embedder)
    parser.add_argument("--part", choices=("all", "even", "odd"), default="all")
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    places = {"all": slice(None), "even": slice(0, None, 2), "odd": slice(1, None, 2)}
    lines = json.loads((CHATS / "questions.json").read_text())[places[options.part]]
    counts, named = Counter[str](), 0
    settings = Settings(embedder=options.embedder)
    with tempfile.TemporaryDirectory() as folder, Library(Path(folder), settings=settings) as library:
        for path in sorted(CHATS.iterdir()):
            if path.name != "questions.json":
                library.add(path)
        library.settle()
        for line in lines:
            answer = library.ask(line["question"])
            found = judged(answer, line)
            counts[found] += 1
            named += found == "right" and names_speaker(answer, line)
            if options.show:
                print(f"## {line['file']}: {line['question']}\nexpected: {line['says']} by {line.get('who', 'nobody')}")
                print(f"{found}, {answer.kind}\n\n{answer.answer}\n")
    print(f"{len(lines)} questions, {dict(counts)}, {named} of the right ones with who says it")


if __name__ == "__main__":
    main()
