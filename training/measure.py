"""What the shipped models get right on pairs and questions that were kept back.

    python training/measure.py --data ../shared/data [--only verifier] [--most 400] [--fit]

For the verifier the macro-F1 of supported against not supported, by source, and the share judged supported of every
kind of made claim; then of the verifier and the words together, whose weights `--fit` fits on halves of what was kept
back, each measured on the other: what was trained on the verifier knows too well; ANLI, AVeriTeC and SICK, which were
never trained on, are measured too. For the chooser how often
its best sentence answers, and how well it tells passages that answer from those that do not. No torch is needed.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from random import Random

import data
import numpy as np
import questions

from footnotes.answer import judge
from footnotes.answer.align import Aligner
from footnotes.answer.passages import passages_of
from footnotes.answer.reader import Reader, Window
from footnotes.testing.hits import make_hit
from footnotes.text.analysis import analyze
from footnotes.text.sentences import sentence_spans

SEED = 20
UNSEEN = ("anli_dev", "averitec_dev", "sick")


def macro_f1(truth: Sequence[bool], said: Sequence[bool]) -> float:
    """The mean of the F1 of both classes."""
    scores = []
    for one in (True, False):
        right = sum(t == one and s == one for t, s in zip(truth, said, strict=True))
        wrong = sum((t == one) != (s == one) for t, s in zip(truth, said, strict=True))
        scores.append(2 * right / max(1, 2 * right + wrong))
    return float(np.mean(scores))


def area(truth: Sequence[bool], chances: Sequence[float]) -> float:
    """The area under the ROC curve: how often a true one stands above a false one."""
    true = np.array([chance for chance, one in zip(chances, truth, strict=True) if one])
    false = np.array([chance for chance, one in zip(chances, truth, strict=True) if not one])
    if not len(true) or not len(false):
        return float("nan")
    return float((true[:, None] > false[None]).mean() + 0.5 * (true[:, None] == false[None]).mean())


def by_kind(pairs: Iterable[data.Pair], most: int) -> dict[str, list[data.Pair]]:
    grouped: dict[str, list[data.Pair]] = {}
    for pair in pairs:
        grouped.setdefault(pair.kind, []).append(pair)
    return {kind: Random(SEED).sample(group, min(most, len(group))) for kind, group in sorted(grouped.items())}


def measure_verifier(reader: Reader, folder: Path, most: int) -> None:
    chance = Random(SEED)
    _, kept = data.entailment(folder / "entailment", chance)
    for name in UNSEEN:
        for line in data.lines(folder / "entailment" / f"{name}.jsonl.gz"):
            kept.append(data.Pair(line["premise"], line["claim"], int(line["label"] != "supported"), name))
    made = data.made_pairs(folder / "training", folder / "entailment", 2_400, chance, kept=True)
    print("| pairs | count | macro-F1 | area | judged supported |\n| --- | --- | --- | --- | --- |")
    began, count = time.process_time(), 0
    for kind, pairs in by_kind(kept + made, most).items():
        chances = [
            verdict.supported
            for verdict in reader.verify([(pair.evidence, pair.claim) for pair in map(data.unmarked, pairs)])
        ]
        truth = [pair.label == data.SUPPORTED for pair in pairs]
        said = [chance >= 0.5 for chance in chances]
        count += len(pairs)
        print(
            f"| {kind} | {len(pairs)} | {macro_f1(truth, said):.3f} | {area(truth, chances):.3f} | {np.mean(said):.3f} |"
        )
    print(f"{(time.process_time() - began) * 1000 / count:.1f} ms of processor time a claim")


JUDGED = ("attributionbench", "wice", "scifact", "begin")


def figures(reader: Reader, pair: data.Pair) -> judge.Figures:
    """What speaks for a claim against all of its evidence."""
    pair = data.unmarked(pair)
    weights = Aligner(passages_of([make_hit(pair.evidence)])).weigh(pair.claim)
    sentences = [frozenset(analyze(pair.evidence[a:b])) for a, b in sentence_spans(pair.evidence)]
    read = reader.verify([(pair.evidence, pair.claim)])[0].supported
    return judge.figures_of(pair.claim, pair.evidence, weights, sentences, read)


def fitted(table: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """A logistic regression by Newton's method, with a little ridge on all but the bias."""
    weights = np.zeros(table.shape[1])
    for _ in range(40):
        chances = 1 / (1 + np.exp(-table @ weights))
        gradient = table.T @ (chances - truth) + np.array([0.0, *weights[1:]])
        curve = (table * (chances * (1 - chances))[:, None]).T @ table + np.eye(len(weights))
        weights -= np.linalg.solve(curve, gradient)
    return weights


def measure_together(reader: Reader, folder: Path, most: int, fit: bool) -> None:
    _, kept = data.entailment(folder / "entailment", Random(SEED))
    groups = by_kind(kept, most)
    if fit:
        fit_in_halves(reader, {kind: groups[kind] for kind in JUDGED})
    print("| together with the words | count | macro-F1 | area |\n| --- | --- | --- | --- |")
    for kind, pairs in groups.items():
        show(kind, pairs, [judge.likelihood(figures(reader, pair)) for pair in pairs])


def fit_in_halves(reader: Reader, groups: dict[str, list[data.Pair]]) -> None:
    """Fits on one half of the kept pairs and measures on the other, both ways; the mean of both is what is used."""
    rows = [(kind, pair, (1.0, *figures(reader, pair).row)) for kind, pairs in groups.items() for pair in pairs]
    first = np.array([data.is_kept("half" + pair.evidence, 50) for _, pair, _ in rows])
    table = np.array([row for *_, row in rows])
    truth = np.array([pair.label == data.SUPPORTED for _, pair, _ in rows], dtype=float)
    both = [fitted(table[half], truth[half]) for half in (first, ~first)]
    chances = np.where(first, *(1 / (1 + np.exp(-table @ weights)) for weights in reversed(both)))
    print("| fitted on the other half | count | macro-F1 | area |\n| --- | --- | --- | --- |")
    for kind in groups:
        mine = [number for number, row in enumerate(rows) if row[0] == kind]
        show(kind, [rows[number][1] for number in mine], [float(chances[number]) for number in mine])
    bias, *weights = (float(weight) for weight in np.mean(both, axis=0))
    judge.BIAS, judge.WEIGHTS = bias, tuple(weights)  # type: ignore[assignment]
    print("fitted", [round(weight, 2) for weight in (bias, *weights)])


def show(kind: str, pairs: Sequence[data.Pair], chances: Sequence[float]) -> None:
    truth = [pair.label == data.SUPPORTED for pair in pairs]
    said = [chance >= 0.5 for chance in chances]
    print(f"| {kind} | {len(pairs)} | {macro_f1(truth, said):.3f} | {area(truth, chances):.3f} |", flush=True)


def measure_chooser(reader: Reader, folder: Path, most: int) -> None:
    print("| questions | count | first | area |\n| --- | --- | --- | --- |")
    passages = questions.passages(folder / "training", Random(SEED), kept=True)
    groups = {"kept back": Random(SEED).sample(passages, min(2 * most, len(passages)))}
    groups["clapnq"] = questions.answer_sentences(folder / "training", "clapnq", "dev")[:most]
    for name, group in groups.items():
        first, truth, chances = [], [], []
        for passage in group:
            (choice,) = reader.choose(passage.question, [Window(passage.title, passage.sentences)])
            truth.append(any(passage.answers))
            chances.append(choice.passage)
            if truth[-1]:
                first.append(passage.answers[int(np.argmax(choice.sentences))])
        print(f"| {name} | {len(group)} | {np.mean(first):.3f} | {area(truth, chances):.3f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--most", type=int, default=400, help="pairs of a kind, questions of a set")
    parser.add_argument("--fit", action="store_true", help="fit the weights of verifier and words together first")
    parser.add_argument("--only", choices=("verifier", "chooser"))
    options = parser.parse_args()
    reader = Reader(threads=1)
    if options.only != "chooser":
        measure_verifier(reader, options.data, options.most)
        measure_together(reader, options.data, options.most, options.fit)
    if options.only != "verifier":
        measure_chooser(reader, options.data, options.most)


if __name__ == "__main__":
    main()
