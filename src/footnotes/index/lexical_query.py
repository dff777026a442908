"""Builds tantivy queries from terms. Text never reaches tantivy's query parser."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from footnotes.index import Allowed

if TYPE_CHECKING:
    from tantivy import Occur, Query, Schema

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
