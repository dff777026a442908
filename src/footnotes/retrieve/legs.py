"""The two ways of finding. Each runs by itself and says how it went; one that fails does not stop the other."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from footnotes import tracing
from footnotes.errors import FootnotesError
from footnotes.index import Allowed, Found, Vector
from footnotes.store import SearchView
from footnotes.text.analysis import analyze_question
from footnotes.types import Leg

MAX_TERMS = 256
_K1 = 1.2


@dataclass(frozen=True, slots=True)
class LegResult:
    """What a leg found, and how it went. `score` gives the leg's exact score of any other candidates.

    `complete` says that every chunk with a score above zero is listed, so that the others have none; `words` is how
    many of the question's terms some chunk has; `vector` is the question's.
    """

    leg: Leg
    found: Found = field(default_factory=Found)
    score: Callable[[list[int]], dict[int, float]] | None = None
    bound: float = 0.0
    complete: bool = False
    words: float = 0.0
    vector: Vector | None = None


def ran(leg: Leg) -> bool:
    """Whether a leg gave results, even if some documents were not in it yet."""
    return leg.status in ("ok", "pending")


def skipped(reason: str) -> LegResult:
    return LegResult(Leg("skipped", reason))


def lexical_leg(view: SearchView, query: str, limit: int, allowed: Allowed | None) -> LegResult:
    """Chunks that share words with the question, by BM25."""

    def run() -> LegResult:
        terms = question_terms(view, query)
        if not terms:
            return skipped("the question has no words to look up")
        found = view.search_lexical(terms, limit, allowed)
        bound = upper_bound(view, terms)
        words = sum(weight for term, weight in terms.items() if view.document_frequency(term))
        all_listed = len(found.keys) < limit
        state = _state(view.waiting_words, "the words of", "by what they mean")
        return LegResult(state, found, lambda keys: view.score_lexical(terms, keys), bound, all_listed, words)

    return _guarded("lexical", run)


def dense_leg(
    view: SearchView, query: str, limit: int, allowed: Allowed | None, embed: Callable[[str], Vector]
) -> LegResult:
    """Chunks that mean something near to the question, by cosine."""

    def run() -> LegResult:
        vector = embed(query)
        found = view.search_dense(vector, limit, allowed)
        state = _state(view.waiting, "the vectors of", "by words")
        return LegResult(state, found, lambda keys: view.score_dense(vector, keys), vector=vector)

    return _guarded("dense", run)


def _state(waiting: int, what: str, otherwise: str) -> Leg:
    """A leg that ran, and whether it knew everything."""
    if not waiting:
        return Leg("ok")
    documents, they = ("1 document", "it") if waiting == 1 else (f"{waiting:,} documents", "they")
    return Leg("pending", f"{what} {documents} are not indexed yet: {they} can only be found {otherwise}")


def question_terms(view: SearchView, query: str) -> dict[str, float]:
    """The question's terms with how often it says each; of very many, the rarest are kept."""
    counted = Counter(analyze_question(query))
    if len(counted) > MAX_TERMS:
        rarest = sorted(counted, key=lambda term: (view.document_frequency(term), term))[:MAX_TERMS]
        return {term: float(counted[term]) for term in rarest}
    return {term: float(count) for term, count in counted.items()}


def upper_bound(view: SearchView, terms: Mapping[str, float]) -> float:
    """The highest BM25 score any text could reach: Σ weight · idf · (k1 + 1) over terms some chunk has."""
    total = view.chunk_count()
    bound = 0.0
    for term, weight in terms.items():
        frequency = view.document_frequency(term)
        if frequency:
            bound += weight * math.log(1 + (total - frequency + 0.5) / (frequency + 0.5)) * (_K1 + 1)
    return bound


def _guarded(name: str, run: Callable[[], LegResult]) -> LegResult:
    began = time.perf_counter()
    try:
        with tracing.span(f"retrieve.{name}"):
            result = run()
    except FootnotesError as error:
        return LegResult(Leg("failed", f"{error.code}: {error.message}", _ms(began)))
    except (KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # whatever breaks a leg, a panic of native code too, is that leg's failure
        return LegResult(Leg("failed", f"{type(error).__name__}: {error}", _ms(began)))
    leg = Leg(result.leg.status, result.leg.reason, _ms(began))
    return LegResult(leg, result.found, result.score, result.bound, result.complete, result.words, result.vector)


def _ms(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 3)
