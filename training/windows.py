"""Writes what the chooser would read for each question of a set: the windows that the engine itself finds.

    python training/windows.py --out windows.jsonl.gz --libraries FOLDER [--data ../shared/data] [--pages FOLDER…] [--sets squad11_a…]

Each line is a question with its windows, best first, and which of their sentences answer. A window that the engine
misses is added, so that every question that the documents answer has one that does. A set of pages has `pages/` and
`questions.jsonl`, whose evidence are fingerprints of quotes; see `documentation.py`. The libraries are kept, for the next time.
"""

from __future__ import annotations

import argparse
import gzip
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from data import lines

from footnotes.answer.candidates import candidates_of
from footnotes.answer.extractive import SENTENCE
from footnotes.answer.passages import Passage, passages_of, spans_in
from footnotes.answer.questions import without_pointers
from footnotes.answer.terms import read_question
from footnotes.answer.windows import cut_window, texts_of, title_of, windows_around
from footnotes.library import Library
from footnotes.testing.hits import make_hit
from footnotes.testing.pages import kept_library, page_questions, page_texts
from footnotes.text.sentences import sentence_spans

SEED = 20
MOST, PASSAGES = 7, 20
"""Windows of a question, and chunks they are cut from."""
WANTED = {
    "squad11_a": 5000, "squad2_half": 5000, "nq_gold_passage": 4000, "clapnq": 284, "policyqa": 400, "pubmedqa": 800,
    "medquad": 400,
}  # fmt: skip
"""How many questions of each set are taken."""
ANSWERING = 2
"""The first sentences of MedQuAD's long answers that are taken to answer."""
HALF = 0.5

Span = tuple[int, int]


@dataclass(frozen=True)
class Asked:
    """A question and the spans of one document that answer it; none if nothing does."""

    question: str
    kind: str
    filename: str
    spans: tuple[Span, ...]


def from_pages(home: Path, library: Library) -> Iterator[Asked]:
    """The questions of a set of pages; of each quote every place where its page has it."""
    for each in page_questions(home, page_texts(library)):
        yield Asked(each.question, each.kind, each.page, tuple(chain.from_iterable(each.places)))


def from_data(folder: Path, name: str, documents: Path) -> list[Asked]:
    """The questions of a public set; its passages are written to a folder, each a document."""
    chance = Random(SEED)
    split = "dev" if name == "clapnq" else "train"
    if name == "medquad":
        return _medical(folder / name, documents, chance)
    asked = [line for line in lines(folder / name / "questions.jsonl.gz") if line["split"] == split]
    chance.shuffle(asked)
    texts = {line["id"]: line for line in lines(folder / name / "passages.jsonl.gz")}
    made: list[Asked] = []
    for line in asked[: WANTED[name]]:
        text = texts[line["passage_id"]]["text"].rstrip()
        spans = [tuple(span) for span in line["spans"]]
        if name == "pubmedqa":
            if not line["answerable"]:
                continue
            spans = [(len(text) + 1, len(text) + 1 + len(line["long_answer"]))]
            texts[line["passage_id"]]["text"] = f"{text} {line['long_answer']}"
        made.append(Asked(line["question"], "fact", f"{_plain(line['passage_id'])}.txt", tuple(spans)))
    homes = {texts[line["passage_id"]].get("title") or line["passage_id"] for line in asked[: WANTED[name]]}
    for key, passage in texts.items():
        if (passage.get("title") or key) in homes:  # with the other passages of its article
            (documents / f"{_plain(key)}.txt").write_text(passage["text"])
    return made


def _plain(name: str) -> str:
    return name.replace("/", "-")


def _medical(folder: Path, documents: Path, chance: Random) -> list[Asked]:
    texts = {line["_id"]: line["text"] for line in lines(folder / "corpus.jsonl.gz")}
    rows = (folder / "qrels.tsv").read_text().splitlines()[1:]
    homes = {row.split("\t")[0]: row.split("\t")[1] for row in rows}
    asked = list(lines(folder / "queries.jsonl"))
    chance.shuffle(asked)
    made = []
    for line in asked[: WANTED["medquad"]]:
        home = homes[line["_id"]]
        if 80 < len(texts[home]) < 6_000:
            question = line["text"].replace(" (are)", "").replace(" ?", "?")
            spans = tuple(sentence_spans(texts[home])[:ANSWERING])
            made.append(Asked(question, "fact", f"{_plain(home)}.txt", spans))
    for home in {each.filename for each in made} | {f"{_plain(key)}.txt" for key in chance.sample(sorted(texts), 2000)}:
        (documents / home).write_text(texts[home.removesuffix(".txt")])
    return made


class Windows:
    """Cuts the windows of questions from one library."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._view = library._store.view("local")
        self._total = max(1, self._view.chunk_count())

    def of(self, asked: Asked) -> list[dict[str, Any]]:
        question = without_pointers(asked.question)
        hits = self._library.search(question, limit=PASSAGES, per_document=PASSAGES).hits
        passages = passages_of(hits)
        read = read_question(question, passages, lambda term: self._view.document_frequency(term) / self._total)
        ranked = sorted(candidates_of(read, passages), key=lambda each: -SENTENCE.probability(each))
        windows = [self._window(asked, *window) for window in windows_around(ranked, MOST)]
        if asked.spans and not any(any(window["answers"]) for window in windows):
            windows += self._missed(asked)
        return windows

    def _window(self, asked: Asked, passage: Passage, spans: Sequence[Span]) -> dict[str, Any]:
        mine = asked.spans if passage.filename == asked.filename else ()
        return {
            "title": title_of(passage, spans[0]),
            "sentences": texts_of(passage, spans),
            "answers": [int(_answers(passage.start + start, passage.start + end, mine)) for start, end in spans],
        }

    def _missed(self, asked: Asked) -> list[dict[str, Any]]:
        """The window around the answer, cut from the passage that the library has there."""
        home = next(each for each in self._library.documents() if each.filename == asked.filename)
        start, end = asked.spans[0]
        text = self._library.text(home.id)
        begin = max(0, text.rfind("\n\n", 0, max(0, start - 400)))
        hit = make_hit(text, begin, min(len(text), end + 800), document=home.filename, title=home.title)
        (passage,) = passages_of([hit])
        spans = spans_in(passage)
        place = next((at for at, (_, last) in enumerate(spans) if passage.start + last > start), 0)
        window = self._window(asked, passage, cut_window(spans, place))
        return [{**window, "added": True}] if any(window["answers"]) else []


def _answers(start: int, end: int, spans: Sequence[Span]) -> bool:
    """Whether a sentence has most of an answer, or an answer most of the sentence."""
    return any(min(end, last) - max(start, first) >= HALF * min(end - start, last - first) for first, last in spans)


def mined(name: str, library: Library, asked: Sequence[Asked]) -> Iterator[dict[str, Any]]:
    windows = Windows(library)
    began, found = time.time(), 0
    for each in asked:
        cut = windows.of(each)
        found += any(any(window["answers"]) and "added" not in window for window in cut)
        yield {"set": name, "question": each.question, "kind": each.kind, "windows": cut}
    there = sum(bool(each.spans) for each in asked)
    print(f"{name}: {found} of {there} in a window, {len(asked)} asked, {time.time() - began:.0f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--libraries", type=Path, required=True)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--pages", type=Path, nargs="*", default=[])
    parser.add_argument("--sets", nargs="*", default=[], choices=tuple(WANTED))
    options = parser.parse_args()
    with gzip.open(options.out, "wt", encoding="utf-8") as out:
        for name, home in [*((each.name, each) for each in options.pages), *((each, None) for each in options.sets)]:
            folder = options.libraries / name
            documents = home / "pages" if home else options.libraries / f"{name}-documents"
            documents.mkdir(parents=True, exist_ok=True)
            asked = [] if home else from_data(options.data / "training", name, documents)
            with kept_library(folder, documents) as library:
                asked = list(from_pages(home, library)) if home else asked
                for line in mined(name, library, asked):
                    out.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
