"""How well extractive answers answer, and how well they abstain.

    python benchmarks/answers.py [--questions 300] [--lexical] [--without-reader] [--json]
    python benchmarks/answers.py --fit [--pages SET… --libraries FOLDER]

Every question is asked twice: with its document in the library, and with the passages that answer it left out.
`answered` is the share of the first that got an answer, `held` the share of all of the first whose answer span
lies in a cited sentence, `held_first` in the first of them, `abstained` the share of the second that got none.
`--fit` fits the weights and the threshold on articles of SQuAD that the chooser was not trained on, half of the
questions with every paragraph a document, half with every article one, and on the questions of the sets of pages
given (see `documentation.py`), and prints them; XQuAD and the chunking corpora
are measured alone and never fitted to. Of the latter, which are one library, every corpus has a line: papers
(`pubmed.md`), chats (`chatlogs.md`), filings (`finance.md`), a speech, articles. What is left out there is only what is
marked as the answer: the same may be said elsewhere, so that some of what is then answered is right.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import numpy as np
from bench_library import BenchLibrary
from labelled import Case, T, chunking, documentation, squad, xquad

from footnotes.answer import extractive
from footnotes.answer.candidates import Candidate
from footnotes.answer.passages import passages_of
from footnotes.answer.reader import Reader
from footnotes.answer.terms import read_question
from footnotes.testing.pages import page_texts
from footnotes.types import Hit

FEATURES = (
    "coverage",
    "context",
    "around",
    "pairs",
    "kind",
    "relative",
    "carried",
    "cosine",
    "lead",
    "chosen",
    "window",
)
PASSAGES = 20


@dataclass(frozen=True)
class Asked:
    """One question asked once. `present`: its passages were in the library."""

    case: Case
    hits: list[Hit]
    present: bool


@dataclass(frozen=True)
class Figures:
    """The figures of one half, as shares."""

    questions: int
    retrieved: float
    answered: float
    held: float
    held_first: float
    abstained: float
    precision: float
    sentences: float
    p50_ms: float


def ask_twice(library: BenchLibrary, cases: Sequence[Case]) -> Iterator[Asked]:
    for case in cases:
        if not case.spans:  # nothing answers it
            yield Asked(case, library.search(case.question, PASSAGES), False)
            continue
        yield Asked(case, library.search(case.question, PASSAGES), True)
        left_out = [(0, 1 << 40)] if case.group.startswith("xquad") else case.spans
        yield Asked(case, library.search(case.question, PASSAGES, (case.source, left_out)), False)


def holds(case: Case, name: str, start: int, end: int) -> bool:
    """Does the sentence hold an answer span, or most of one where the span is longer than the sentence?"""
    return any(
        name == case.source and min(end, last) - max(start, first) >= 0.5 * min(end - start, last - first)
        for first, last in case.spans
    )


def measure(asked: Sequence[Asked], library: BenchLibrary, reader: Reader | None) -> Figures:
    present = [each for each in asked if each.present]
    retrieved = answered = held = first = abstained = sentences = 0
    times = []
    for each in asked:
        began = time.perf_counter()
        found = extractive.extract(each.case.question, each.hits, reader=reader, document_frequency=library.share)
        times.append((time.perf_counter() - began) * 1000)
        right = [holds(each.case, c.passage.filename, c.start, c.end) for c, _ in found.sentences]
        if each.present:
            retrieved += any(holds(each.case, hit.filename, hit.start, hit.end) for hit in each.hits)
            answered += bool(right)
            held += any(right)
            first += bool(right) and right[0]
            sentences += len(right)
        else:
            abstained += not right
    count = len(present)
    wrongly = len(asked) - count - abstained
    return Figures(
        questions=count,
        retrieved=retrieved / count,
        answered=answered / count,
        held=held / count,
        held_first=first / count,
        abstained=abstained / (len(asked) - count),
        precision=held / max(1, answered + wrongly),
        sentences=sentences / max(1, answered),
        p50_ms=float(np.median(times)),
    )


# ── fitting ──────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Best:
    """The best sentence of one question asked once: its features, and whether it was right."""

    features: list[float]
    prior: float
    right: bool
    present: bool


def features(candidate: Candidate) -> list[float]:
    return [1.0, *(float(getattr(candidate, name) or 0.0) for name in FEATURES)]


def logistic(rows: list[list[float]], priors: list[float], truth: list[bool], ridge: float = 1.0) -> extractive.Weights:
    """A logistic regression by Newton's method on top of given log odds, with a little ridge on all but the bias."""
    table, given, labels = np.array(rows), np.array(priors), np.array(truth, dtype=float)
    weights = np.zeros(table.shape[1])
    penalty = np.diag([0.0] + [ridge] * (table.shape[1] - 1)) + 1e-9 * np.eye(table.shape[1])
    for _ in range(30):
        chances = 1 / (1 + np.exp(-table @ weights - given))
        gradient = table.T @ (chances - labels) + penalty @ weights
        weights -= np.linalg.solve((table * (chances * (1 - chances))[:, None]).T @ table + penalty, gradient)
    return extractive.Weights(*(round(float(weight), 2) for weight in weights))


def ranked(each: Asked, library: BenchLibrary, reader: Reader | None) -> list[tuple[Candidate, float]]:
    passages = passages_of(each.hits)
    return extractive.rank(read_question(each.case.question, passages, library.share), passages, None, reader)


def right(each: Asked, candidate: Candidate) -> bool:
    return each.present and holds(each.case, candidate.passage.filename, candidate.start, candidate.end)


Ranked = tuple[Asked, list[tuple[Candidate, float]]]


def fit(orders: Sequence[Ranked], reader: Reader | None) -> None:
    """Fits both models and the threshold in place, and prints them as they stand in the source."""
    suffix = "_READ" if reader else ""
    rows = [(features(one), one.prior, right(each, one)) for each, order in orders if each.present for one, _ in order]
    sentence = logistic(*map(list, zip(*rows, strict=True)))
    setattr(extractive, "SENTENCE" + suffix, sentence)
    best = []
    for each, order in orders:
        if order:
            first = max((one for one, _ in order), key=sentence.probability)
            best.append(Best(features(first), first.prior, right(each, first), each.present))
    answered = logistic([each.features for each in best], [each.prior for each in best], [each.right for each in best])
    setattr(extractive, "ANSWERED" + suffix, answered)
    setattr(extractive, "THRESHOLD" + suffix, threshold(answered, best))
    for name in ("SENTENCE", "ANSWERED", "THRESHOLD"):
        print(name + suffix, "=", getattr(extractive, name + suffix))


def threshold(weights: extractive.Weights, best: Sequence[Best]) -> float:
    """The threshold that answers and abstains rightly equally often, where that is most often."""
    values = np.array([getattr(weights, name) for name in ("bias", *FEATURES)])
    given = np.array([each.prior for each in best])
    chances = 1 / (1 + np.exp(-np.array([each.features for each in best]) @ values - given))
    present = np.array([each.present for each in best])
    return float(
        max(np.linspace(0.05, 0.6, 56), key=lambda t: (chances >= t)[present].mean() + (chances < t)[~present].mean())
    )


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lexical", action="store_true", help="retrieve with the lexical leg alone")
    parser.add_argument("--fit", action="store_true", help="fit the weights and print them")
    parser.add_argument("--without-reader", action="store_true", help="choose by words alone")
    parser.add_argument(
        "--sets", default="xquad en,chunking", help="what to measure; xquad de, es, zh, ar are there too"
    )
    parser.add_argument("--questions", type=int, default=300, help="questions of each set, taken evenly")
    parser.add_argument("--pages", type=Path, nargs="*", default=[], help="sets of pages to fit on, too")
    parser.add_argument("--libraries", type=Path, help="where the libraries of the pages are kept")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each set")
    options = parser.parse_args()
    reader = None if options.without_reader else Reader(threads=1)
    mode = "lexical" if options.lexical else "hybrid"
    if options.fit:
        orders = [both for long in (False, True) for both in ranked_of(long, options.questions, mode, reader)]
        fit(orders + [both for home in options.pages for both in ranked_pages(home, options.libraries, reader)], reader)
    figures = {}
    for name in filter(None, options.sets.split(",")):
        sources, cases = chunking() if name == "chunking" else xquad(name.removeprefix("xquad "))
        with BenchLibrary.of_sources(sources, mode=mode) as library:
            asked = list(ask_twice(library, evenly(cases, options.questions)))
            for group, some in grouped(name, asked).items():
                figures[group] = measure(some, library, reader)
    show(figures, options.json)


def ranked_of(long: bool, count: int, mode: str, reader: Reader | None) -> list[Ranked]:
    """Questions of SQuAD with their sentences in order, half of so many."""
    sources, cases = squad(long=long)
    with BenchLibrary.of_sources(sources, mode=mode) as library:
        asked = ask_twice(library, evenly(cases, count // 2))
        return [(each, ranked(each, library, reader)) for each in asked]


def ranked_pages(home: Path, libraries: Path, reader: Reader | None) -> list[Ranked]:
    """The questions of a set of pages with their sentences in order. They are asked once: without a quote, the rest of
    the pages may still answer."""
    with BenchLibrary.of_pages(home, libraries) as library:
        cases = documentation(home, page_texts(library.library))
        asked = [Asked(case, library.search(case.question, PASSAGES), bool(case.spans)) for case in cases]
        return [(each, ranked(each, library, reader)) for each in asked]


def grouped(name: str, asked: Sequence[Asked]) -> dict[str, list[Asked]]:
    """The questions of a set, or of each corpus where it has several."""
    groups: dict[str, list[Asked]] = {}
    for each in asked:
        groups.setdefault(each.case.source if name == "chunking" else name, []).append(each)
    return groups


def evenly(cases: Sequence[T], count: int) -> list[T]:
    """So many cases, from the whole of the set."""
    step = max(1.0, len(cases) / count)
    return [cases[int(number * step)] for number in range(min(count, len(cases)))]


def show(figures: dict[str, Figures], as_json: bool) -> None:
    columns = [field.name for field in fields(Figures)]
    if not as_json:
        print("| set | " + " | ".join(columns) + " |\n|" + " --- |" * (len(columns) + 1))
    for name, each in figures.items():
        values = [getattr(each, column) for column in columns]
        if as_json:
            print(json.dumps({"set": name, **asdict(each)}))
        else:
            print(f"| {name} | " + " | ".join(f"{value:.3g}" for value in values) + " |")


if __name__ == "__main__":
    main()
