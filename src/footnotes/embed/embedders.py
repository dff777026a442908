"""The embedders of one library."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from footnotes.embed import Embedder
from footnotes.embed.adapter import Adapter, load_adapter
from footnotes.embed.background import ON_THIS_MACHINE, Cosines, measured_background
from footnotes.embed.checked import QUERY_ATTEMPTS, embed_one
from footnotes.embed.make import make_embedder
from footnotes.embed.metric import by_dot_product
from footnotes.errors import DimensionMismatch, FootnotesError
from footnotes.index import Vector
from footnotes.settings import Settings

DimensionsOf = Callable[[str], int | None]
"""How many dimensions the vectors of an embedder have in the library, if it has any."""

KEPT_QUESTIONS = 1_000
"""Questions whose vectors are kept in memory: people ask again, turn pages and change filters."""


class Embedders:
    """Loads each embedder once. Safe to use from several threads."""

    def __init__(self, settings: Settings, dimensions_of: DimensionsOf, given: Embedder | None = None) -> None:
        self._settings = settings
        self._dimensions_of = dimensions_of
        self._guard = threading.Lock()
        self._loaded: dict[str, Embedder] = {}
        self._cosines: dict[str, Cosines] = {}
        self._questions: OrderedDict[tuple[str, str], Vector] = OrderedDict()
        self._adapter: Adapter | None = None
        if given is not None:
            self._loaded[given.name] = self._prepare(given)

    def get(self, name: str | None = None) -> Embedder:
        """The embedder of the settings, or the one named."""
        wanted = name or self._settings.embedder
        with self._guard:
            if wanted not in self._loaded:
                self._loaded[wanted] = self._prepare(make_embedder(replace(self._settings, embedder=wanted)))
            return self._loaded[wanted]

    def cosines(self, name: str) -> Cosines:
        """What the cosines of an embedder mean: measured once where nobody said it.

        A model behind a network is not asked, and of one that cannot be run nothing is known.
        """
        if name not in self._cosines:
            try:
                embedder = self.get(name)
                known = getattr(embedder, "background", None if name.partition(":")[0] in ON_THIS_MACHINE else 0.0)
                background = measured_background(embedder) if known is None else known
            except FootnotesError:
                return Cosines()
            given = {key: getattr(embedder, key) for key in ("gain", "least_words") if hasattr(embedder, key)}
            self._cosines[name] = Cosines(background, **given)
        return self._cosines[name]

    def embed_question(self, question: str, name: str, fingerprint: str) -> Vector:
        """The vector of a question for vectors that an embedder made; a question of late is not embedded again."""
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
        vector.setflags(write=False)  # it is handed out again
        with self._guard:
            self._questions[key] = vector
            while len(self._questions) > KEPT_QUESTIONS:
                self._questions.popitem(last=False)
        return vector

    def _adapt(self, vector: Vector, fingerprint: str) -> Vector:
        """The vector as the map of the settings turns it, if they name one."""
        if not self._settings.question_adapter:
            return vector
        if self._adapter is None or self._adapter.fingerprint != fingerprint:
            self._adapter = load_adapter(self._settings.question_adapter, fingerprint)
        return self._adapter.adapt(vector)

    def _prepare(self, embedder: Embedder) -> Embedder:
        """Tell the embedder how many dimensions the library's vectors have: it need not ask its model."""
        expect, known = getattr(embedder, "expect_dimensions", None), self._dimensions_of(embedder.name)
        if callable(expect) and known is not None:
            expect(known - by_dot_product(embedder))
        return embedder
