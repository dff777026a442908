"""Turns a question into hits: runs both legs, completes their scores, fuses them, and reads only the best chunks."""

from __future__ import annotations

import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Literal

import numpy as np

from footnotes import tracing
from footnotes.embed.background import Cosines
from footnotes.errors import OptionError, QueryEmpty, QueryTooLong, SearchUnavailable
from footnotes.index import Vector
from footnotes.retrieve import fuse
from footnotes.retrieve.diversify import Diversity, most_chunks, usual_chunks
from footnotes.retrieve.named import (
    Asked,
    Boosts,
    Nature,
    before_others,
    boosts,
    documents_named,
    find_names,
    naming,
    symbols_of,
    within,
)
from footnotes.store import SearchView
from footnotes.store.legs import ran
from footnotes.store.records import ChunkSpan, StoredHit
from footnotes.store.views import NO_SYMBOLS, Candidates, LegCandidates, Question
from footnotes.text.analysis import analyze_question
from footnotes.types import Filter, Hit, Leg, LegScore, Mode, Scores, SearchResult

Fusion = Literal["adaptive", "alpha", "rrf"]
MAX_LIMIT = 1_000
MOST_OVERLAP = 0.25
_LOOKED_UP_AT_ONCE = 32
_WORTH_A_THREAD_MS = 1.5
"""Starting a thread costs a fraction of a millisecond, so a thread pays only for embedders slower than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchOptions:
    """How to search."""

    mode: Mode = "hybrid"
    limit: int = 10
    per_document: int = 0  # chunks a document may show; 0 lets its length decide
    where: Filter | None = None
    fusion: Fusion = "adaptive"
    alpha: float = 0.7
    rrf_k: int = 60
    weights: tuple[float, float] = (1.0, 1.0)
    missing_rank: int = 0
    candidates: int = 50
    max_query_chars: int = 20_000
    cosines: Cosines = field(default_factory=Cosines)  # how to read the embedder's cosines


class Retriever:
    """Searches any store's view. Holds a few threads, so that a question is embedded while the lexical leg runs."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(max_workers=8, thread_name_prefix="footnotes-leg")
        self._embed_ms = math.inf
        self._nature = Nature()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def search(
        self, view: SearchView, query: str, options: SearchOptions, embed: Callable[[str], Vector]
    ) -> SearchResult:
        """Return the best chunks, and how each leg went. A document named in the question comes first."""
        start = time.perf_counter()
        query = checked_query(query, options.max_query_chars)
        _check(options)
        result = self._inside(view, query, options, embed) if _chooses(options) else None
        if result is None:
            result = self._anywhere(view, query, options, embed)
        return replace(result, query=query, took_ms=round((time.perf_counter() - start) * 1000, 3))

    def _inside(
        self, view: SearchView, query: str, options: SearchOptions, embed: Callable[[str], Vector]
    ) -> SearchResult | None:
        """Search the rest of the question in the document it names; append hits from other documents."""
        named = naming(query)
        documents = documents_named(view, named, options.where) if named else ()
        if named is None or not documents:
            return None
        inner = replace(options, where=within(documents, options.where))
        result = self._anywhere(view, named.rest, replace(inner, per_document=options.per_document or MAX_LIMIT), embed)
        if not result.hits:
            return None
        if len(result.hits) == options.limit:
            return replace(result, hits=before_others(result.hits, ()))
        others = self._anywhere(view, query, options, embed).hits
        others = tuple(hit for hit in others if hit.document_id not in documents)
        return replace(result, hits=before_others(result.hits, others)[: options.limit])

    def _anywhere(
        self, view: SearchView, query: str, options: SearchOptions, embed: Callable[[str], Vector]
    ) -> SearchResult:
        names = () if options.mode == "dense" else find_names(query)
        question = self._question(query, options, names, embed)
        found = view.candidates(question)
        legs = {"lexical": found.lexical.leg, "dense": found.dense.leg}
        if not any(ran(leg) for leg in legs.values()):
            _raise_unavailable(legs)
        with tracing.span("fuse", fusion=options.fusion):
            fused = _fuse_legs(view, found, options, names, self._features(view, question, found, options))
        with tracing.span("read"):
            hits = tuple(_hits(view, found, *fused, options))
        degraded = any(leg.status in ("failed", "pending") for leg in legs.values())
        return SearchResult(query, hits, legs, degraded, 0.0)

    def _features(
        self, view: SearchView, question: Question, found: Candidates, options: SearchOptions
    ) -> fuse.Candidates:
        """Return the candidates in the form that fusion takes."""
        both = found.lexical.scores is not None and found.dense.scores is not None
        is_prose = both and not self._nature.is_code(view, found.chunks)
        return fuse.Candidates(
            lexical=found.lexical.scores,
            dense=_fill_missing_scores(found.dense.scores, options.cosines.gain),
            lexical_ranks=found.lexical.ranks,
            dense_ranks=found.dense.ranks,
            lexical_bound=found.bound,
            words=found.words,
            asked=sum((question.terms or {}).values()),
            chunks=found.chunks,
            vectors=found.vectors,
            background=options.cosines.background,
            least_weight=options.cosines.least_words if is_prose else fuse.LEAST_WORD_WEIGHT,
        )

    def _question(
        self, query: str, options: SearchOptions, names: Sequence[Asked], embed: Callable[[str], Vector]
    ) -> Question:
        counter = None if options.mode == "dense" else Counter(analyze_question(query))
        return Question(
            terms=None if counter is None else {term: float(number) for term, number in counter.items()},
            vector=None
            if options.mode == "lexical"
            else self._build_embedding(embed, query, alone=options.mode == "dense"),
            depth=max(options.candidates, options.limit),
            where=options.where,
            symbols=symbols_of(names) if names else NO_SYMBOLS,
            reading=2 * options.limit,
            per_document=options.per_document or options.limit,
            smooths=options.fusion == "adaptive",
        )

    def _build_embedding(self, embed: Callable[[str], Vector], query: str, *, alone: bool) -> Callable[[], Vector]:
        """Start embedding the question, in a thread if the embedder is slow enough."""
        if alone or self._embed_ms < _WORTH_A_THREAD_MS:
            return lambda: self._embed_timed(embed, query)
        return self._pool.submit(copy_context().run, self._embed_timed, embed, query).result

    def _embed_timed(self, embed: Callable[[str], Vector], query: str) -> Vector:
        """Embed and measure the time: for a quick embedder a thread costs more than it saves."""
        start = time.perf_counter()
        try:
            return embed(query)
        finally:
            # A busy machine makes single calls look slow, so the estimate falls at once but only doubles at most.
            self._embed_ms = min((time.perf_counter() - start) * 1000, 2 * self._embed_ms)


_SPACES = re.compile(r"(\s{20})\s+")
"""Matches more white space than any question needs. Patterns that look for words would take long over it."""


def checked_query(query: str, max_chars: int) -> str:
    """Return the question as it is searched. Raises if it is empty or too long."""
    if not isinstance(query, str):
        raise OptionError(f"a question is text, not {type(query).__name__}")
    if len(query) > max_chars:
        raise QueryTooLong(f"the question has {len(query):,} characters; {max_chars:,} are allowed")
    query = _SPACES.sub(r"\1", query.replace("\x00", " ").strip())
    if not query:
        raise QueryEmpty("the question is empty")
    return query


def _chooses(options: SearchOptions) -> bool:
    """Return whether a name in the question may select the document: only in the default mode and fusion."""
    return options.mode == "hybrid" and options.fusion == "adaptive"


def _check(options: SearchOptions) -> None:
    for name in ("limit", "per_document", "candidates", "rrf_k", "missing_rank"):
        if not isinstance(getattr(options, name), int):
            raise OptionError(f"{name} must be a whole number, not {getattr(options, name)!r}")
    if not 1 <= options.limit <= MAX_LIMIT:
        raise OptionError(f"limit must be between 1 and {MAX_LIMIT}, not {options.limit}")
    if options.per_document < 0 or options.candidates < 1:
        raise OptionError(
            "candidates must be at least 1, and per_document not below 0, which lets it follow the documents"
        )
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


def _fuse_legs(
    view: SearchView, found: Candidates, options: SearchOptions, names: Sequence[Asked], features: fuse.Candidates
) -> tuple[list[int], Callable[[int], Scores]]:
    """Return all candidates, best first, with their scores. They include the definitions of names in the question."""
    keys = found.keys
    fused = _fuse(features, options)
    boosted = boosts(view, names, found, fused) if found.defining else Boosts({}, {})
    totals = fused + np.array([boosted.added.get(key, 0.0) for key in keys]) if boosted.added else fused
    order = np.lexsort((np.asarray(keys, dtype=np.int64), -totals)).tolist()
    legs = [_leg_scores(found.lexical), _leg_scores(found.dense)]
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


def _fill_missing_scores(scores: fuse.Floats | None, gain: float) -> fuse.Floats | None:
    """Scale the scores, and give chunks without a vector the mean, so that the lexical leg ranks them."""
    if scores is None:
        return None
    scores = scores * gain
    if not np.isnan(scores).any():
        return scores
    return np.nan_to_num(scores, nan=float(np.nanmean(scores)) if not np.isnan(scores).all() else 0.0)


def _leg_scores(leg: LegCandidates) -> Callable[[int], LegScore | None]:
    """Return the leg's score by index of the candidate; None if the leg did not run or does not know it."""
    if leg.scores is None or leg.ranks is None:
        return lambda i: None
    scores, ranks = leg.scores.tolist(), leg.ranks.tolist()
    return lambda i: None if math.isnan(scores[i]) else LegScore(ranks[i] or None, scores[i])


def _hits(
    view: SearchView, found: Candidates, keys: list[int], scores_of: Callable[[int], Scores], options: SearchOptions
) -> Iterator[Hit]:
    """Read candidates in order until enough of them differ. Reading is the slowest step, so duplicates are skipped."""
    diversity = Diversity()
    limits = _Limits(found.places, options.per_document or options.limit)
    counts: Counter[str] = Counter()
    per_document: int | None = None
    remaining = limits.admit(keys)
    room = options.limit
    while room > 0 and (batch := list(islice(remaining, room))):
        rows = view.hits(batch)
        if per_document is None:
            per_document = options.per_document or usual_chunks([row.total for row in rows])
        for row in rows:
            scores = scores_of(row.key)
            allowed = counts[row.document_id] < most_chunks(per_document, row.total)
            if allowed and diversity.admits(row.text, scores):
                counts[row.document_id] += 1
                room -= 1
                yield _hit(row, scores)
            else:
                limits.release(row.key)


class _Limits:
    """Passes a limited number of chunks per document, and none that overlap much with a better one."""

    def __init__(self, places: Callable[[Sequence[int]], Mapping[int, ChunkSpan]], most: int) -> None:
        self._places_of = places
        self._most = most
        self._document_of: dict[int, int] = {}
        self._taken: Counter[int] = Counter()
        self._spans: dict[int, list[tuple[int, int]]] = {}

    def admit(self, keys: list[int]) -> Iterator[int]:
        """Yield the keys that may be shown and still exist."""
        for first in range(0, len(keys), _LOOKED_UP_AT_ONCE):
            batch = keys[first : first + _LOOKED_UP_AT_ONCE]
            places = self._places_of(batch)
            for key in batch:
                if key in places and self._admits(*places[key]):
                    self._document_of[key] = places[key][0]
                    yield key

    def release(self, key: int) -> None:
        """Undo a chunk that was not shown: its document may show another."""
        self._taken[self._document_of[key]] -= 1

    def _admits(self, document: int, start: int, end: int) -> bool:
        spans = self._spans.setdefault(document, [])
        if self._taken[document] >= self._most or any(_repeats((start, end), span) for span in spans):
            return False
        spans.append((start, end))
        self._taken[document] += 1
        return True


def _repeats(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two spans share more than the usual overlap of neighbouring chunks."""
    common = min(one[1], other[1]) - max(one[0], other[0])
    return common > MOST_OVERLAP * min(one[1] - one[0], other[1] - other[0])


def _hit(row: StoredHit, scores: Scores) -> Hit:
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
