"""The two legs of a search. Each runs and reports separately; a failure of one does not stop the other."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count, repeat

import numpy as np

from footnotes import tracing
from footnotes.errors import FootnotesError
from footnotes.index import Allowed, Found, Vector
from footnotes.store.records import ChunkSpan, Generation
from footnotes.store.views import Candidates, Floats, LegCandidates, Question, Ranks, Symbols
from footnotes.store.weights import K1, rarity
from footnotes.types import Filter, Leg

MAX_TERMS = 256


@dataclass(frozen=True, slots=True)
class LegResult:
    """A leg's results and status. `score` returns the leg's exact scores of other candidates.

    `complete` means that every chunk with a score above zero is listed, so all others have 0; `words` counts the
    question's terms that occur in any chunk; `vector` is the question's.
    """

    leg: Leg
    found: Found = field(default_factory=Found)
    score: Callable[[list[int]], dict[int, float]] | None = None
    bound: float = 0.0
    complete: bool = False
    words: float = 0.0
    vector: Vector | None = None


def ran(leg: Leg) -> bool:
    """Return whether a leg returned results, even if it lacked some documents."""
    return leg.status in ("ok", "pending")


def skipped(reason: str) -> LegResult:
    return LegResult(Leg("skipped", reason))


class LegsView(ABC):
    """Answers a question from two legs. The store implements their searches and scores."""

    _generation: Generation | None
    waiting: int
    """The number of documents missing in the dense leg; only the lexical leg finds them."""
    waiting_words: int
    """The number of documents missing in the lexical leg."""

    @property
    def embedder(self) -> str:
        return self._generation.embedder if self._generation else ""

    @property
    def fingerprint(self) -> str:
        return self._generation.fingerprint if self._generation else ""

    @abstractmethod
    def chunk_count(self) -> int: ...

    @abstractmethod
    def document_frequency(self, term: str) -> int: ...

    @abstractmethod
    def allowed(self, where: Filter) -> Allowed:
        """Return the keys that pass a filter. The tenant is always part of it, and a filter cannot name it."""

    @abstractmethod
    def search_lexical(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None) -> Found: ...

    @abstractmethod
    def score_lexical(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]: ...

    @abstractmethod
    def search_dense(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found: ...

    @abstractmethod
    def score_dense(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]: ...

    @abstractmethod
    def vectors(self, keys: Sequence[int]) -> Vector | None:
        """Return the unit vectors of given chunks, a row each; None if one is unavailable."""

    @abstractmethod
    def defining(self, symbols: Symbols, allowed: Allowed | None) -> list[int]:
        """Return chunks that define one of the names, at most a limited number."""

    @abstractmethod
    def using(self, symbols: Symbols, keys: Sequence[int]) -> set[int]:
        """Return the given chunks that contain one of the names."""

    @abstractmethod
    def places_of(self, keys: Sequence[int]) -> dict[int, ChunkSpan]: ...

    def run_legs(self, question: Question) -> tuple[LegResult, LegResult, Allowed | None]:
        """Run both legs within the filter. The question is embedded while the lexical leg runs."""
        allowed = None if question.where is None else self.allowed(question.where)
        return self.lexical_leg(question, allowed), self.dense_leg(question, allowed), allowed

    def candidates(self, question: Question) -> Candidates:
        """Run the requested legs, and add each leg's scores for the candidates of the other."""
        lexical, dense, allowed = self.run_legs(question)
        if not ran(lexical.leg) and not ran(dense.leg):
            return Candidates([], LegCandidates(lexical.leg), LegCandidates(dense.leg))
        names = question.symbols.names
        defining = self.defining(question.symbols, allowed) if names and ran(lexical.leg) else []
        keys = list(dict.fromkeys([*lexical.found.keys, *dense.found.keys, *defining]))
        # A dense leg alone under a filter returns the exact nearest chunks, and smoothing would change that.
        smooths = question.smooths and ran(dense.leg) and (ran(lexical.leg) or question.where is None)
        vectors = self.vectors(keys) if smooths else None
        return Candidates(
            keys,
            _completed(lexical, keys),
            _completed(dense, keys, vectors),
            places=self.places_of,
            vectors=vectors,
            bound=lexical.bound,
            words=lexical.words,
            chunks=self.chunk_count(),
            defining=defining,
            using=frozenset(self.using(question.symbols, keys)) if defining else frozenset(),
        )

    def lexical_leg(self, question: Question, allowed: Allowed | None) -> LegResult:
        """Search chunks that share words with the question, by BM25."""
        if question.terms is None:
            return skipped("the mode is dense")
        asked = question.terms

        def run() -> LegResult:
            terms = self.rarest(asked)
            if not terms:
                return skipped("the question has no words to look up")
            found = self.search_lexical(terms, question.depth, allowed)
            words = sum(weight for term, weight in terms.items() if self.document_frequency(term))
            return LegResult(
                _state(self.waiting_words, "the words of", "by what they mean"),
                found,
                score=lambda keys: self.score_lexical(terms, keys),
                bound=self._bound(terms),
                complete=len(found.keys) < question.depth,
                words=words,
            )

        return _guarded("lexical", run)

    def dense_leg(self, question: Question, allowed: Allowed | None) -> LegResult:
        """Search chunks similar to the question, by cosine."""
        if question.vector is None:
            return skipped("the mode is lexical")
        embed = question.vector

        def run() -> LegResult:
            vector = embed()
            found = self.search_dense(vector, question.depth, allowed)
            state = _state(self.waiting, "the vectors of", "by words")
            return LegResult(state, found, score=lambda keys: self.score_dense(vector, keys), vector=vector)

        return _guarded("dense", run)

    def rarest(self, terms: Mapping[str, float]) -> Mapping[str, float]:
        """Return the question's terms; only the rarest if there are very many."""
        if len(terms) <= MAX_TERMS:
            return terms
        rarest = sorted(terms, key=lambda term: (self.document_frequency(term), term))[:MAX_TERMS]
        return {term: terms[term] for term in rarest}

    def _bound(self, terms: Mapping[str, float]) -> float:
        """Return the highest possible BM25 score: Σ weight · idf · (k1 + 1) over terms that any chunk has."""
        total = self.chunk_count()
        known = ((weight, self.document_frequency(term)) for term, weight in terms.items())
        return sum(weight * rarity(total, frequency) * (K1 + 1) for weight, frequency in known if frequency)


def waited(result: LegResult, ms: float) -> LegResult:
    """Set a leg's time to that of both, because they ran together."""
    return replace(result, leg=replace(result.leg, ms=ms)) if ran(result.leg) else result


def _state(waiting: int, what: str, otherwise: str) -> Leg:
    """Return the status of a leg that ran, pending if documents are missing."""
    if not waiting:
        return Leg("ok")
    documents, they = ("1 document", "it") if waiting == 1 else (f"{waiting:,} documents", "they")
    return Leg("pending", f"{what} {documents} are not indexed yet: {they} can only be found {otherwise}")


def _completed(result: LegResult, keys: Sequence[int], vectors: Vector | None = None) -> LegCandidates:
    """Return the leg's exact scores of every candidate, including those only the other leg listed."""
    ranks = _ranks(result, keys)
    if ranks is None or result.score is None:
        return LegCandidates(result.leg, ranks)
    is_ranked = ranks > 0
    scores: Floats
    if vectors is not None and result.vector is not None:
        scores = (vectors @ result.vector).astype(np.float64)
    else:
        scores = np.full(len(keys), math.nan if result.leg.status == "pending" else 0.0)
        missing = [] if result.complete else np.flatnonzero(~is_ranked).tolist()
        known = result.score([keys[i] for i in missing]) if missing else {}
        for i in missing:
            scores[i] = known.get(keys[i], scores[i])
    scores[is_ranked] = np.array(result.found.scores, dtype=np.float64)[ranks[is_ranked] - 1]
    return LegCandidates(result.leg, ranks, scores)


def _ranks(result: LegResult, keys: Sequence[int]) -> Ranks | None:
    if not ran(result.leg):
        return None
    ranks = dict(zip(result.found.keys, count(1), strict=False))
    return np.array(list(map(ranks.get, keys, repeat(0))), dtype=np.int64)


def _guarded(name: str, run: Callable[[], LegResult]) -> LegResult:
    start = time.perf_counter()
    try:
        with tracing.span(f"retrieve.{name}"):
            result = run()
    except FootnotesError as error:
        return LegResult(Leg("failed", f"{error.code}: {error.message}", _ms(start)))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # any error, even a panic in native code, fails only this leg
        return LegResult(Leg("failed", f"{type(error).__name__}: {error}", _ms(start)))
    return replace(result, leg=replace(result.leg, ms=_ms(start)))


def _ms(start: float) -> float:
    return round((time.perf_counter() - start) * 1000, 3)
