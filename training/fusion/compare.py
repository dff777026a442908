"""What each leg, reciprocal ranks and the default find in the records of `record.py`, and other weights of words beside.

    python training/fusion/compare.py --work DIR [NAME …]

nDCG@10 of documents. The difference is that of the default to the best of the others, with its 95% interval; then follow
the figures with the weight of words taken times 0.25, 0.5, 0.7, 1.4, 2, 3 and 5.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from record import Record, load

from footnotes.evaluate.compare import compare
from footnotes.evaluate.metrics import ndcg_at
from footnotes.retrieve import fuse

FACTORS = (0.25, 0.5, 0.7, 1.4, 2.0, 3.0, 5.0)
CODE = frozenset(["cosqa", "cosqa_dev", "conala", "docstrings", "stdlib"])
Score = Callable[[fuse.Candidates], fuse.Floats]


def candidates_of(record: Record, is_code: bool) -> fuse.Candidates:
    asked = sum(weight for weight, _ in record.terms.values())
    vectors = np.asarray(record.vectors, np.float32)
    least = fuse.LEAST_WORD_WEIGHT if is_code else 1.0
    return fuse.Candidates(
        record.lexical, record.dense, record.lexical_ranks, record.dense_ranks, record.bound, record.chunks,
        vectors, record.words, asked, 0.0, least,
    )  # fmt: skip


def found(record: Record, scores: fuse.Floats) -> float:
    """nDCG@10 of the documents, each by its best chunk."""
    best: dict[int, int] = {}
    for at in np.argsort(-scores, kind="stable"):
        best.setdefault(int(record.documents[at]), int(record.grades[at]))
    judged = {str(document): grade for document, grade in best.items() if grade}
    missing = list(record.ideal)
    for grade in judged.values():
        missing.remove(grade)
    unseen = {f"unseen {place}": grade for place, grade in enumerate(missing)}
    return ndcg_at([str(document) for document in best], judged | unseen, 10)


def weighted(factor: float) -> Score:
    def score(given: fuse.Candidates) -> fuse.Floats:
        lexical, dense, vectors = fuse.share_of_bound(given), given.dense, given.vectors
        assert lexical is not None and dense is not None and vectors is not None
        weight = factor * fuse.word_weight(given)
        return fuse.smoothed((dense + weight * lexical) / (1 + weight), vectors)

    return score


def plain(scores: fuse.Floats | None) -> fuse.Floats:
    assert scores is not None
    return scores


OTHERS: dict[str, Score] = {
    "lexical": lambda given: plain(given.lexical),
    "dense": lambda given: plain(given.dense),
    "smoothed": lambda given: fuse.smoothed(plain(given.dense), np.asarray(given.vectors)),
    "rrf": fuse.rrf,
}


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    print(_row(["set", *OTHERS, "hybrid", "over the best", *(f"×{each:g}" for each in FACTORS)]))
    for name in options.names or sorted(each.parent.name for each in options.work.glob("*/records.pickle")):
        pairs = [(record, candidates_of(record, name in CODE)) for record in load(options.work, name)]

        def values(score: Score, pairs: list[tuple[Record, fuse.Candidates]] = pairs) -> list[float]:
            return [found(record, score(given)) for record, given in pairs]

        ways = [values(score) for score in OTHERS.values()]
        hybrid = values(fuse.adaptive)
        over = compare(max(ways, key=sum), hybrid)
        said = f"{over.difference:+.3f} [{over.low:+.3f}, {over.high:+.3f}]"
        curve = [values(weighted(factor)) for factor in FACTORS]
        print(_row([name, *map(_mean, [*ways, hybrid]), said, *map(_mean, curve)]), flush=True)


if __name__ == "__main__":
    main()
