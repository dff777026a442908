"""Retrieval quality on data nobody here wrote, through the whole engine with its default settings.

    python benchmarks/quality.py [--data DIR] [--work DIR] [--only NAME …] [--json]
    FOOTNOTES_QUALITY=better python benchmarks/quality.py --work DIR
    FOOTNOTES_EMBEDDER=multilingual:use python benchmarks/quality.py --work DIR --only xquad

Prints the table of docs/evaluation.md. Libraries are kept in --work, so that a second run only searches; other settings
need a folder of their own.
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from footnotes.evaluate.compare import compare
from footnotes.evaluate.golden import Question, read_golden
from footnotes.evaluate.run import MAIN, Options, Run, evaluate
from footnotes.library import Library

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
RETRIEVAL = ("scifact", "nfcorpus", "cranfield", "cosqa")
GOALS = {
    "standard": {"scifact": 0.735, "nfcorpus": 0.360, "cranfield": 0.445, "cosqa": 0.620, "chunking": 88.0},
    "better": {"scifact": 0.765, "nfcorpus": 0.385, "cranfield": 0.470, "cosqa": 0.620, "chunking": 92.0},
}
"""By the setting `quality`."""
LANGUAGES = ("en", "de", "es", "zh", "ar")
WAYS = {
    "lexical": Options(mode="lexical", reranker=""),
    "dense": Options(mode="dense", reranker=""),
    "dense, unsmoothed": Options(mode="dense", fusion="alpha", reranker=""),
    "rrf": Options(fusion="rrf", reranker=""),
    "hybrid": Options(),
}
NOT_RERANKED = "hybrid, not reranked"
"""A further way where the quality has a reranker."""
HEAD = f"| {'what':<52} | measured | goal   | reached | paired test |\n| --- | --- | --- | --- | --- |"
LEGS = ("lexical", "dense", "dense, unsmoothed")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the table."""

    what: str
    measured: float
    goal: float | None
    remark: str = ""

    @property
    def reached(self) -> str:
        return "" if self.goal is None else "yes" if self.measured >= self.goal else "no"


def main() -> None:
    arguments = _arguments()
    if not arguments.data.is_dir():
        print(f"skipped: there is no data in {arguments.data}")
        return
    began = time.monotonic()
    lines: list[Line] = []
    if not arguments.json:
        print(HEAD)
    for name in arguments.only or [*RETRIEVAL, "chunking", "xquad"]:
        started = time.monotonic()
        for line in _measured(name, arguments):
            lines.append(line)
            if not arguments.json:
                print(_row(line), flush=True)
        print(f"  {name}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    if arguments.json:
        print(json.dumps([{"what": each.what, "measured": each.measured, "goal": each.goal} for each in lines]))
    else:
        _show_goals(lines, time.monotonic() - began)


def _show_goals(lines: Sequence[Line], seconds: float) -> None:
    """The lines that have a goal once more, together."""
    goals = [line for line in lines if line.goal is not None]
    reached = sum(line.reached == "yes" for line in goals)
    print(f"\n{reached} of {len(goals)} goals reached, took {seconds:.0f} s\n{HEAD}")
    for line in goals:
        print(_row(line))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--work", type=Path, default=Path("/tmp/footnotes-quality"))
    parser.add_argument("--only", nargs="*", choices=[*RETRIEVAL, "chunking", "xquad"])
    parser.add_argument("--json", action="store_true")
    return parser.parse_args()


def _measured(name: str, arguments: argparse.Namespace) -> Iterator[Line]:
    if name == "chunking":
        return _chunking(arguments.data / "chunking", arguments.work / "chunking")
    if name == "xquad":
        return _xquad(arguments.data / "qa" / "xquad", arguments.work)
    return _retrieval(name, arguments.data / "retrieval" / name, arguments.work / name)


def _row(line: Line) -> str:
    goal = "" if line.goal is None else f"{line.goal:.3f}"
    return f"| {line.what:<52} | {line.measured:8.4f} | {goal:>6} | {line.reached:<7} | {line.remark} |"


# ── documents found by questions


def _retrieval(name: str, data: Path, work: Path) -> Iterator[Line]:
    with _library(work, lambda folder: _write_corpus(data, folder, ".py" if name == "cosqa" else ".md")) as library:
        questions = read_golden(data)
        runs = _runs(library, questions)
        goal = GOALS[library.settings.quality][name]
    for way in (way for way in runs if way != "hybrid"):
        yield Line(f"{name} nDCG@10, {way}", runs[way].means[MAIN], None)
    remark = ", ".join(_against(runs, other, MAIN) for other in ("rrf", NOT_RERANKED) if other in runs)
    yield Line(f"{name} nDCG@10, hybrid", runs["hybrid"].means[MAIN], goal, remark)
    yield _over_the_better_leg(name, runs)
    yield Line(f"{name} milliseconds a question, median", _median_ms(runs["hybrid"]), None)


def _runs(library: Library, questions: Sequence[Question]) -> dict[str, Run]:
    ways = WAYS | ({NOT_RERANKED: Options(reranker="")} if library.settings.reranker else {})
    return {way: evaluate(library, questions, name=way, options=options) for way, options in ways.items()}


def _over_the_better_leg(name: str, runs: dict[str, Run]) -> Line:
    better = max(LEGS, key=lambda way: runs[way].means[MAIN])
    gain = runs["hybrid"].means[MAIN] - runs[better].means[MAIN]
    return Line(f"{name} hybrid over the better leg ({better})", gain, 0.0, _against(runs, better, MAIN))


def _write_corpus(data: Path, folder: Path, suffix: str) -> None:
    """One file a document, its title as a heading."""
    for line in (data / "corpus.jsonl").read_text(encoding="utf-8").splitlines():
        document = json.loads(line)
        title = " ".join((document.get("title") or "").split())
        text = f"# {title}\n\n{document['text']}" if title else document["text"]
        (folder / f"{document['_id']}{suffix}").write_text(text or " ", encoding="utf-8")


def _against(runs: dict[str, Run], other: str, measure: str) -> str:
    found = compare(runs[other].values(measure), runs["hybrid"].values(measure))
    return f"against {other} {found.difference:+.4f} [{found.low:+.4f}, {found.high:+.4f}]"


def _median_ms(run: Run) -> float:
    times = sorted(outcome.milliseconds for outcome in run.outcomes)
    return times[len(times) // 2]


# ── spans found by questions


def _chunking(data: Path, work: Path) -> Iterator[Line]:
    def write(folder: Path) -> None:
        for path in (data / "corpora").glob("*.md"):
            shutil.copy(path, folder / path.name)

    with _library(work, write) as library:
        runs = _runs(library, list(_span_questions(data / "questions_df.csv")))
        goals = {"dense": 80.0, "hybrid": GOALS[library.settings.quality]["chunking"]}
    for way, run in runs.items():
        recall, iou = 100 * run.means["span_recall@5"], 100 * run.means["span_iou@5"]
        others = [each for each in ("lexical", "rrf", NOT_RERANKED) if way == "hybrid" and each in runs]
        remark = ", ".join(_against(runs, other, "span_recall@5") for other in others)
        yield Line(f"chunking span recall@5, {way}", recall, goals.get(way), remark)
        yield Line(f"chunking span IoU@5, {way}", iou, 6.5 if way in goals else None)


def _span_questions(path: Path) -> Iterator[Question]:
    with path.open(encoding="utf-8", newline="") as file:
        for number, row in enumerate(csv.DictReader(file)):
            name = f"{row['corpus_id']}.md"
            spans = [(name, each["start_index"], each["end_index"]) for each in json.loads(row["references"])]
            yield Question(str(number), row["question"], spans=tuple(spans))


# ── several languages


def _xquad(data: Path, work: Path) -> Iterator[Line]:
    english = 0.0
    for language in LANGUAGES:
        paragraphs, questions = _paragraphs(data / f"xquad.{language}.json")

        def write(folder: Path, texts: Sequence[str] = paragraphs) -> None:
            for number, text in enumerate(texts):
                (folder / f"{number}.txt").write_text(text, encoding="utf-8")

        with _library(work / f"xquad-{language}", write) as library:
            runs = {way: evaluate(library, questions, name=way, options=options) for way, options in WAYS.items()}
            if language == "en":
                yield from _across(data, library)
        recall = 100 * runs["lexical"].means["recall@5"]
        english = english or recall
        yield Line(f"xquad recall@5, lexical, {language}", recall, None if language == "en" else english - 5)
        for way in (*LEGS, "rrf"):
            yield Line(f"xquad nDCG@10, {way}, {language}", runs[way].means[MAIN], None)
        hybrid = runs["hybrid"].means[MAIN]
        yield Line(f"xquad nDCG@10, hybrid, {language}", hybrid, 0.93, _against(runs, "rrf", MAIN))
        yield _over_the_better_leg(f"xquad {language}", runs)


def _across(data: Path, library: Library) -> Iterator[Line]:
    """Questions in other languages over the English paragraphs; only a model of several languages can find these."""
    for language in LANGUAGES[1:]:
        _, questions = _paragraphs(data / f"xquad.{language}.json")
        found = evaluate(library, questions, name=language).means[MAIN]
        goal = 0.85 if language in ("de", "es") else None
        yield Line(f"xquad nDCG@10, {language} questions over English", found, goal)


def _paragraphs(path: Path) -> tuple[list[str], list[Question]]:
    texts: list[str] = []
    questions: list[Question] = []
    for article in json.loads(path.read_text(encoding="utf-8"))["data"]:
        for paragraph in article["paragraphs"]:
            for each in paragraph["qas"]:
                questions.append(Question(each["id"], each["question"], {f"{len(texts)}.txt": 1}))
            texts.append(paragraph["context"])
    return texts, questions


# ── libraries


def _library(work: Path, write: object) -> Library:
    """The library in a folder, filled when it is new. What is unchanged is not embedded again."""
    source, folder = work / "documents", work / "library"
    if not (work / "filled").exists():
        shutil.rmtree(source, ignore_errors=True)
        source.mkdir(parents=True)
        write(source)  # type: ignore[operator]
    library = Library(folder)
    began = time.monotonic()
    added = library.add(source)
    failed = [each.path for each in added if each.status == "failed"]
    if failed:
        print(f"  {len(failed)} documents could not be ingested, such as {failed[0]}", file=sys.stderr)
    library.settle()
    (work / "filled").touch()
    chunks = fmean([each.chunks for each in added]) if added else 0
    print(f"  {len(added)} documents, {chunks:.1f} chunks each, {time.monotonic() - began:.0f} s", file=sys.stderr)
    return library


if __name__ == "__main__":
    main()
