"""The embedders of one library."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from zipfile import BadZipFile

import numpy as np

from footnotes.embed import Embedder, Matrix
from footnotes.embed.background import ON_THIS_MACHINE, Cosines, measured_background
from footnotes.embed.checked import QUERY_ATTEMPTS, embed_one
from footnotes.embed.make import make_embedder
from footnotes.embed.metric import by_dot_product
from footnotes.errors import ConfigError, DimensionMismatch, FootnotesError
from footnotes.index import Vector
from footnotes.settings import Settings

DimensionsOf = Callable[[str], int | None]
"""Returns the dimensions of an embedder's vectors in the library; None if it has none."""

KEPT_QUESTIONS = 1_000
"""Question vectors cached in memory: people repeat questions, turn pages and change filters."""


class Embedders:
    """Loads each embedder once. Safe to use from several threads."""

    def __init__(self, settings: Settings, dimensions_of: DimensionsOf, embedder: Embedder | None = None) -> None:
        self._settings = settings
        self._dimensions_of = dimensions_of
        self._guard = threading.Lock()
        self._loaded: dict[str, Embedder] = {}
        self._cosines: dict[str, Cosines] = {}
        self._questions: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._adapter: Adapter | None = None
        if embedder is not None:
            self._loaded[embedder.name] = self._prepare(embedder)

    def get(self, name: str | None = None) -> Embedder:
        """Return the named embedder, by default the one in the settings."""
        embedder_name = name or self._settings.embedder
        with self._guard:
            if embedder_name not in self._loaded:
                self._loaded[embedder_name] = self._prepare(
                    make_embedder(replace(self._settings, embedder=embedder_name))
                )
            return self._loaded[embedder_name]

    def cosines(self, name: str) -> Cosines:
        """Return how to read an embedder's cosines. They are measured once if the embedder does not say.

        Remote models are not measured. A model that cannot run gets the defaults.
        """
        if name not in self._cosines:
            try:
                embedder = self.get(name)
                known = getattr(embedder, "background", None if name.partition(":")[0] in ON_THIS_MACHINE else 0.0)
                background = measured_background(embedder) if known is None else known
            except FootnotesError:
                return Cosines()
            options = {key: getattr(embedder, key) for key in ("gain", "least_words") if hasattr(embedder, key)}
            self._cosines[name] = Cosines(background, **options)
        return self._cosines[name]

    def embed_question(self, question: str, name: str, fingerprint: str) -> Vector:
        """Return the vector of a question, to compare with vectors of this fingerprint. Recent questions are cached."""
        key = (fingerprint, question)
        with self._guard:
            if key in self._questions:
                self._questions.move_to_end(key)
                return self._questions[key]
        embedder = self.get(name)
        if embedder.fingerprint != fingerprint:
            raise DimensionMismatch(
                f"the library's vectors were made with another version of {name}",
                remedy="Run `footnotes reindex` to make them again.",
            )
        vector = self._adapt(embed_one(embedder, question, role="query", attempts=QUERY_ATTEMPTS), fingerprint)
        vector.setflags(write=False)  # the cache shares it
        with self._guard:
            self._questions[key] = vector
            while len(self._questions) > KEPT_QUESTIONS:
                self._questions.popitem(last=False)
        return vector

    def _adapt(self, vector: Vector, fingerprint: str) -> Vector:
        """Apply the map from the settings, if there is one."""
        if not self._settings.question_adapter:
            return vector
        if self._adapter is None or self._adapter.fingerprint != fingerprint:
            self._adapter = load_adapter(self._settings.question_adapter, fingerprint)
        return self._adapter.adapt(vector)

    def _prepare(self, embedder: Embedder) -> Embedder:
        """Tell the embedder the dimensions of the library's vectors, so that it need not ask its model."""
        expect, dimensions = getattr(embedder, "expect_dimensions", None), self._dimensions_of(embedder.name)
        if callable(expect) and dimensions is not None:
            expect(dimensions - by_dot_product(embedder))
        return embedder


# ── A linear map for question vectors, learnt from questions and the passages that answer them ────────────────


_AGAIN = "Run `footnotes tune --write` again, or remove question_adapter from the settings."


@dataclass(frozen=True, slots=True)
class Adapter:
    """The map and the fingerprint of the embedder it belongs to."""

    fingerprint: str
    matrix: Matrix

    def adapt(self, vector: Vector) -> Vector:
        """Return the question's vector moved towards the passages that answer such questions, at its old length."""
        mapped: Vector = self.matrix @ vector
        length = float(np.linalg.norm(mapped))
        return mapped * (float(np.linalg.norm(vector)) / length) if length > 0 else vector

    def save(self, file: Path) -> None:
        with file.open("wb") as stream:
            np.savez(stream, matrix=self.matrix.astype(np.float32), fingerprint=np.array(self.fingerprint))


def learn_matrix(questions: Matrix, passages: Matrix, *, strength: float) -> Matrix:
    """Learn the map that moves questions to their passages and changes as little else as possible.

    Ridge regression towards the identity (Hoerl and Kennard, Technometrics 1970), in closed form: the W that minimises
    ‖W·question − passage‖² + strength · ‖W − I‖² over all pairs, with `strength` counted in pairs.
    """
    queries, answers = questions.astype(np.float64), passages.astype(np.float64)
    ridge = strength * len(queries) * np.eye(queries.shape[1])
    matrix: Matrix = np.linalg.solve(queries.T @ queries + ridge, queries.T @ answers + ridge).T.astype(np.float32)
    return matrix


def load_adapter(file: str, fingerprint: str) -> Adapter:
    """Load the map from a file. Raises if the file holds no map for this embedder."""
    try:
        with Path(file).expanduser().open("rb") as stream, np.load(stream, allow_pickle=False) as stored:
            found = Adapter(str(stored["fingerprint"]), np.asarray(stored["matrix"], dtype=np.float32))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise ConfigError(f"question_adapter names no map of questions: {file}", remedy=_AGAIN) from error
    if found.fingerprint != fingerprint:
        raise ConfigError("question_adapter was learnt for the vectors of another model", remedy=_AGAIN)
    return found
