"""Runs a golden set against a library: searches every question, and answers it if answers are judged."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean

from footnotes.errors import GoldenError
from footnotes.evaluate import metrics
from footnotes.evaluate.golden import Names, Question
from footnotes.library import Library
from footnotes.types import Hit

DEPTH = 10
SPANS = 5
MAIN = "ndcg@10"
VERSION = 1


@dataclass(frozen=True, slots=True)
class Options:
    """Options of searches. None follows the settings."""

    mode: str | None = None
    fusion: str | None = None
    alpha: float | None = None
    weights: tuple[float, float] | None = None
    missing_rank: int | None = None
    reranker: str | None = None
    answers: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of one question: its measures, its first hits by file name, and the leg that found the best one."""

    id: str
    question: str
    measures: Mapping[str, float]
    found: tuple[str, ...]
    expected: tuple[str, ...]
    found_by: str
    milliseconds: float


@dataclass(frozen=True, slots=True)
class Run:
    """The results of all questions with one set of options."""

    name: str
    outcomes: tuple[Outcome, ...]
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def means(self) -> dict[str, float]:
        """Return the mean of each measure over the questions that have it."""
        names = dict.fromkeys(name for outcome in self.outcomes for name in outcome.measures)
        return {name: fmean(self.values(name)) for name in names}

    def values(self, measure: str) -> list[float]:
        return [outcome.measures[measure] for outcome in self.outcomes if measure in outcome.measures]


def evaluate(
    library: Library,
    questions: Sequence[Question],
    *,
    name: str = "default",
    options: Options | None = None,
    on_progress: Callable[[int, int], None] | None = None,
) -> Run:
    """Ask every question once and measure the results."""
    search_options = options or Options()
    names = Names(library)
    outcomes = []
    for question in questions[:1]:
        _search(
            library, question.text, search_options, limit=1, per_document=1
        )  # loads model and indexes first, so that no question's time includes it
    for number, question in enumerate(questions):
        if on_progress is not None:
            on_progress(number, len(questions))
        outcomes.append(_outcome(library, names, question, search_options))
    if not any(outcome.measures for outcome in outcomes):
        raise GoldenError("no question has expected results")
    return Run(name, tuple(outcomes), {"chunker": library.settings.chunker, "embedder": library.settings.embedder})


def _outcome(library: Library, names: Names, question: Question, options: Options) -> Outcome:
    start = time.perf_counter()
    hits = _search(library, question.text, options, limit=DEPTH, per_document=1)
    milliseconds = (time.perf_counter() - start) * 1000
    judged = names.grades(question)
    measures = _ranking_measures([hit.document_id for hit in hits], judged) if judged else {}
    references = names.spans(question)
    if references:
        passages = _search(library, question.text, options, limit=SPANS, per_document=SPANS)
        measures |= _span_measures(passages, references)
    if options.answers:
        measures |= _answer_measures(library, question, references, options)
    found = tuple(dict.fromkeys(hit.filename for hit in hits))
    relevant = next((hit for hit in hits if judged.get(hit.document_id, 0) > 0), None)
    return Outcome(
        question.id, question.text, measures, found, tuple(question.documents), _found_by(relevant), milliseconds
    )


def _search(library: Library, text: str, options: Options, *, limit: int, per_document: int) -> tuple[Hit, ...]:
    result = library.search(
        text,
        limit=limit,
        per_document=per_document,
        mode=options.mode,
        fusion=options.fusion,
        alpha=options.alpha,
        weights=options.weights,
        missing_rank=options.missing_rank,
        reranker=options.reranker,
    )
    return result.hits


def _ranking_measures(ranking: Sequence[str], judged: Mapping[str, int]) -> dict[str, float]:
    return {
        MAIN: metrics.ndcg_at(ranking, judged, DEPTH),
        "recall@3": metrics.recall_at(ranking, judged, 3),
        "recall@5": metrics.recall_at(ranking, judged, 5),
        "recall@10": metrics.recall_at(ranking, judged, 10),
        "precision@5": metrics.precision_at(ranking, judged, 5),
        "mrr@10": metrics.reciprocal_rank(ranking, judged, DEPTH),
    }


def _span_measures(hits: Sequence[Hit], references: Sequence[metrics.Span]) -> dict[str, float]:
    retrieved = [(hit.document_id, hit.start, hit.end) for hit in hits]
    return {
        "span_recall@5": metrics.span_recall(retrieved, references),
        "span_precision@5": metrics.span_precision(retrieved, references),
        "span_iou@5": metrics.span_iou(retrieved, references),
    }


def _answer_measures(
    library: Library, question: Question, references: Sequence[metrics.Span], options: Options
) -> dict[str, float]:
    answer = library.ask(question.text, mode=options.mode)
    found = {"abstention": float(answer.abstained is not question.answerable)}
    if question.answer:
        found["answer_overlap"] = metrics.answer_overlap(answer.answer, question.answer)
    if references and not answer.abstained:
        cited = [(citation.document_id, citation.start, citation.end) for citation in answer.citations]
        found["citation_precision"] = metrics.citation_precision(cited, references)
    return found


def _found_by(hit: Hit | None) -> str:
    """Return the leg, or the two legs, that listed the first relevant hit."""
    if hit is None:
        return "neither"
    legs = [name for name in ("lexical", "dense") if (leg := getattr(hit.scores, name)) and leg.rank]
    return "both" if len(legs) == 2 else legs[0] if legs else "neither"


# ── runs on disk, written by `--save` and read by `--compare` ─────────────────────────────────────────────────


def save_run(path: Path, run: Run) -> None:
    path.write_text(json.dumps({"version": VERSION, **asdict(run)}, ensure_ascii=False, indent=1), encoding="utf-8")


def load_run(path: Path) -> Run:
    """Load a saved run."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise GoldenError(f"{path} was written by another version of Footnotes")
        outcomes = tuple(
            Outcome(**{**each, "found": tuple(each["found"]), "expected": tuple(each["expected"])})
            for each in content["outcomes"]
        )
        return Run(content["name"], outcomes, content["details"])
    except OSError as error:
        raise GoldenError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise GoldenError(f"{path} is not a saved run", remedy="Write one with `footnotes eval --save`.") from error
