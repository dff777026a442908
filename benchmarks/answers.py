"""How well extractive answers answer, and how well they abstain.

    python benchmarks/answers.py [--lexical] [--embed] [--fit] [--json]

Every question is asked twice: with its document in the library, and with the passages that answer it left out.
`answered` is the share of the first that got an answer, `held` the share of all of the first whose answer span
lies in a cited sentence, `abstained` the share of the second that got none. Groups of related questions are
split in two halves: `--fit` fits the weights and the threshold on one half of the English sets, and the figures
always come from the other. The other languages were never fitted to.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields

import numpy as np
from labelled import Case, chunking, halves_of, xquad
from shelf import Shelf

from footnotes.answer import extractive
from footnotes.answer.candidates import Candidate, read_question
from footnotes.answer.passages import passages_of
from footnotes.embed import Matrix
from footnotes.types import Hit, Role

FEATURES = ("coverage", "context", "around", "pairs", "kind", "relative", "carried", "cosine")
PASSAGES = 6


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


def ask_twice(shelf: Shelf, cases: Sequence[Case]) -> Iterator[Asked]:
    for case in cases:
        yield Asked(case, shelf.search(case.question, PASSAGES), True)
        left_out = [(0, 1 << 40)] if case.group.startswith("xquad") else case.spans
        yield Asked(case, shelf.search(case.question, PASSAGES, (case.source, left_out)), False)


def holds(case: Case, name: str, start: int, end: int) -> bool:
    """Does the sentence hold an answer span, or most of one where the span is longer than the sentence?"""
    return any(
        name == case.source and min(end, last) - max(start, first) >= 0.5 * min(end - start, last - first)
        for first, last in case.spans
    )


def measure(asked: Sequence[Asked], shelf: Shelf, embed: extractive.Embed | None) -> Figures:
    present = [each for each in asked if each.present]
    retrieved = answered = held = first = abstained = sentences = 0
    times = []
    for each in asked:
        began = time.perf_counter()
        found = extractive.extract(each.case.question, each.hits, embed=embed, document_frequency=shelf.share)
        times.append((time.perf_counter() - began) * 1000)
        right = [holds(each.case, c.passage.filename, c.start, c.end) for c, _ in found.sentences]
        if each.present:
            retrieved += any(holds(each.case, hit.filename, hit.start, hit.end) for hit in each.hits)
            answered += bool(right)
            held += any(right)
            best = max(found.sentences, key=lambda pair: pair[1], default=None)
            first += best is not None and holds(each.case, best[0].passage.filename, best[0].start, best[0].end)
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
    right: bool
    present: bool


def features(candidate: Candidate) -> list[float]:
    return [1.0, *(float(getattr(candidate, name) or 0.0) for name in FEATURES)]


def logistic(rows: list[list[float]], truth: list[bool], ridge: float = 1.0) -> extractive.Weights:
    """A logistic regression by Newton's method, with a little ridge on all but the bias."""
    table, labels = np.array(rows), np.array(truth, dtype=float)
    weights = np.zeros(table.shape[1])
    penalty = np.diag([0.0] + [ridge] * (table.shape[1] - 1)) + 1e-9 * np.eye(table.shape[1])
    for _ in range(30):
        chances = 1 / (1 + np.exp(-table @ weights))
        gradient = table.T @ (chances - labels) + penalty @ weights
        weights -= np.linalg.solve((table * (chances * (1 - chances))[:, None]).T @ table + penalty, gradient)
    return extractive.Weights(*(round(float(weight), 2) for weight in weights))


def ranked(each: Asked, shelf: Shelf, embed: extractive.Embed | None) -> list[tuple[Candidate, float]]:
    passages = passages_of(each.hits)
    return extractive.rank(read_question(each.case.question, passages, shelf.share), passages, embed)


def right(each: Asked, candidate: Candidate) -> bool:
    return each.present and holds(each.case, candidate.passage.filename, candidate.start, candidate.end)


def fit(asked: Sequence[tuple[Asked, Shelf]], embed: extractive.Embed | None) -> None:
    """Fits both models and the threshold in place, and prints them as they stand in the source."""
    suffix = "_EMBEDDED" if embed else ""
    rows, truth = [], []
    for each, shelf in asked:
        for candidate, _ in ranked(each, shelf, embed) if each.present else ():
            rows.append(features(candidate))
            truth.append(right(each, candidate))
    setattr(extractive, "SENTENCE" + suffix, logistic(rows, truth))
    best = [
        Best(features(order[0][0]), right(each, order[0][0]), each.present)
        for each, shelf in asked
        if (order := ranked(each, shelf, embed))
    ]
    answered = logistic([each.features for each in best], [each.right for each in best])
    setattr(extractive, "ANSWERED" + suffix, answered)
    setattr(extractive, "THRESHOLD" + suffix, threshold(answered, best))
    for name in ("SENTENCE", "ANSWERED", "THRESHOLD"):
        print(name + suffix, "=", getattr(extractive, name + suffix))


def threshold(weights: extractive.Weights, best: Sequence[Best]) -> float:
    """The threshold that answers and abstains rightly equally often, where that is most often."""
    values = np.array([[getattr(weights, name) for name in ("bias", *FEATURES)]])
    chances = 1 / (1 + np.exp(-(np.array([each.features for each in best]) @ values.T).ravel()))
    present = np.array([each.present for each in best])
    return float(
        max(np.linspace(0.05, 0.6, 56), key=lambda t: (chances >= t)[present].mean() + (chances < t)[~present].mean())
    )


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────


def halves(asked: Sequence[Asked]) -> tuple[list[Asked], list[Asked]]:
    return halves_of(asked, lambda each: each.case.group)


class Remembering:
    """The local embedder, asked once for each text: the same sentences come up for many questions."""

    def __init__(self) -> None:
        from footnotes.embed.local import LocalEmbedder

        self._embedder = LocalEmbedder(threads=2)
        self._known: dict[str, np.ndarray] = {}

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        new = list(dict.fromkeys(text for text in texts if text not in self._known))
        if new:
            self._known.update(zip(new, self._embedder.embed(new, role=role), strict=True))
        return np.array([self._known[text] for text in texts], dtype=np.float32)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--embed", action="store_true", help="weigh sentences by their vectors too")
    parser.add_argument("--lexical", action="store_true", help="retrieve with the lexical leg alone")
    parser.add_argument("--fit", action="store_true", help="fit the weights on the first half and print them")
    parser.add_argument("--languages", default="de,es,zh", help="further languages to measure; empty for none")
    parser.add_argument("--json", action="store_true", help="one line of JSON for each set")
    options = parser.parse_args()
    sets = {"xquad en": xquad(), "chunking": chunking()}
    sets |= {f"xquad {language}": xquad(language) for language in options.languages.split(",") if language}
    embed = Remembering().embed if options.embed else None
    with ExitStack() as stack:
        mode = "lexical" if options.lexical else "hybrid"
        shelves = {name: stack.enter_context(Shelf(sources, mode=mode)) for name, (sources, _) in sets.items()}
        asked = {name: halves(list(ask_twice(shelves[name], cases))) for name, (_, cases) in sets.items()}
        if options.fit:
            fit([(each, shelves[name]) for name in ("xquad en", "chunking") for each in asked[name][0]], embed)
        show({name: measure(half[1], shelves[name], embed) for name, half in asked.items()}, options.json)


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
