"""A question → hits: both legs at once, their scores completed, fused, and only then read from the store."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from itertools import count, islice, repeat
from typing import Literal, TypeGuard

import numpy as np

from footnotes import tracing
from footnotes.errors import OptionError, QueryEmpty, QueryTooLong, SearchUnavailable
from footnotes.index import Allowed, Vector
from footnotes.retrieve import fuse
from footnotes.retrieve.diversify import Diversity
from footnotes.retrieve.legs import LegResult, dense_leg, lexical_leg, question_terms, ran, skipped
from footnotes.retrieve.symbols import Asked, Boosts, asked_names, boosts, symbols_of
from footnotes.store import DistantView, SearchView
from footnotes.store.records import HitRow
from footnotes.store.views import NO_SYMBOLS, Symbols
from footnotes.types import Filter, Hit, Leg, LegScore, Mode, Scores, SearchResult

Fusion = Literal["adaptive", "alpha", "rrf"]
MAX_LIMIT = 1_000
MOST_OVERLAP = 0.25
_LOOKED_UP_AT_ONCE = 32
_WORTH_A_THREAD_MS = 1.5
"""Handing a leg to a thread costs a fraction of a millisecond: worth it when the embedder is waited for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search."""

    mode: Mode = "hybrid"
    limit: int = 10
    per_document: int = 1
    where: Filter | None = None
    fusion: Fusion = "adaptive"
    alpha: float = 0.7
    rrf_k: int = 60
    weights: tuple[float, float] = (1.0, 1.0)
    missing_rank: int = 0
    candidates: int = 50
    max_query_chars: int = 20_000


class Retriever:
    """Searches any store's view. Holds a few threads, so that a leg that waits does not hold up the other."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="footnotes-leg")
        self._embed_ms = math.inf

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def search(
        self, view: SearchView, query: str, options: SearchOptions, embed: Callable[[str], Vector]
    ) -> SearchResult:
        """The best chunks for a question, and how each leg went."""
        began = time.perf_counter()
        query = checked_query(query, options.max_query_chars)
        _check(options)
        names = () if options.mode == "dense" else asked_names(query)
        symbols = symbols_of(names) if names else NO_SYMBOLS
        allowed = None if options.where is None or _is_distant(view) else view.allowed(options.where)
        lexical, dense = self._run_legs(view, query, options, embed, allowed, symbols)
        legs = {"lexical": lexical.leg, "dense": dense.leg}
        if not any(ran(leg) for leg in legs.values()):
            _raise_unavailable(legs)
        with tracing.span("fuse", fusion=options.fusion):
            defining = view.defining(symbols, allowed) if symbols.names and ran(lexical.leg) else []
            fused = _fused(view, lexical, dense, options, names, defining)
        with tracing.span("read"):
            hits = tuple(_hits(view, *fused, options))
        degraded = any(leg.status in ("failed", "pending") for leg in legs.values())
        return SearchResult(query, hits, legs, degraded, round((time.perf_counter() - began) * 1000, 3))

    def _run_legs(
        self,
        view: SearchView,
        query: str,
        options: SearchOptions,
        embed: Callable[[str], Vector],
        allowed: Allowed | None,
        symbols: Symbols,
    ) -> tuple[LegResult, LegResult]:
        depth = max(options.candidates, options.limit)
        if _is_distant(view):
            return _legs_at_once(view, query, options, depth, embed, symbols)
        if options.mode == "lexical":
            return lexical_leg(view, query, depth, allowed), skipped("the mode is lexical")
        if options.mode == "dense":
            return skipped("the mode is dense"), dense_leg(view, query, depth, allowed, embed)
        if self._embed_ms < _WORTH_A_THREAD_MS:
            dense = dense_leg(view, query, depth, allowed, self._timed(embed))
            return lexical_leg(view, query, depth, allowed), dense
        other = self._pool.submit(copy_context().run, dense_leg, view, query, depth, allowed, self._timed(embed))
        lexical = lexical_leg(view, query, depth, allowed)
        return lexical, other.result()

    def _timed(self, embed: Callable[[str], Vector]) -> Callable[[str], Vector]:
        """Notes how long the embedder is waited for: the rest of a leg takes longer in a thread than outside of one."""

        def timed(query: str) -> Vector:
            began = time.perf_counter()
            try:
                return embed(query)
            finally:
                self._embed_ms = (time.perf_counter() - began) * 1000

        return timed


def _is_distant(view: SearchView) -> TypeGuard[DistantView]:
    return hasattr(view, "fetch")  # asking a protocol about all of its methods takes longer than some searches


def _legs_at_once(
    view: DistantView,
    query: str,
    options: SearchOptions,
    depth: int,
    embed: Callable[[str], Vector],
    symbols: Symbols,
) -> tuple[LegResult, LegResult]:
    """Both legs in one round trip: the question is embedded first, then everything is asked for together."""
    terms = {} if options.mode == "dense" else question_terms(view, query)
    embedded = None if options.mode == "lexical" else _attempted(embed, query)
    began = time.perf_counter()
    view.fetch(
        terms,
        embedded if isinstance(embedded, np.ndarray) else None,
        depth=depth,
        where=options.where,
        reading=2 * options.limit,
        per_document=options.per_document,
        symbols=symbols,
    )
    waited = round((time.perf_counter() - began) * 1000, 3)
    lexical = skipped("the mode is dense") if options.mode == "dense" else lexical_leg(view, query, depth, None)
    if options.mode == "lexical":
        return _waited(lexical, waited), skipped("the mode is lexical")
    return _waited(lexical, waited), _waited(dense_leg(view, query, depth, None, lambda _: _given(embedded)), waited)


def _waited(result: LegResult, ms: float) -> LegResult:
    """A leg that ran together with the other one took as long as both."""
    return replace(result, leg=replace(result.leg, ms=ms)) if ran(result.leg) else result


def _attempted(embed: Callable[[str], Vector], query: str) -> Vector | Exception:
    """The question's vector, or what kept it from being made: the dense leg says so, the lexical one runs."""
    try:
        return embed(query)
    except Exception as error:
        return error


def _given(embedded: Vector | Exception | None) -> Vector:
    if isinstance(embedded, np.ndarray):
        return embedded
    assert embedded is not None
    raise embedded


def checked_query(query: str, max_chars: int) -> str:
    """The question as it is searched, or a clear error."""
    if not isinstance(query, str):
        raise OptionError(f"a question is text, not {type(query).__name__}")
    if len(query) > max_chars:
        raise QueryTooLong(f"the question has {len(query):,} characters; {max_chars:,} are allowed")
    query = query.replace("\x00", " ").strip()
    if not query:
        raise QueryEmpty("the question is empty")
    return query


def _check(options: SearchOptions) -> None:
    for name in ("limit", "per_document", "candidates", "rrf_k", "missing_rank"):
        if not isinstance(getattr(options, name), int):
            raise OptionError(f"{name} must be a whole number, not {getattr(options, name)!r}")
    if not 1 <= options.limit <= MAX_LIMIT:
        raise OptionError(f"limit must be between 1 and {MAX_LIMIT}, not {options.limit}")
    if options.per_document < 1 or options.candidates < 1:
        raise OptionError("per_document and candidates must be at least 1")
    if not 0 <= options.alpha <= 1 or options.rrf_k < 1:
        raise OptionError("alpha must be between 0 and 1, and rrf_k at least 1")
    if len(options.weights) != 2 or not all(math.isfinite(each) and each >= 0 for each in options.weights):
        raise OptionError("weights must be two numbers that are not negative: of the lexical and of the dense leg")
    if not any(options.weights) or options.missing_rank < 0:
        raise OptionError("one of the weights must be above 0, and missing_rank not below it")
    if options.mode not in ("hybrid", "lexical", "dense"):
        raise OptionError(f"there is no mode {options.mode!r}; use hybrid, lexical or dense")
    if options.fusion not in ("adaptive", "alpha", "rrf"):
        raise OptionError(f"there is no fusion {options.fusion!r}; use adaptive, alpha or rrf")


def _fused(
    view: SearchView,
    lexical: LegResult,
    dense: LegResult,
    options: SearchOptions,
    names: Sequence[Asked],
    defining: Sequence[int],
) -> tuple[list[int], Callable[[int], Scores]]:
    """All candidates, best first, with every score that is known of them. What defines a name is among them."""
    keys = list(dict.fromkeys([*lexical.found.keys, *dense.found.keys, *defining]))
    # A dense leg alone under a filter is the exact nearest of what passes, and stays so: nothing is smoothed.
    smooths = options.fusion == "adaptive" and ran(dense.leg) and (ran(lexical.leg) or options.where is None)
    vectors = view.vectors(keys) if smooths else None
    lexical_ranks, dense_ranks = _ranks(lexical, keys), _ranks(dense, keys)
    lexical_scores = _completed(lexical, keys, lexical_ranks)
    dense_scores = _completed(dense, keys, dense_ranks, vectors)
    candidates = fuse.Candidates(
        lexical=lexical_scores,
        dense=_filled(dense_scores),
        lexical_ranks=lexical_ranks,
        dense_ranks=dense_ranks,
        lexical_bound=lexical.bound,
        words=lexical.words,
        chunks=view.chunk_count(),
        vectors=vectors,
    )
    fused = _fuse(candidates, options)
    boosted = boosts(view, names, defining, keys, fused) if defining else Boosts({}, {})
    totals = fused + np.array([boosted.added.get(key, 0.0) for key in keys]) if boosted.added else fused
    order = np.lexsort((np.asarray(keys, dtype=np.int64), -totals)).tolist()
    legs = [_leg_scores(lexical_scores, lexical_ranks), _leg_scores(dense_scores, dense_ranks)]
    at = {key: i for i, key in enumerate(keys)}
    final = fused.tolist()

    def scores_of(key: int) -> Scores:
        i = at[key]
        boost, reason = boosted.added.get(key, 0.0), boosted.reasons.get(key, "")
        return Scores(legs[0](i), legs[1](i), final[i], boost=boost, reason=reason)

    return [keys[i] for i in order], scores_of


def _fuse(candidates: fuse.Candidates, options: SearchOptions) -> fuse.Floats:
    if options.fusion == "rrf":
        return fuse.rrf(candidates, k=options.rrf_k, weights=options.weights, missing_rank=options.missing_rank)
    if options.fusion == "alpha":
        return fuse.alpha_blend(candidates, alpha=options.alpha)
    return fuse.adaptive(candidates)


def _completed(
    result: LegResult, keys: Sequence[int], ranks: fuse.Ranks | None, vectors: Vector | None = None
) -> fuse.Floats | None:
    """The leg's exact score of every candidate, also of those only the other leg listed."""
    if ranks is None or result.score is None:
        return None
    listed = ranks > 0
    if vectors is not None and result.vector is not None:
        scores = (vectors @ result.vector).astype(np.float64)
    else:
        scores = np.full(len(keys), math.nan if result.leg.status == "pending" else 0.0)
        missing = [] if result.complete else np.flatnonzero(~listed).tolist()
        known = result.score([keys[i] for i in missing]) if missing else {}
        for i in missing:
            scores[i] = known.get(keys[i], scores[i])
    scores[listed] = np.array(result.found.scores, dtype=np.float64)[ranks[listed] - 1]
    return scores


def _filled(scores: fuse.Floats | None) -> fuse.Floats | None:
    """Chunks that have no vector yet stand where the others stand on average, and their words decide."""
    if scores is None or not np.isnan(scores).any():
        return scores
    return np.nan_to_num(scores, nan=float(np.nanmean(scores)) if not np.isnan(scores).all() else 0.0)


def _ranks(result: LegResult, keys: Sequence[int]) -> fuse.Ranks | None:
    if not ran(result.leg):
        return None
    ranks = dict(zip(result.found.keys, count(1), strict=False))
    return np.array(list(map(ranks.get, keys, repeat(0))), dtype=np.int64)


def _leg_scores(scores: fuse.Floats | None, ranks: fuse.Ranks | None) -> Callable[[int], LegScore | None]:
    """What a leg says of the candidate at a place; nothing where it did not run or does not know it."""
    if scores is None or ranks is None:
        return lambda i: None
    all_scores, all_ranks = scores.tolist(), ranks.tolist()
    return lambda i: None if math.isnan(all_scores[i]) else LegScore(all_ranks[i] or None, all_scores[i])


def _hits(
    view: SearchView, keys: list[int], scores_of: Callable[[int], Scores], options: SearchOptions
) -> Iterator[Hit]:
    """Read candidates in order until there are enough that differ. Reading costs most: only what may stay is read."""
    diversity = Diversity()
    apart = _Apart(view, options.per_document)
    remaining = apart.of(keys)
    wanted = options.limit
    while wanted > 0 and (batch := list(islice(remaining, wanted))):
        for row in view.hits(batch):
            scores = scores_of(row.key)
            if diversity.admits(row.text, scores):
                wanted -= 1
                yield _hit(row, scores)
            else:
                apart.give_back(row.key)


class _Apart:
    """Lets through at most so many chunks of any document, and none that repeats much of a better one."""

    def __init__(self, view: SearchView, most: int) -> None:
        self._view = view
        self._most = most
        self._document_of: dict[int, int] = {}
        self._taken: Counter[int] = Counter()
        self._spans: dict[int, list[tuple[int, int]]] = {}

    def of(self, keys: list[int]) -> Iterator[int]:
        """The keys that may be shown, of those that are still there."""
        for first in range(0, len(keys), _LOOKED_UP_AT_ONCE):
            batch = keys[first : first + _LOOKED_UP_AT_ONCE]
            places = self._view.places_of(batch)
            for key in batch:
                if key in places and self._admits(*places[key]):
                    self._document_of[key] = places[key][0]
                    yield key

    def give_back(self, key: int) -> None:
        """A chunk was not shown after all: its document may show another."""
        self._taken[self._document_of[key]] -= 1

    def _admits(self, document: int, start: int, end: int) -> bool:
        spans = self._spans.setdefault(document, [])
        if self._taken[document] >= self._most or any(_repeats((start, end), span) for span in spans):
            return False
        spans.append((start, end))
        self._taken[document] += 1
        return True


def _repeats(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two spans share more than the usual overlap of neighbouring chunks."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common > MOST_OVERLAP * min(one[1] - one[0], other[1] - other[0])


def _hit(row: HitRow, scores: Scores) -> Hit:
    return Hit(
        chunk_id=row.chunk_id,
        document_id=row.document_id,
        filename=row.filename,
        title=row.title,
        collection=row.collection,
        text=row.text,
        start=row.start,
        end=row.end,
        pages=row.pages,
        headings=row.headings,
        index=row.index,
        metadata=row.metadata,
        score=scores.fused + scores.boost,
        scores=scores,
        total=row.total,
        lines=row.lines,
    )


def _raise_unavailable(legs: dict[str, Leg]) -> None:
    if any(leg.status == "failed" for leg in legs.values()):
        reasons = "; ".join(f"{name}: {leg.reason}" for name, leg in legs.items() if leg.reason)
        raise SearchUnavailable(f"no leg of the search could run ({reasons})")
