"""The view of one search: fetched in one round trip, then used by all later steps."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from footnotes.errors import FootnotesError, InputError
from footnotes.index import FIELD_WEIGHTS, Allowed, Found, Vector
from footnotes.store.database import Database, Row
from footnotes.store.legs import LegResult, LegsView, waited
from footnotes.store.postgres.remote_legs import RemoteLegs, RemoteResults, facets_of
from footnotes.store.postgres.words import definition
from footnotes.store.records import ChunkSpan, Generation, StoredHit
from footnotes.store.rows import hit_row
from footnotes.store.views import Question, Symbols
from footnotes.store.weights import FIELDS, cut, place
from footnotes.types import Filter

BUDGET = 1_000
"""The lexical leg scores about this many chunks; below this it is exact BM25 over all terms."""
_CHUNKS = " chunks"
"""The statistics count chunks under this term."""


@dataclass(slots=True)
class Served:
    """A tenant's last known state. A search that finds another generation starts again with that."""

    generation: Generation | None
    changed: int = 0
    waiting: int = 0
    reached: int = 0
    """The last change that its remote index is known to have applied, if there is one."""


@dataclass(slots=True)
class _Fetched:
    """The results of the round trip: candidates by key, and the statistics of the question's terms."""

    rows: dict[int, Row] = field(default_factory=dict)
    lexical: list[int] = field(default_factory=list)
    dense: list[int] = field(default_factory=list)
    frequencies: dict[str, int] = field(default_factory=dict)
    chunks: int = 0
    behind: int = 0
    error: FootnotesError | None = None
    failures: dict[str, FootnotesError] = field(default_factory=dict)


class PostgresSearchView(LegsView):
    """Bound to the generation that served when the search began. One statement fetches everything."""

    def __init__(
        self,
        database: Database,
        user_id: str,
        served: Served,
        notice: Callable[[int | None, Served], None],
        *,
        remote: RemoteLegs | None = None,
        trial: bool = False,
    ) -> None:
        self._database = database
        self._remote = remote
        self._user_id = user_id
        self._generation = served.generation
        self._served = served
        self._notice = notice
        self._trial = trial
        self._current = self._whole = True
        self._fetched: _Fetched | None = None

    @property
    def stamp(self) -> str:
        """Read from the database unless a search just fetched it: answers are cached by it, so it must not lag."""
        if self._fetched is None and not self._trial:
            with self._database.read(self._user_id) as cursor:
                row = cursor.one("stamp")
            return "0/0" if row is None else f"{row['serving'] or 0}/{row['changed']}"
        return f"{self._generation.pk if self._generation else 0}/{self._served.changed}"

    @property
    def waiting(self) -> int:  # type: ignore[override]
        return 0 if self._trial else max(self._served.waiting, self._behind("dense"))

    @property
    def waiting_words(self) -> int:  # type: ignore[override]
        return 0 if self._trial else self._behind("lexical")

    def _behind(self, leg: str) -> int:
        """Return the number of documents missing in a vector database that serves a leg."""
        if self._remote is None or self._fetched is None or leg not in self._remote.legs:
            return 0
        return self._fetched.behind

    def is_current(self) -> bool:
        """Return whether the generation still served during the search, and all results could be read."""
        return self._whole and (self._trial or self._current)

    # ── one round trip

    def run_legs(self, question: Question) -> tuple[LegResult, LegResult, Allowed | None]:
        """Run both legs in one round trip: embed the question first, then query everything at once."""
        embedded = None if question.vector is None else _attempt(question.vector)
        start = time.perf_counter()
        self._fetch(question, embedded if isinstance(embedded, np.ndarray) else None)
        ms = round((time.perf_counter() - start) * 1000, 3)
        known = question if embedded is None else replace(question, vector=lambda: _vector_or_raise(embedded))
        return waited(self.lexical_leg(known, None), ms), waited(self.dense_leg(known, None), ms), None

    def _fetch(self, question: Question, vector: Vector | None) -> None:
        """Run one or both legs, and store all their results."""
        self._fetched = None
        terms = self.rarest(question.terms or {})
        self._fetched = _Fetched()
        try:
            remote = self._ask_remote(terms, vector, question.depth, question.where)
            self._fetched.failures = remote.failures
            vector = None if "dense" in remote.failures else vector
            own_terms = {} if "lexical" in remote.failures else terms
            rows = self._ask(question, own_terms, vector, remote)
        except InputError:
            raise  # the question itself is wrong, not a leg
        except FootnotesError as error:
            self._fetched.error = error  # each leg reports it separately
            return
        self._take(rows, list(own_terms))

    def _ask_remote(
        self, terms: Mapping[str, float], vector: Vector | None, depth: int, where: Filter | None
    ) -> RemoteResults:
        """Return the results of a vector database for its legs, if there is one."""
        if self._remote is None:
            return RemoteResults()
        allowed = None if where is None else facets_of(where) or self.allowed(where)
        return self._remote.found(terms, vector, depth, allowed)

    def _ask(
        self, question: Question, terms: Mapping[str, float], vector: Vector | None, remote: RemoteResults
    ) -> list[Row]:
        from pgvector import HalfVector

        names = list(terms)
        half = None if vector is None or self._generation is None else HalfVector(vector.astype(np.float16))
        values = {
            "generation": self._generation.pk if self._generation else 0,
            "terms": [cut(term) for term in names],
            "weights": [float(terms[term]) for term in names],
            **{field: [place(field, term) for term in names] for field in FIELDS},
            "fields": [FIELD_WEIGHTS[field] for field in FIELDS],
            "defined": [definition(name) for name in question.symbols.names],
            "used": [cut(term) for term in question.symbols.terms],
            "vector": half,
            "depth": question.depth,
            "budget": BUDGET,
            "reading": question.reading,
            "per_document": question.per_document,
            "given_lexical": remote.lexical,
            "given_dense": remote.dense,
            "since": self._served.reached,
        }
        with self._database.read(self._user_id) as cursor:
            query = "search" if question.where is None else "search_filtered"
            return cursor.all(query, question.where, **values)

    def _take(self, rows: Sequence[Row], names: Sequence[str]) -> None:
        assert self._fetched is not None
        first, found = rows[0], self._fetched
        found.frequencies = dict(zip(names, first["frequencies"] or [], strict=False))
        found.chunks = first["total"] or 0
        found.behind = first["behind"]
        if self._remote is not None:
            self._remote.look_after(behind=found.behind > 0)
        found.rows = {row["key"]: row for row in rows if row["key"] is not None}
        found.lexical = _rank(found.rows, "lexical_rank")
        found.dense = _rank(found.rows, "dense_rank")
        if not self._trial:
            self._current = first["serving"] == (self._generation.pk if self._generation else None)
            self._served = Served(self._generation, first["changed"] or 0, first["waiting"] or 0, first["reached"] or 0)
            self._notice(first["serving"], self._served)

    # ── results

    def chunk_count(self) -> int:
        return self.document_frequency(_CHUNKS) if self._fetched is None else self._fetch_known().chunks

    def document_frequency(self, term: str) -> int:
        known = self._fetched.frequencies if self._fetched else {}
        if term in known:
            return known[term]
        if self._generation is None:
            return 0
        with self._database.read(self._user_id) as cursor:
            return int(cursor.value("document_frequency", generation=self._generation.pk, term=cut(term)))

    def allowed(self, where: Filter) -> Allowed:
        """Return the keys that pass a filter. A search does this in its one round trip."""
        generation = self._generation.pk if self._generation else 0
        with self._database.read(self._user_id) as cursor:
            rows = cursor.all("allowed_keys", where, generation=generation)
        return Allowed(np.sort(np.array([row["key"] for row in rows], dtype=np.int64)))

    def search_lexical(self, terms: Mapping[str, float], limit: int, allowed: Allowed | None) -> Found:
        found = self._fetch_known("lexical")
        return Found(found.lexical[:limit], [found.rows[key]["lexical_score"] for key in found.lexical[:limit]])

    def score_lexical(self, terms: Mapping[str, float], keys: Sequence[int]) -> dict[int, float]:
        rows = self._fetch_known().rows
        return {key: rows[key]["lexical_score"] or 0.0 for key in keys if key in rows}

    def defining(self, symbols: Symbols, allowed: Allowed | None) -> list[int]:
        return [row["key"] for row in self._fetch_known().rows.values() if row["defines"]]

    def using(self, symbols: Symbols, keys: Sequence[int]) -> set[int]:
        rows = self._fetch_known().rows
        return {key for key in keys if key in rows and rows[key]["uses"]}

    def search_dense(self, vector: Vector, limit: int, allowed: Allowed | None) -> Found:
        found = self._fetch_known("dense")
        return Found(found.dense[:limit], [found.rows[key]["dense_score"] for key in found.dense[:limit]])

    def score_dense(self, vector: Vector, keys: Sequence[int]) -> dict[int, float]:
        rows = self._fetch_known().rows
        known = {key: rows[key]["dense_score"] for key in keys if key in rows}
        return {key: score for key, score in known.items() if score is not None}

    def vectors(self, keys: Sequence[int]) -> Vector | None:
        rows = self._fetch_known().rows
        found = [rows[key]["embedding"] for key in keys if key in rows]
        if len(found) < len(keys) or any(vector is None for vector in found):
            return None
        return np.stack([vector.to_numpy() for vector in found]).astype(np.float32) if found else None

    def places_of(self, keys: Sequence[int]) -> dict[int, ChunkSpan]:
        rows = self._fetch_known().rows
        found = ((key, rows[key]) for key in keys if key in rows)
        return {key: (row["document"], row["start_offset"], row["end_offset"]) for key, row in found}

    def hits(self, keys: Sequence[int]) -> list[StoredHit]:
        """Return chunks in the given order. Texts that were not fetched ahead are fetched now."""
        rows = self._fetch_known().rows
        known = [rows[key] for key in keys if key in rows]
        missing = [row["key"] for row in known if row["content"] is None]
        texts: dict[int, str] = {}
        if missing:
            with self._database.read(self._user_id) as cursor:
                texts = {row["key"]: row["content"] for row in cursor.all("contents", keys=missing)}
            self._whole = len(texts) == len(missing)  # otherwise a version was removed meanwhile
        return [
            hit_row(row, row["content"] or texts[row["key"]]) for row in known if row["content"] or row["key"] in texts
        ]

    def _fetch_known(self, leg: str = "") -> _Fetched:
        if self._fetched is None:
            return _Fetched()
        if (error := self._fetched.failures.get(leg, self._fetched.error)) is not None:
            raise error
        return self._fetched


def _attempt(embed: Callable[[], Vector]) -> Vector | Exception:
    """Return the question's vector, or the embedder's error for the dense leg, so that the lexical leg still runs."""
    try:
        return embed()
    except Exception as error:
        return error


def _vector_or_raise(embedded: Vector | Exception) -> Vector:
    if isinstance(embedded, Exception):
        raise embedded
    return embedded


def _rank(rows: Mapping[int, Row], rank: str) -> list[int]:
    ranked_rows = [row for row in rows.values() if row[rank] is not None]
    return [row["key"] for row in sorted(ranked_rows, key=lambda row: int(row[rank]))]
