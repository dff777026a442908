"""A map of questions' vectors, learnt from a golden set, and how it does on questions it was not learnt from."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from footnotes.embed import Matrix
from footnotes.embed.adapter import Adapter, learn_matrix
from footnotes.embed.checked import QUERY_ATTEMPTS, embed_one
from footnotes.evaluate.golden import Question
from footnotes.evaluate.names import Names
from footnotes.evaluate.run import Outcome, Run, evaluate
from footnotes.index import Vector
from footnotes.library import Library
from footnotes.retrieve.named import within
from footnotes.store import SearchView
from footnotes.store.views import Question as Asked
from footnotes.text.analysis import analyze_question

STRENGTHS = (1.0, 0.1, 0.01)
_LOOKED_AT = 50
FILE = "question_adapter.npz"


@dataclass(frozen=True, slots=True)
class Pair:
    """The vector of a question and that of the passage that answers it."""

    asked: Vector
    passage: Vector


class Adapting:
    """Learns from the questions of a golden set, in a library that has vectors."""

    def __init__(self, library: Library, questions: Sequence[Question]) -> None:
        self._library, self._questions = library, questions

    @cached_property
    def pairs(self) -> dict[int, Pair]:
        """Return training examples from the questions, by index; skips those without an answer in the library."""
        library, names = self._library, Names(self._library)
        view = library._searcher.view()
        if not view.fingerprint:
            return {}
        embedder = library._context.embedders.get(view.embedder)  # its own vectors, not those a map has turned
        found: dict[int, Pair] = {}
        for place, question in enumerate(self._questions):
            asked = embed_one(embedder, question.text, role="query", attempts=QUERY_ATTEMPTS)
            spans = names.spans(question)
            ids = {identity for identity, grade in names.grades(question).items() if grade > 0}
            ids |= {identity for identity, _, _ in spans}
            if ids and (passage := _nearest(view, question.text, asked, sorted(ids), spans)) is not None:
                found[place] = Pair(asked, passage)
        return found

    def learn(self, strength: float, *, without: frozenset[int] = frozenset()) -> Adapter:
        """The map of all pairs but those of some questions."""
        pairs = [pair for place, pair in self.pairs.items() if place not in without]
        asked = np.stack([pair.asked for pair in pairs])
        fingerprint = self._library._searcher.view().fingerprint
        matrix = learn_matrix(asked, np.stack([pair.passage for pair in pairs]), strength=strength)
        return Adapter(fingerprint, matrix)

    def run(self, name: str, strength: float, folds: Sequence[frozenset[int]]) -> Run:
        """Every question under the map that was learnt from the other folds."""
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
    view: SearchView, text: str, asked: Vector, ids: Sequence[str], spans: Sequence[tuple[str, int, int]]
) -> Vector | None:
    """The vector of the chunk that is nearest to a question, of those that answer it."""
    terms = dict.fromkeys(analyze_question(text), 1.0)
    found = view.candidates(
        Asked(terms=terms, vector=lambda: asked, depth=_LOOKED_AT, where=within(ids, None), smooths=True)
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
