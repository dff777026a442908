"""Runs a search: the caller's options over the settings, synonyms, both legs, a reranker."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypedDict

import numpy as np

from footnotes import tracing
from footnotes.embed.background import Cosines
from footnotes.embed.embedders import Embedders
from footnotes.errors import OptionError, SearchUnavailable
from footnotes.index import Vector
from footnotes.retrieve.expand import merged_hits, variants_of
from footnotes.retrieve.rerankers.make import Complete, Parts, Reranking
from footnotes.retrieve.retriever import Retriever, SearchOptions, checked_query
from footnotes.retrieve.where import Where, as_filter, both, in_collection
from footnotes.retrieve.words import split_words
from footnotes.settings import NO_RERANKER, QUALITIES, Settings
from footnotes.store import SearchView, Store
from footnotes.store.collections import check_collection
from footnotes.types import Hit, Role, SearchResult

_LOG = logging.getLogger("footnotes.retrieve")
Say = Callable[[str, str], str]
"""Calls the chat model of the settings with system and user text."""


class SearchRequest(TypedDict, total=False):
    """How to search, here or on a server; the settings supply what is missing."""

    limit: int | None
    mode: str | None
    where: Where | None
    collection: str | None
    per_document: int | None
    fusion: str | None
    alpha: float | None
    """Only for the fusion `alpha`."""
    rrf_k: int | None
    """Only for the fusion `rrf`, like `weights` (lexical, dense) and `missing_rank`."""
    weights: Sequence[float] | None
    missing_rank: int | None
    reranker: str | None
    expand: Sequence[str] | None
    """Additional searches: `("synonyms",)` adds synonyms of the question's words."""


class SearchChoices(SearchRequest, total=False):
    """How to search here."""

    candidates: int | None


class Searcher:
    """Searches one tenant's library. Safe to use from several threads."""

    def __init__(
        self,
        store: Store,
        user: str,
        settings: Settings,
        embedders: Embedders,
        *,
        say: Say | None = None,
        complete: Complete | None = None,
    ) -> None:
        self._store, self._user, self._settings, self._embedders = store, user, settings, embedders
        self._say = say
        self._retriever = Retriever()
        self._reranking = Reranking(settings, self._reranker_parts(complete))
        self._generation: int | None = None

    def close(self) -> None:
        self._retriever.close()
        self._reranking.close()

    def at_generation(self, generation: int) -> Searcher:
        """Return a searcher over another generation than the published one."""
        same = object.__new__(Searcher)
        same.__dict__ = {**self.__dict__, "_generation": generation}
        return same

    def view(self) -> SearchView:
        """Return the current view of the library."""
        return self._store.view(self._user, self._generation)

    def search(self, query: str, choices: SearchChoices) -> SearchResult:
        """Return the best chunks, with their rank and score in each leg.

        An unknown collection is an error; it is checked only when nothing was found.
        """
        found = self._rank(query, choices)
        if not found.hits and (collection := choices.get("collection")):
            check_collection(self._store.collections, self._user, collection)
        return found

    def _rank(self, query: str, choices: SearchChoices) -> SearchResult:
        query, within = split_words(checked_query(query, self._settings.max_query_chars))
        options = self._options(choices, within)
        settings = self._settings
        expand = choices.get("expand")
        ways = [way for way in settings.expand if way == "synonyms"] if expand is None else expand
        reranked_by = self._reranked_by(choices.get("reranker"), options)
        if reranked_by in ("", NO_RERANKER):
            return self._expand(query, options, ways)
        depth = max(options.limit, settings.rerank_candidates)
        found = self._expand(query, replace(options, limit=depth, per_document=depth), ways)
        reranked = self._reranking.apply(reranked_by, found, per_document=options.per_document, limit=options.limit)
        if len(reranked.hits) == options.limit or len(found.hits) < depth:
            return reranked
        # A few documents filled the candidates and may not show them all: append others.
        return _followed_by(reranked, self._expand(query, options, ways).hits, options.limit)

    def _reranked_by(self, name: str | None, options: SearchOptions) -> str:
        """Return the requested reranker, else that of the settings. `quality` implies one only for default searches."""
        if name is not None:
            return name
        settings = self._settings
        is_implied = settings.reranker == QUALITIES[settings.quality].get("reranker")
        is_default = options.mode == "hybrid" and options.fusion == "adaptive"
        return settings.reranker if is_default or not is_implied else ""

    def _options(self, choices: SearchChoices, within: Any) -> SearchOptions:
        """Merge the caller's choices with the settings."""
        settings = self._settings
        fusion = choices.get("fusion") or settings.fusion
        _check_fusion(fusion, choices)

        def pick(name: str) -> Any:
            value = choices.get(name)
            return getattr(settings, name) if value is None else value

        return SearchOptions(
            mode=choices.get("mode") or settings.mode,  # type: ignore[arg-type]
            where=in_collection(both(as_filter(choices.get("where")), within), choices.get("collection")),
            fusion=fusion,  # type: ignore[arg-type]
            weights=tuple(pick("weights")),
            max_query_chars=settings.max_query_chars,
            **{name: pick(name) for name in ("limit", "per_document", "alpha", "rrf_k", "missing_rank", "candidates")},
        )

    def _expand(self, query: str, options: SearchOptions, ways: Sequence[str]) -> SearchResult:
        """Search once, or merge several searches if the question is expanded."""
        synonyms = self._settings.synonyms_file
        variants = variants_of(query, ways, synonyms=synonyms, say=self._say) if ways else []
        found = self._search(query, options)
        if not variants:
            return found
        further = [self._search(each.query, replace(options, mode=each.mode or options.mode)) for each in variants]
        hits = merged_hits([found.hits, *(each.hits for each in further)], options.limit)
        milliseconds = round(sum(each.took_ms for each in (found, *further)), 3)
        return replace(found, hits=tuple(hits), took_ms=milliseconds, expanded=tuple(each.added for each in variants))

    def _search(self, query: str, options: SearchOptions) -> SearchResult:
        while True:
            view = self.view()
            options = replace(options, cosines=self._cosines(view, options))
            try:
                with tracing.span("retrieve", mode=options.mode, limit=options.limit):
                    result = self._retriever.search(view, query, options, self._build_embedding(view))
            except SearchUnavailable:
                if view.is_current():
                    raise
                continue
            if view.is_current():
                _log_search(result, options)
                return result

    def _cosines(self, view: SearchView, options: SearchOptions) -> Cosines:
        has_dense = view.fingerprint and options.mode != "lexical"
        return self._embedders.cosines(view.embedder) if has_dense else Cosines()

    def _build_embedding(self, view: SearchView) -> Callable[[str], Vector]:
        if not view.fingerprint:
            return lambda _: np.zeros(1, dtype=np.float32)
        return lambda question: self._embedders.embed_question(question, view.embedder, view.fingerprint)

    def _reranker_parts(self, complete: Complete | None) -> Parts:
        def token_vectors(texts: Sequence[str], *, role: Role) -> Any:
            return self._embedders.get().token_vectors(texts, role=role)  # type: ignore[attr-defined]

        has_tokens = self._settings.embedder.partition(":")[0] == "local"
        return Parts(self._settings, token_vectors if has_tokens else None, complete)


def _followed_by(result: SearchResult, further: Sequence[Hit], limit: int) -> SearchResult:
    """Append further hits up to the limit, with scores no higher than the last."""
    known = {hit.chunk_id for hit in result.hits}
    least = min((hit.score for hit in result.hits), default=0.0)
    added = [replace(hit, score=min(hit.score, least)) for hit in further if hit.chunk_id not in known]
    return replace(result, hits=(*result.hits, *added)[:limit])


_FUSION_OPTIONS = {"alpha": ("alpha",), "rrf": ("rrf_k", "weights", "missing_rank")}


def _check_fusion(fusion: str, choices: Mapping[str, object]) -> None:
    """Raise if the chosen fusion would ignore a given option."""
    for owner, names in _FUSION_OPTIONS.items():
        for name in names:
            if choices.get(name) is not None and owner != fusion:
                raise OptionError(
                    f"{name} has no meaning in the fusion {fusion!r}", remedy=f"Choose the fusion {owner!r} with it."
                )


def _log_search(result: SearchResult, options: SearchOptions) -> None:
    """Log how a search went, but neither the question nor the hits."""
    if _LOG.isEnabledFor(logging.DEBUG):
        scores = [round(hit.score, 4) for hit in result.hits]
        legs = {name: {"status": leg.status, "ms": leg.ms} for name, leg in result.legs.items()}
        fields = {"k": options.limit, "mode": options.mode, "scores": scores, "legs": legs, "ms": result.took_ms}
        _LOG.debug("search", extra=fields)
