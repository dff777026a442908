"""Finds the best settings for a library and its questions, without overfitting.

Every variant answers every question. Then, fold by fold, the variant that is best on the other folds is applied to
the held-out questions. The gain of tuning is only this held-out score compared with the current settings.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.checked import QUERY_ATTEMPTS, embed_one
from footnotes.embed.embedders import Adapter, learn_matrix
from footnotes.errors import GoldenError
from footnotes.evaluate.compare import Comparison, compare
from footnotes.evaluate.golden import Names, Question
from footnotes.evaluate.report import main_measure
from footnotes.evaluate.run import Outcome, Run, evaluate
from footnotes.index import Vector
from footnotes.library import Library
from footnotes.retrieve.named import within
from footnotes.settings import Settings
from footnotes.store import SearchView
from footnotes.store.views import Question as Asked
from footnotes.text.analysis import analyze_question

FOLDS = 5
FEWEST_QUESTIONS = 20
AS_IT_IS = "as it is"
STRENGTHS = (1.0, 0.1, 0.01)
_LOOKED_AT = 50
FILE = "question_adapter.npz"


@dataclass(frozen=True, slots=True)
class Variant:
    """A name and the changed settings."""

    name: str
    changes: Mapping[str, Any]

    strength: float = 0.0
    """Regularisation of a map for question vectors, which this variant learns; 0 for no map."""

    @property
    def rebuilds(self) -> bool:
        return "chunker" in self.changes


@dataclass(frozen=True, slots=True)
class Tuning:
    """The variants, the best one on all questions, and its gain on held-out questions."""

    measure: str
    runs: tuple[Run, ...]
    best: Variant
    held_out: Comparison
    adapter: Adapter | None = None
    """Learnt from all questions; set if it is the best."""

    @property
    def best_last(self) -> tuple[Run, ...]:
        """All runs, the current settings first and the best last: a report compares these two."""
        first, *others = self.runs
        return first, *sorted(others, key=lambda run: run.means.get(self.measure, 0.0))

    @property
    def worth_it(self) -> bool:
        return bool(self.best.changes or self.adapter) and self.held_out.verdict == "better"

    def written(self, folder: Path) -> dict[str, object]:
        """Return the changed settings, and save a learnt map in the library's folder."""
        if self.adapter is None:
            return dict(self.best.changes)
        file = folder.resolve() / FILE
        self.adapter.save(file)
        return {"question_adapter": str(file)}


def search_variants(settings: Settings) -> list[Variant]:
    """Return variants of searches in the current library."""
    found = [Variant(AS_IT_IS, {})]
    found += [Variant(f"mode {mode}", {"mode": mode}) for mode in ("lexical", "dense")]
    found += [Variant("rrf", {"fusion": "rrf"}), Variant("adaptive", {"fusion": "adaptive"})]
    found += [Variant(f"alpha {alpha}", {"fusion": "alpha", "alpha": alpha}) for alpha in (0.3, 0.5, 0.7, 0.85)]
    if settings.embedder.startswith("local"):
        found += [
            Variant(
                f"late reranking of {depth}", {"reranker": "late", "rerank_candidates": depth, "rerank_seconds": 30}
            )
            for depth in (10, 30)
        ]
    return found


def adapter_variants() -> list[Variant]:
    """Return maps for question vectors that fit the golden set more and more closely."""
    return [Variant(f"questions adapted, {strength:g}", {}, strength) for strength in STRENGTHS]


def chunker_variants() -> list[Variant]:
    """Return other chunkers. Each is tried in a separate library, which embeds everything again."""
    sizes: list[tuple[str, dict[str, int]]] = [
        ("passages", {}),
        ("passages", {"characters": 500}),
        ("rules", {"tokens": 256, "overlap": 25}),
        ("rules", {"tokens": 512, "overlap": 50}),
        ("section", {}),
    ]
    return [
        Variant(" ".join([name, *(f"{key}={value}" for key, value in options.items())]),
                {"chunker": name, "chunker_options": options})
        for name, options in sizes
    ]  # fmt: skip


def tune(
    library: Library,
    questions: Sequence[Question],
    *,
    chunkers: bool = False,
    on_variant: Callable[[str], None] = lambda _: None,
) -> Tuning:
    """Try every variant, and choose by folds."""
    if len(questions) < FEWEST_QUESTIONS:
        raise GoldenError(
            f"{len(questions)} questions are too few to tune by; {FEWEST_QUESTIONS} are the least",
            remedy="Write more, or begin with `footnotes eval --make 50`.",
        )
    adapting = Adapting(library, questions)
    variants = search_variants(library.settings) + (chunker_variants() if chunkers else [])
    if len(adapting.pairs) >= FEWEST_QUESTIONS:
        variants += adapter_variants()
    runs = []
    for variant in variants:
        on_variant(variant.name)
        runs.append(_run(library, variant, questions, adapting))
    measure = main_measure(runs[0])
    scores = [_scores(run, measure) for run in runs]
    best = variants[_best(scores)]
    adapter = adapting.learn(best.strength) if best.strength else None
    return Tuning(measure, tuple(runs), best, compare(scores[0], held_out_scores(scores)), adapter)


def held_out_scores(scores: Sequence[Sequence[float]]) -> list[float]:
    """Return the score of every question under the variant that was best on the other folds."""
    count = len(scores[0])
    found = [0.0] * count
    for inside in _folds(count, FOLDS):
        rest = [[row[at] for at in range(count) if at not in inside] for row in scores]
        best = scores[_best(rest)]
        for at in inside:
            found[at] = best[at]
    return found


def _folds(count: int, folds: int) -> list[frozenset[int]]:
    """Return the same folds every time, of equal size."""
    order = Random(1).sample(range(count), count)
    return [frozenset(order[fold::folds]) for fold in range(folds)]


def _best(scores: Sequence[Sequence[float]]) -> int:
    """Return the variant with the highest mean; of equal ones the first, which changes least."""
    means = [fmean(row) for row in scores]
    return means.index(max(means))


def _scores(run: Run, measure: str) -> list[float]:
    return [outcome.measures.get(measure, 0.0) for outcome in run.outcomes]


def _run(library: Library, variant: Variant, questions: Sequence[Question], adapting: Adapting) -> Run:
    if variant.strength:
        return adapting.run(variant.name, variant.strength, _folds(len(questions), FOLDS))
    for trial in _open_trial(library, variant):
        return evaluate(trial, questions, name=variant.name)
    raise AssertionError("a library was not opened")


def _open_trial(library: Library, variant: Variant) -> Iterator[Library]:
    """Open the library with other settings; with another chunker, open a copy that is chunked and embedded again."""
    settings = replace(library.settings, **variant.changes)
    if not variant.rebuilds:
        with Library(library.folder, settings=settings) as same:
            yield same
        return
    with tempfile.TemporaryDirectory(prefix="footnotes-tune-") as folder:
        file = Path(folder) / "documents.jsonl"
        library.export(file)
        with Library(Path(folder) / "library", settings=settings) as other:
            other.import_(file)
            yield other


# ── A map for question vectors, learnt from a golden set, and its results on held-out questions ───────────────


@dataclass(frozen=True, slots=True)
class Pair:
    """The vector of a question and the vector of its answer's passage."""

    asked: Vector
    passage: Vector


class Adapting:
    """Learns a map from the questions of a golden set, in a library with vectors."""

    def __init__(self, library: Library, questions: Sequence[Question]) -> None:
        self._library, self._questions = library, questions

    @cached_property
    def pairs(self) -> dict[int, Pair]:
        """Return training examples from the questions, by index; skips those without an answer in the library."""
        library, names = self._library, Names(self._library)
        view = library._searcher.view()
        if not view.fingerprint:
            return {}
        embedder = library._context.embedders.get(view.embedder)  # gives the model's own vectors, without the map
        found: dict[int, Pair] = {}
        for place, question in enumerate(self._questions):
            vector = embed_one(embedder, question.text, role="query", attempts=QUERY_ATTEMPTS)
            spans = names.spans(question)
            ids = {identity for identity, grade in names.grades(question).items() if grade > 0}
            ids |= {identity for identity, _, _ in spans}
            if ids and (passage := _nearest(view, question.text, vector, sorted(ids), spans)) is not None:
                found[place] = Pair(vector, passage)
        return found

    def learn(self, strength: float, *, without: frozenset[int] = frozenset()) -> Adapter:
        """Learn the map from all pairs, except those of some questions."""
        pairs = [pair for place, pair in self.pairs.items() if place not in without]
        queries = np.stack([pair.asked for pair in pairs])
        fingerprint = self._library._searcher.view().fingerprint
        matrix = learn_matrix(queries, np.stack([pair.passage for pair in pairs]), strength=strength)
        return Adapter(fingerprint, matrix)

    def run(self, name: str, strength: float, folds: Sequence[frozenset[int]]) -> Run:
        """Run every question with the map learnt from the other folds."""
        outcomes: dict[int, Outcome] = {}
        for fold in folds:
            places = sorted(fold)
            with tempfile.TemporaryDirectory(prefix="footnotes-tune-") as folder:
                file = Path(folder) / FILE
                self.learn(strength, without=fold).save(file)
                settings = replace(self._library.settings, question_adapter=str(file))
                with Library(self._library.folder, settings=settings) as other:
                    run = evaluate(other, [self._questions[place] for place in places], name=name)
            outcomes.update(zip(places, run.outcomes, strict=True))
        return Run(name, tuple(outcomes[place] for place in sorted(outcomes)), run.details)


def _nearest(
    view: SearchView, text: str, query: Vector, ids: Sequence[str], spans: Sequence[tuple[str, int, int]]
) -> Vector | None:
    """Return the vector of the chunk nearest to a question among those that answer it."""
    terms = dict.fromkeys(analyze_question(text), 1.0)
    found = view.candidates(
        Asked(terms=terms, vector=lambda: query, depth=_LOOKED_AT, where=within(ids, None), smooths=True)
    )
    if found.vectors is None or found.dense.scores is None or not found.keys:
        return None
    scores = np.nan_to_num(found.dense.scores, nan=-1.0)
    for row in np.argsort(-scores):
        (hit,) = view.hits([found.keys[row]]) or (None,)
        if hit is None or (spans and not any(_meets((hit.document_id, hit.start, hit.end), span) for span in spans)):
            continue
        vector: Matrix = np.asarray(found.vectors[row], dtype=np.float32)
        return vector
    return None


def _meets(one: tuple[str, int, int], other: tuple[str, int, int]) -> bool:
    return one[0] == other[0] and one[1] < other[2] and other[1] < one[2]
