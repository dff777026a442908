"""The dense index of a generation that is large enough to need one, and the upkeep of search tables.

Indexes are built concurrently with the table's use, by one server at a time; an interrupted build starts again. Until
an index exists, searches compare every vector. If a build fails, another method is tried, and `status` shows why.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from footnotes.errors import ConfigError, FootnotesError, StoreError, StoreUnavailable
from footnotes.store.postgres import reweigh, statistics
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection, Database
from footnotes.store.records import Generation
from footnotes.store.retry import WritersMet
from footnotes.types import DenseIndex

MOST_DIMENSIONS = 4_000
"""The limit of pgvector's indexes of half-precision vectors."""
_BUILD_MEMORY = "512MB"

_METHODS = {
    "scann": "USING scann ({column} cosine)",
    "hnsw": "USING hnsw ({column} halfvec_cosine_ops)",
    "ivfflat": "USING ivfflat ({column} halfvec_cosine_ops)",
}
_NAMES = {("scann", "lists"): "num_leaves"}
"""What a method calls an option, if not as we do."""
NONE = "none"
BEST_FIRST = ("scann", "hnsw", "ivfflat")
"""The methods that Footnotes can use, the best first."""
WORTH_AN_INDEX = 5_000
"""The chunks from which a dense index is built. Comparing fewer takes only some milliseconds."""
_BUILD: Mapping[str, Mapping[str, tuple[int, int]]] = {
    "hnsw": {"m": (2, 100), "ef_construction": (4, 1_000)},
    "ivfflat": {"lists": (1, 32_768)},
    "scann": {"lists": (1, 1_048_576)},
}
"""For every method, the options of a build, and the range of each."""
_SEARCH: Mapping[str, Mapping[str, str]] = {
    "hnsw": {"ef_search": "footnotes.ef_search"},
    "ivfflat": {"probes": "footnotes.probes"},
    "scann": {"probes": "scann.num_leaves_to_search"},
}
"""For every method, the options of a search, and the variable of a session that holds each."""
_SEARCH_RANGES = {"ef_search": (1, 1_000), "probes": (1, 32_768)}


class Indexes:
    """The dense indexes of one database."""

    def __init__(self, database: Database, options: DenseOptions) -> None:
        self._database = database
        self._options = options
        self._failed: set[int] = set()

    def check(self) -> None:
        """Raise if the settings name a method that this server lacks."""
        method = self._options.method
        if method in ("", NONE):
            return
        with self._database.owning() as connection:
            offered = self._offered(connection)
        if method not in offered:
            shown = f"it has {', '.join(offered)}" if offered else "it has none that Footnotes can use"
            remedy = "Install the extension that provides it, or change dense_index."
            raise ConfigError(f"the PostgreSQL server has no index method {method!r}; {shown}", remedy=remedy)

    def grow(self, generation: Generation, *, dense: bool = True) -> bool:
        """Do the upkeep that is due; return whether an index was built. Work in progress on another server is skipped.

        Without `dense`, vectors are searched elsewhere and need no index here.
        """
        with self._database.owning() as connection:
            cursor = PostgresCursor(connection, generation.user_id)
            if not cursor.value("may_build_indexes") or not cursor.value("hold_index", generation=generation.pk):
                return False
            try:
                if statistics.is_scattered(cursor, generation.pk):
                    cursor.run("fold_terms", generation=generation.pk)
                reweigh.if_due(cursor, generation)
                return dense and self._build_if_due(connection, generation)
            finally:
                cursor.run("release_index", generation=generation.pk)

    def drop(self, generation: Generation) -> None:
        with self._database.owning() as connection:
            if PostgresCursor(connection, "").value("may_build_indexes"):
                _drop(connection, generation)

    def state(self, generation: Generation) -> DenseIndex:
        """Return the method of a generation's index, and why it is not the one that was asked for."""
        with self._database.read(generation.user_id) as cursor:
            row = cursor.one("dense_index", generation=generation.pk, name=name_of(generation))
        return DenseIndex(None, None) if row is None else DenseIndex(row["method"], row["error"])

    def _offered(self, connection: Connection) -> list[str]:
        """Return the methods of this server that Footnotes can use, the best first."""
        offered = {row["method"] for row in PostgresCursor(connection, "").all("index_methods")}
        return [name for name in BEST_FIRST if name in offered]

    def _build_if_due(self, connection: Connection, generation: Generation) -> bool:
        state = self._state(connection, generation)
        if state is True or generation.dimensions > MOST_DIMENSIONS or self._options.method == NONE:
            return False
        chunks = self._chunks(connection, generation)
        if chunks < self._options.minimum or generation.pk in self._failed:
            return False
        if state is False:  # an interrupted build leaves an invalid index
            _drop(connection, generation)
        return self._build_first_possible(connection, generation, chunks)

    def _build_first_possible(self, connection: Connection, generation: Generation, chunks: int) -> bool:
        """Build with the wanted method, else with the next one that works; record why."""
        wanted = self._options.method
        methods = sorted(self._offered(connection), key=lambda name: name != wanted)
        failures: list[str] = []
        built = ""
        for method in methods:
            try:
                self._build(connection, generation, method, chunks)
            except (StoreUnavailable, WritersMet):
                raise
            except StoreError as error:
                failures.append(f"{method} cannot be built: {error.message}")
                with suppress(FootnotesError):
                    _drop(connection, generation)
            else:
                built = method
                break
        if not built and methods:
            self._failed.add(generation.pk)  # another attempt by this process would fail as well
        failure = "; ".join(failures) or None
        PostgresCursor(connection, "").run("set_index_failure", generation=generation.pk, failure=failure)
        return bool(built)

    def _build(self, connection: Connection, generation: Generation, method: str, chunks: int) -> None:
        column = f"(embedding::halfvec({generation.dimensions:d}))"
        using = _METHODS[method].format(column=column)
        connection.execute(f"SET maintenance_work_mem = '{_BUILD_MEMORY}'")
        connection.execute(
            f"CREATE INDEX CONCURRENTLY {name_of(generation)} ON document_chunks {using}{self._with(method, chunks)} "
            f"WHERE generation = {generation.pk:d}"
        )
        connection.execute("ANALYZE document_chunks")  # the planner may not know the latest rows

    def _with(self, method: str, chunks: int) -> str:
        """Return the options of a build in SQL."""
        options = dict(self._options.build) if method == self._options.method else {}
        if method != "hnsw":
            options.setdefault("lists", max(10, int(math.sqrt(chunks))))
        values = ", ".join(f"{_NAMES.get((method, name), name)} = {value:d}" for name, value in options.items())
        return f" WITH ({values})" if values else ""

    @staticmethod
    def _chunks(connection: Connection, generation: Generation) -> int:
        cursor = PostgresCursor(connection, generation.user_id)
        return int(cursor.value("document_frequency", generation=generation.pk, term=" chunks"))

    @staticmethod
    def _state(connection: Connection, generation: Generation) -> object:
        """Return True for a valid index, False for an incomplete one, None for none."""
        return PostgresCursor(connection, "").value("is_index_valid", name=name_of(generation))


def _drop(connection: Connection, generation: Generation) -> None:
    connection.execute(f"DROP INDEX CONCURRENTLY IF EXISTS {name_of(generation)}")


def name_of(generation: Generation) -> str:
    return f"chunks_dense_{generation.pk:d}"


# ── the settings of the dense index in PostgreSQL: its method, and the options of each ────────────────────────


@dataclass(frozen=True, slots=True)
class DenseOptions:
    """How the dense index is built and searched. `method` is empty for the best that the server offers."""

    method: str = ""
    build: Mapping[str, int] = field(default_factory=dict)
    session: Mapping[str, str] = field(default_factory=dict)
    minimum: int = WORTH_AN_INDEX


def dense_options(method: str, options: Mapping[str, object]) -> DenseOptions:
    """Check the settings `dense_index` and `dense_index_options`."""
    build, search = _BUILD.get(method, {}), _SEARCH.get(method, {})
    ranges = {**build, **{name: _SEARCH_RANGES[name] for name in search}}
    if method != NONE:
        ranges["minimum"] = (1, 2**31 - 1)
    values = {name: _check_option(method, name, value, ranges) for name, value in options.items()}
    if values.get("ef_construction", 64) < 2 * values.get("m", 16):
        raise ConfigError("the option ef_construction of dense_index must be at least twice m (64 and 16 by default)")
    session = {variable: str(values[name]) for name, variable in search.items() if name in values}
    minimum = values.get("minimum", WORTH_AN_INDEX)
    return DenseOptions(method, {name: values[name] for name in build if name in values}, session, minimum)


def _check_option(method: str, name: str, value: object, ranges: Mapping[str, tuple[int, int]]) -> int:
    if name not in ranges:
        shown = repr(method) if method else "that is not named"
        known = f"its options are {', '.join(ranges)}" if ranges else "it has none"
        remedy = "Set dense_index to the method that has this option; see docs/postgresql.md."
        raise ConfigError(f"dense_index_options has {name!r} for an index {shown}; {known}", remedy=remedy)
    least, most = ranges[name]
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ConfigError(
            f"the option {name} of dense_index cannot be {value!r}; it must be from {least:,} to {most:,}"
        )
    return value
