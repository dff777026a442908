"""What the default settings cost beside plain hybrid search, as ratios within one run.

    python benchmarks/cost.py [--data DIR] [--json]

Plain is what one would build first: windows of 800 characters, fused by reciprocal rank. Both take in the same corpora
and answer the same questions, in turn, so that a busy machine slows both.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path
from statistics import median

from quality import SHARED, _span_questions

from footnotes.library import Library

CORPORA = ("chatlogs", "state_of_the_union", "wikitexts", "pubmed")
PLAIN = {"chunker": "window", "chunker_options": {"size": 800, "overlap": 0}}
GOALS = {"ingest": 1.3, "search": 2.0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    data = arguments.data / "chunking"
    if not data.is_dir():
        print(f"skipped: there is no data in {data}")
        return
    with tempfile.TemporaryDirectory(prefix="footnotes-cost-") as work:
        found = measured(data, Path(work))
    if arguments.json:
        print(json.dumps(found))
        return
    for name, (plain, default) in found.items():
        goal = GOALS[name.partition(" ")[0]]
        verdict = "within" if default <= goal * plain else "beyond"
        print(f"{name:34} plain {plain:9.2f}  default {default:9.2f}  ratio {default / plain:.2f}  {verdict} {goal}")


def measured(data: Path, work: Path) -> dict[str, tuple[float, float]]:
    """Each cost, plain and by default."""
    files = [data / "corpora" / f"{name}.md" for name in CORPORA]
    questions = [each.text for each in _span_questions(data / "questions_df.csv")]
    with Library(work / "plain") as plain, Library(work / "default") as default:
        plain.add_text("The model is loaded.", filename="warm.txt")
        default.add_text("The model is loaded.", filename="warm.txt")
        ingest = _ingest(plain, files, PLAIN), _ingest(default, files, {})
        plain.settle()
        default.settle()
        whole = _searches(plain, default, questions)
        vectors = {text: plain.embedder().embed([text], role="query") for text in questions}
        for library in (plain, default):
            _answer_from(library, vectors)
        beside = _searches(plain, default, questions)
    return {"ingest (seconds)": ingest, "search (ms)": whole, "search without embedding (ms)": beside}


def _ingest(library: Library, files: list[Path], options: dict[str, object]) -> float:
    began = time.perf_counter()
    library.add(*files, **options)  # type: ignore[arg-type]
    return time.perf_counter() - began


def _searches(plain: Library, default: Library, questions: list[str]) -> tuple[float, float]:
    """Median milliseconds of each, the questions put to one and the other in turn."""
    times: tuple[list[float], list[float]] = ([], [])
    for number, question in enumerate(questions):
        ways = [(plain, "rrf", times[0]), (default, None, times[1])]
        for library, fusion, kept in ways if number % 2 else reversed(ways):
            began = time.perf_counter()
            library.search(question, fusion=fusion, limit=5, per_document=5)
            kept.append(1000 * (time.perf_counter() - began))
    return median(times[0]), median(times[1])


def _answer_from(library: Library, vectors: dict[str, object]) -> None:
    """Give the questions' vectors from memory, so that what is left is searching."""
    library.embedder().embed = lambda texts, *, role: vectors[texts[0]]  # type: ignore[method-assign,assignment,return-value]


if __name__ == "__main__":
    main()
