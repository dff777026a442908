"""A golden set as a gate: a generation is published only if it answers the questions as well as the last one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from footnotes.errors import OptionError, ReindexRefused
from footnotes.evaluate.compare import Comparison, compare
from footnotes.evaluate.golden import read_golden
from footnotes.evaluate.report import main_measure, verdict
from footnotes.evaluate.run import Run, evaluate
from footnotes.library import Library

RECALL = "recall@10"


def golden_gate(
    library: Library, file: Path, min_recall: float | None, *, say: Callable[[str], None]
) -> Callable[[int], dict[str, object]]:
    """Build a gate for `Library.reindex`: asks both generations all questions and compares the results."""
    if min_recall is not None and not 0 <= min_recall <= 1:
        raise OptionError(f"the least recall must be between 0 and 1, not {min_recall}")
    questions = read_golden(file)

    def check(generation: int) -> dict[str, object]:
        before = evaluate(library, questions, name="serving")
        after = evaluate(library.at_generation(generation), questions, name="next")
        measure = main_measure(after)
        found = compare(before.values(measure), after.values(measure))
        say(verdict(before, after, measure, found))
        say(f"{RECALL}: {_recall(before):.3f} before, {_recall(after):.3f} after")
        _refuse_if_worse(after, measure, found, min_recall)
        return {"measure": measure, "before": found.before, "after": found.after, "verdict": found.verdict}

    return check


def _recall(run: Run) -> float:
    return run.means.get(RECALL, run.means.get("span_recall@5", 0.0))


def _refuse_if_worse(after: Run, measure: str, found: Comparison, min_recall: float | None) -> None:
    recall = _recall(after)
    if min_recall is not None and recall < min_recall:
        raise ReindexRefused(f"the recall of the new generation is {recall:.3f}, less than {min_recall}")
    if found.verdict == "worse":
        raise ReindexRefused(
            f"the new generation answers worse: {measure} falls from {found.before:.3f} to {found.after:.3f}"
        )
