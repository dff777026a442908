"""A search as it is asked for: the caller's options over the settings, other words, both legs, a reranker."""

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
from footnotes.retrieve.rerankers.llm import Complete
from footnotes.retrieve.rerankers.make import Parts
from footnotes.retrieve.reranking import Reranking
from footnotes.retrieve.retriever import Retriever, SearchOptions, checked_query
from footnotes.retrieve.where import Where, as_filter, both, in_collection
from footnotes.retrieve.words import split_words
from footnotes.settings import NO_RERANKER, QUALITIES, Settings
from footnotes.store import SearchView, Store
from footnotes.types import Hit, Role, SearchResult

_LOG = logging.getLogger("footnotes.retrieve")
Say = Callable[[str, str], str]
"""System and user text → what the model of the settings says."""


class SearchChoices(TypedDict, total=False):
    """How to search; what is left out is as the settings say."""

    limit: int | None
    mode: str | None
    where: Where | None
    collection: str | None
    per_document: int | None
    fusion: str | None
    alpha: float | None
    """Belongs to the fusion `alpha`."""
    rrf_k: int | None
    """Belongs to the fusion `rrf`, as `weights` (of the lexical and the dense leg) and `missing_rank` do."""
    weights: Sequence[float] | None
    missing_rank: int | None
    candidates: int | None
    reranker: str | None
    expand: Sequence[str] | None
    """Search for more than the question: `("synonyms",)` for other words of its words."""


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
        """The same searches over a generation that does not serve."""
        same = object.__new__(Searcher)
        same.__dict__ = {**self.__dict__, "_generation": generation}
        return same

    def view(self) -> SearchView:
        """The library as a search sees it now."""
        return self._store.view(self._user, self._generation)

    def search(self, query: str, choices: SearchChoices) -> SearchResult:
        """The best chunks for a question, with the rank and score each leg gave them."""
        query, within = split_words(checked_query(query, self._settings.max_query_chars))
        options = self._options(choices, within)
        chosen = self._settings
        expand = choices.get("expand")
        ways = [way for way in chosen.expand if way == "synonyms"] if expand is None else expand
        reranked_by = self._reranked_by(choices.get("reranker"), options)
        if reranked_by in ("", NO_RERANKER):
            return self._expand(query, options, ways)
        wanted = max(options.limit, chosen.rerank_candidates)
        found = self._expand(query, replace(options, limit=wanted, per_document=wanted), ways)
        reranked = self._reranking.apply(reranked_by, found, per_document=options.per_document, limit=options.limit)
        if len(reranked.hits) == options.limit or len(found.hits) < wanted:
            return reranked
        # Few documents gave all that was reranked, and may not show it all: others follow.
        return _followed_by(reranked, self._expand(query, options, ways).hits, options.limit)

    def _reranked_by(self, asked: str | None, options: SearchOptions) -> str:
        """The reranker that was asked for, or the settings'. What the quality implies belongs to the default search."""
        if asked is not None:
            return asked
        chosen = self._settings
        is_implied = chosen.reranker == QUALITIES[chosen.quality].get("reranker")
        is_default = options.mode == "hybrid" and options.fusion == "adaptive"
        return chosen.reranker if is_default or not is_implied else ""

    def _options(self, choices: SearchChoices, within: Any) -> SearchOptions:
        """The caller's choices over the settings."""
        chosen = self._settings
        fusion = choices.get("fusion") or chosen.fusion
        _check_fusion(fusion, choices)

        def pick(name: str) -> Any:
            given = choices.get(name)
            return getattr(chosen, name) if given is None else given

        return SearchOptions(
            mode=choices.get("mode") or chosen.mode,  # type: ignore[arg-type]
            where=in_collection(both(as_filter(choices.get("where")), within), choices.get("collection")),
            fusion=fusion,  # type: ignore[arg-type]
            weights=tuple(pick("weights")),
            max_query_chars=chosen.max_query_chars,
            **{name: pick(name) for name in ("limit", "per_document", "alpha", "rrf_k", "missing_rank", "candidates")},
        )

    def _expand(self, query: str, options: SearchOptions, ways: Sequence[str]) -> SearchResult:
        """One search, or several merged where other words stand for those of the question."""
        synonyms = self._settings.synonyms_file
        variants = variants_of(query, ways, synonyms=synonyms, say=self._say) if ways else []
        found = self._search(query, options)
        if not variants:
            return found
        further = [self._search(each.query, replace(options, mode=each.mode or options.mode)) for each in variants]
        hits = merged_hits([found.hits, *(each.hits for each in further)], options.limit)
        took = round(sum(each.took_ms for each in (found, *further)), 3)
        return replace(found, hits=tuple(hits), took_ms=took, expanded=tuple(each.added for each in variants))

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
    """The hits, then further ones up to the limit, none with a score above the last."""
    known = {hit.chunk_id for hit in result.hits}
    least = min((hit.score for hit in result.hits), default=0.0)
    added = [replace(hit, score=min(hit.score, least)) for hit in further if hit.chunk_id not in known]
    return replace(result, hits=(*result.hits, *added)[:limit])


_FUSION_OPTIONS = {"alpha": ("alpha",), "rrf": ("rrf_k", "weights", "missing_rank")}


def _check_fusion(fusion: str, choices: Mapping[str, Any]) -> None:
    """Raise where an option is given that the chosen fusion would ignore."""
    for owner, names in _FUSION_OPTIONS.items():
        for name in names:
            if choices.get(name) is not None and owner != fusion:
                raise OptionError(
                    f"{name} has no meaning in the fusion {fusion!r}", remedy=f"Choose the fusion {owner!r} with it."
                )


def _log_search(result: SearchResult, options: SearchOptions) -> None:
    """How a search went, for whoever looks for it; not what was asked or found."""
    if _LOG.isEnabledFor(logging.DEBUG):
        scores = [round(hit.score, 4) for hit in result.hits]
        legs = {name: {"status": leg.status, "ms": leg.ms} for name, leg in result.legs.items()}
        said = {"k": options.limit, "mode": options.mode, "scores": scores, "legs": legs, "ms": result.took_ms}
        _LOG.debug("search", extra=said)
