"""The settings of the dense index in PostgreSQL: its method, and the options of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from footnotes.errors import ConfigError

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
