"""An immutable view of the lexical index for searches, independent of writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from footnotes.index import Allowed, Facets, Found, Keys, Terms, damage_told_apart

if TYPE_CHECKING:
    from tantivy import Query, Schema
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tantivy import Occur, Query, Schema


POSTINGS_BUDGET = 400_000
"""The postings a search reads to find candidates, roughly; below this the leg is exact BM25 over all terms."""
_BUDGET_CANDIDATES = 200
_WIDE_KEYS, _WIDE_SHARE, _MORE_THAN_ENOUGH = 500, 0.1, 1.5
"""A filter with more keys than this, and a larger share of all chunks, is wide."""


class LexicalReader:
    """One commit of a tantivy index, and the last change in it. Without a searcher it is empty."""

    def __init__(self, searcher: Any, schema: Schema | None, boosts: Mapping[str, float], position: int) -> None:
        self.searcher = searcher
        self.position = position
        self._frequencies: dict[tuple[str, str], int] = {}
        self._queries = None if schema is None else QueryBuilder(schema, boosts, self._frequency)

    def search(self, query: Terms | Facets, limit: int, allowed: Allowed | None = None) -> Found:
        """Return the best chunks for weighted terms, or those with a facet, best first, and only those `allowed`."""
        if isinstance(query, Facets):
            return self._having(query.names, limit, allowed)
        return self._matching(query, limit, allowed)

    def _matching(self, terms: Terms, limit: int, allowed: Allowed | None) -> Found:
        if not terms or self._queries is None or limit < 1:
            return Found()
        queries = self._queries
        if allowed is not None:
            found = self._among_all(terms, limit, allowed) if _is_wide(allowed, self.count()) else None
            return self._run(queries.any_within(terms, allowed), limit) if found is None else found
        essential = self._essential(terms)
        if len(essential) == len(terms):
            return self._run(queries.any_of(terms), limit)
        found = self._run(queries.any_of(essential), max(limit, _BUDGET_CANDIDATES))
        if len(found.keys) < limit:
            return self._run(queries.any_of(terms), limit)
        exact = self._run(queries.scored(terms, found.keys), len(found.keys))
        return Found(exact.keys[:limit], exact.scores[:limit])

    def _among_all(self, terms: Terms, limit: int, allowed: Allowed) -> Found | None:
        """Filter the best of all chunks; None if too few of them are allowed, or if it would read too much.

        For a wide filter, reading a few more hits is faster than looking up thousands of keys.
        """
        if self._queries is None or len(self._essential(terms)) < len(terms):
            return None
        count = int(_MORE_THAN_ENOUGH * limit * self.count() / len(allowed.keys)) + _BUDGET_CANDIDATES
        found = self._run(self._queries.any_of(terms), count)
        positions = np.flatnonzero(np.isin(np.asarray(found.keys, dtype=np.int64), allowed.keys, kind="sort"))[:limit]
        if len(positions) < limit and len(found.keys) == count:
            return None
        return Found([found.keys[at] for at in positions], [found.scores[at] for at in positions])

    def _having(self, facets: Sequence[str], limit: int, allowed: Allowed | None) -> Found:
        if not facets or self._queries is None or limit < 1:
            return Found()
        return self._run(self._queries.having(facets, allowed), limit)

    def score(self, terms: Terms, keys: Sequence[int]) -> dict[int, float]:
        """Return the exact score of given chunks."""
        if not terms or not keys or self._queries is None:
            return dict.fromkeys(keys, 0.0)
        found = self._run(self._queries.scored(terms, keys), len(keys))
        return dict.fromkeys(keys, 0.0) | dict(zip(found.keys, found.scores, strict=True))

    def document_frequency(self, term: str) -> int:
        """Return the number of chunks with the term in their body."""
        return 0 if self._queries is None else self._frequency("body", term)

    def count(self) -> int:
        return 0 if self._queries is None else int(self.searcher.num_docs)

    def keys(self) -> Keys:
        if self.count() == 0:
            return np.zeros(0, dtype=np.int64)
        import tantivy

        with damage_told_apart("tantivy cannot read the index"):
            hits = self.searcher.search(tantivy.Query.all_query(), limit=int(self.searcher.num_docs), count=False).hits
            values = self.searcher.fast_field_values("key", [address for _, address in hits])
        return np.sort(np.asarray(values, dtype=np.int64))

    def _frequency(self, field: str, term: str) -> int:
        frequency = self._frequencies.get((field, term))
        if frequency is None:
            frequency = self._frequencies[field, term] = int(self.searcher.doc_freq(field, term))
        return frequency

    def _run(self, query: Query, limit: int) -> Found:
        with damage_told_apart("tantivy cannot search the index"):
            hits = self.searcher.search(query, limit=limit, count=False).hits
            if not hits:
                return Found()
            keys = self.searcher.fast_field_values("key", [address for _, address in hits])
        return Found(list(keys), [score for score, _ in hits])

    def _essential(self, terms: Mapping[str, float]) -> Mapping[str, float]:
        """Return the rarest terms whose postings fit the budget, at least two: they select the candidates.

        Based on MaxScore (Turtle and Flood, 1995), with a fixed budget instead of a bound: very common terms add little
        to any score, and every candidate is scored with all terms afterwards.
        """
        total = 0
        chosen: dict[str, float] = {}
        for frequency, term in sorted((self.document_frequency(term), term) for term in terms):
            if len(chosen) >= 2 and total + frequency > POSTINGS_BUDGET:
                break
            chosen[term] = terms[term]
            total += frequency
        return chosen


def _is_wide(allowed: Allowed, count: int) -> bool:
    return not allowed.facets and len(allowed.keys) > max(_WIDE_KEYS, _WIDE_SHARE * count)


# ── builds tantivy queries from terms. Text never reaches tantivy's query parser ──────────────────────────────


_MANY_KEYS = 500
_KNOWN_TERMS = 4_096


class QueryBuilder:
    """Builds queries over one schema. `boosts` weighs each text field; fields with weight 0 are skipped.

    `frequency` returns the number of chunks with a term in a field; at 0 the term is not searched there.
    """

    def __init__(self, schema: Schema, boosts: Mapping[str, float], frequency: Callable[[str, str], int]) -> None:
        import tantivy

        self._schema = schema
        self._query = tantivy.Query
        self._must = tantivy.Occur.Must
        self._should = tantivy.Occur.Should
        self._frequency = frequency
        self._known: dict[tuple[str, float], list[tuple[Occur, Query]]] = {}
        self._boosts = [(name, weight) for name, weight in boosts.items() if weight > 0]

    def any_of(self, terms: Mapping[str, float]) -> Query:
        """Match chunks with any of the terms, scored by BM25 summed over terms and fields."""
        return self._query.boolean_query(self._clauses(terms))

    def any_within(self, terms: Mapping[str, float], allowed: Allowed) -> Query:
        """Match `any_of` within `allowed`. Each term is intersected separately, to skip instead of scan.

        Very many keys are looked up one by one before they can be skipped, so they are intersected once, with all
        terms.
        """
        within = self.allowed(allowed)
        if not allowed.facets and len(allowed.keys) > _MANY_KEYS:
            return self._both(within, self.any_of(terms))
        clauses = (self._both(within, self.any_of({term: weight})) for term, weight in terms.items())
        return self._query.boolean_query([(self._should, each) for each in clauses])

    def _both(self, one: Query, other: Query) -> Query:
        return self._query.boolean_query([(self._must, one), (self._must, other)])

    def scored(self, terms: Mapping[str, float], keys: Sequence[int]) -> Query:
        """Match exactly these chunks, with their scores for the terms."""
        return self._query.boolean_query([(self._must, self.keys(keys)), *self._clauses(terms)])

    def keys(self, keys: Sequence[int]) -> Query:
        clauses = [(self._should, self._query.term_query(self._schema, "key", key)) for key in keys]
        return self._unscored(self._query.boolean_query(clauses))

    def having(self, facets: Sequence[str], allowed: Allowed | None) -> Query:
        """Match chunks that have any of some facets."""
        clauses = [(self._must, self._facets(facets))]
        return self._query.boolean_query(clauses + ([] if allowed is None else [(self._must, self.allowed(allowed))]))

    def allowed(self, allowed: Allowed) -> Query:
        """Return the filter as a query that does not change scores."""
        if allowed.facets:
            return self._unscored(self._conjunction(allowed.facets))
        return self._unscored(self._query.term_set_query(self._schema, "key", allowed.keys.tolist()))

    def _conjunction(self, facets: Sequence[Sequence[str]]) -> Query:
        groups = [self._facets(group) for group in facets]
        return groups[0] if len(groups) == 1 else self._query.boolean_query([(self._must, g) for g in groups])

    def _facets(self, group: Sequence[str]) -> Query:
        terms = [self._query.term_query(self._schema, "facets", facet, index_option="basic") for facet in group]
        return terms[0] if len(terms) == 1 else self._query.boolean_query([(self._should, term) for term in terms])

    def _unscored(self, query: Query) -> Query:
        return self._query.const_score_query(query, 0.0)

    def _clauses(self, terms: Mapping[str, float]) -> list[tuple[Occur, Query]]:
        return [clause for term, weight in terms.items() for clause in self._clauses_of(term, weight)]

    def _clauses_of(self, term: str, weight: float) -> list[tuple[Occur, Query]]:
        """Return the clauses for a term in every field that has it. Cached: a search needs them twice."""
        cached = self._known.get((term, weight))
        if cached is not None:
            return cached
        clauses = []
        for name, boost in self._boosts:
            if self._frequency(name, term):
                query = self._query.term_query(self._schema, name, term)
                factor = boost * weight
                clauses.append((self._should, query if factor == 1.0 else self._query.boost_query(query, factor)))
        if len(self._known) >= _KNOWN_TERMS:
            self._known.clear()
        self._known[term, weight] = clauses
        return clauses
