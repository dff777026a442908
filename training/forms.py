"""Fits what a terse question asks for: a logistic model over its words.

    python training/forms.py [--write] [--without SET…]

The questions are those of `training/documentation`; code is asked for as a way to do something. Without `--write` every
fifth of the sets is judged by a model of the others, and the share of right guesses is printed by kind.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from footnotes.answer.forms import features, scale_of

HERE = Path(__file__).resolve().parent
OUT = HERE.parent / "src" / "footnotes" / "answer" / "data" / "forms.json"
FEWEST, RIDGE, STEPS, RATE = 3, 0.7, 400, 0.05
SURE = 0.5

Row = tuple[str, str, str]
"""Set, question, kind."""
Model = tuple[list[str], dict[str, int], np.ndarray]


def load(without: Sequence[str]) -> list[Row]:
    rows = []
    for file in sorted((HERE / "documentation").glob("*/questions.jsonl")):
        if file.parent.name not in without:
            for line in map(json.loads, file.read_text().splitlines()):
                if line["kind"] != "notthere":
                    kind = "howto" if line["kind"] == "code" else line["kind"]
                    rows.append((file.parent.name, line["question"], kind))
    return rows


def row_of(question: str, words: dict[str, int]) -> np.ndarray:
    row = np.zeros(len(words) + 1)
    known = [words[each] for each in features(question) if each in words]
    row[known] = scale_of(len(known))
    row[-1] = 1
    return row


def fit(rows: Sequence[Row]) -> Model:
    """Softmax regression by Adam, with a ridge on all but the bias."""
    kinds = sorted({kind for *_, kind in rows})
    counts = Counter(each for _, question, _ in rows for each in features(question))
    words = {each: at for at, each in enumerate(sorted(each for each, count in counts.items() if count >= FEWEST))}
    table = np.array([row_of(question, words) for _, question, _ in rows])
    truth = np.eye(len(kinds))[[kinds.index(kind) for *_, kind in rows]]
    weights = np.zeros((table.shape[1], len(kinds)))
    mean, square = np.zeros_like(weights), np.zeros_like(weights)
    for step in range(1, STEPS + 1):
        slope = table.T @ (chances(table @ weights) - truth) + RIDGE * np.vstack([weights[:-1], 0 * weights[-1:]])
        mean, square = 0.9 * mean + 0.1 * slope, 0.99 * square + 0.01 * slope**2
        weights -= RATE * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return kinds, words, weights


def chances(totals: np.ndarray) -> np.ndarray:
    odds = np.exp(totals - totals.max(-1, keepdims=True))
    return np.asarray(odds / odds.sum(-1, keepdims=True))


def measure(rows: Sequence[Row]) -> None:
    sets = sorted({name for name, *_ in rows})
    guessed: list[tuple[str, str, float]] = []
    for fold in range(5):
        held = set(sets[fold::5])
        kinds, words, weights = fit([row for row in rows if row[0] not in held])
        for name, question, kind in rows:
            if name in held:
                each = chances(row_of(question, words) @ weights)
                guessed.append((kind, kinds[int(each.argmax())], float(each.max())))
    print(f"{len(rows)} questions, {np.mean([kind == guess for kind, guess, _ in guessed]):.0%} right")
    print(f"| kind | questions | guessed and sure ({SURE}) | of these right |\n| --- | --- | --- | --- |")
    for kind in sorted({kind for kind, *_ in guessed}):
        sure = [right == kind for right, guess, chance in guessed if guess == kind and chance >= SURE]
        print(f"| {kind} | {sum(right == kind for right, *_ in guessed)} | {len(sure)} | {np.mean(sure or [0]):.0%} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", nargs="*", default=[], help="sets that are kept for measuring")
    options = parser.parse_args()
    rows = load(options.without)
    if not options.write:
        measure(rows)
        return
    kinds, words, weights = fit(rows)
    hundredths = {each: [round(100 * float(w)) for w in weights[at]] for each, at in words.items()}
    fitted = {
        "kinds": kinds,
        "bias": [round(float(weight), 3) for weight in weights[-1]],
        "weights": {each: row for each, row in hundredths.items() if any(abs(weight) >= 5 for weight in row)},
    }
    OUT.write_text(json.dumps(fitted, separators=(",", ":"), ensure_ascii=False) + "\n")
    print(OUT, OUT.stat().st_size, len(fitted["weights"]), "features of", len(rows), "questions")


if __name__ == "__main__":
    main()
