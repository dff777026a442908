"""What each ingredient of the default is worth: the whole engine with one of them changed at a time.

    python benchmarks/quality.py [--work DIR]      # first: it makes the libraries
    python benchmarks/ablations.py [--data DIR] [--work DIR]

A row is a change, a column a set: nDCG@10, for chunking recall@5 of spans. A star marks a difference from the default
beyond chance (paired bootstrap over questions, 95%).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from quality import RETRIEVAL, SHARED, _span_questions

from footnotes.evaluate.compare import compare
from footnotes.evaluate.golden import Question, read_golden
from footnotes.evaluate.run import MAIN, Options, evaluate
from footnotes.index.lexical import LexicalIndex
from footnotes.library import Library
from footnotes.retrieve import fuse

NOTHING: dict[str, Any] = {}
FUSION: dict[str, tuple[dict[str, Any], Options]] = {
    "default": (NOTHING, Options()),
    "without smoothing": ({"smoothed": lambda scores, vectors, background: scores}, Options()),
    "smoothed over 5 neighbours": ({"NEIGHBOURS": 5}, Options()),
    "smoothed over 20 neighbours": ({"NEIGHBOURS": 20}, Options()),
    "words weigh 0.3 always": ({"word_weight": lambda candidates: 0.3}, Options()),
    "words weigh 0.6 always": ({"word_weight": lambda candidates: 0.6}, Options()),
    "words weigh 1.0 always": ({"word_weight": lambda candidates: 1.0}, Options()),
    "rarity left out": ({"WEIGHT_OF_RARITY": 0.0}, Options()),
    "least weight 0.4": ({"LEAST_WORD_WEIGHT": 0.4}, Options()),
    "alpha 0.7": (NOTHING, Options(fusion="alpha")),
    "reciprocal rank": (NOTHING, Options(fusion="rrf")),
    "dense alone": (NOTHING, Options(mode="dense")),
    "dense alone, unsmoothed": (NOTHING, Options(mode="dense", fusion="alpha")),
    "lexical alone": (NOTHING, Options(mode="lexical")),
}
BOOSTS = {"titles not counted again": 0.0, "titles counted fully": 1.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--work", type=Path, default=Path("/tmp/footnotes-quality"))
    arguments = parser.parse_args()
    sets = {name: read_golden(arguments.data / "retrieval" / name) for name in RETRIEVAL}
    sets["chunking"] = list(_span_questions(arguments.data / "chunking" / "questions_df.csv"))
    rows: dict[str, list[str]] = {name: [] for name in (*FUSION, *BOOSTS)}
    for name, questions in sets.items():
        folder = arguments.work / name / "library"
        for row, cell in zip(rows.values(), _cells(folder, questions), strict=True):
            row.append(cell)
    print(f"| change | {' | '.join(sets)} |")
    for change, row in rows.items():
        print(f"| {change} | {' | '.join(row)} |")


def _cells(folder: Path, questions: Sequence[Question]) -> Iterator[str]:
    default: list[float] = []
    with Library(folder, create=False) as library:
        for changes, options in FUSION.values():
            with _changed(changes):
                values = _values(library, questions, options)
            default = default or values
            yield _cell(default, values)
    for weight in BOOSTS.values():
        defaults = {"boosts": {"body": 1.0, "heading": weight}}
        with patch.object(LexicalIndex.__init__, "__kwdefaults__", defaults), Library(folder, create=False) as library:
            yield _cell(default, _values(library, questions, Options()))


@contextmanager
def _changed(changes: dict[str, Any]) -> Iterator[None]:
    with patch.multiple(fuse, **changes) if changes else patch.object(fuse, "K1", fuse.K1):
        yield


def _values(library: Library, questions: Sequence[Question], options: Options) -> list[float]:
    run = evaluate(library, questions, options=options)
    return run.values(MAIN if MAIN in run.means else "span_recall@5")


def _cell(default: list[float], values: list[float]) -> str:
    found = compare(default, values)
    return f"{found.after:.4f}{'' if found.verdict == 'no clear difference' else '*'}"


if __name__ == "__main__":
    main()
