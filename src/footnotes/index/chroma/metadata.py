"""Converts metadata to Chroma's form and back without loss.

Chroma has names with one text, number or boolean each. Nested objects become dotted names; values that it would lose
(null, lists, empty objects, numbers beyond 64 bits or with many digits) become JSON after `json:`. Names that Chroma
or we reserve are escaped: `~` and four hexadecimal digits stand for a character, a single `~` for an empty name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import TypeAlias, cast

import numpy as np

from footnotes.index import Allowed, Found, Keys, Vector
from footnotes.index.chroma.calls import IDS_AT_ONCE, Where
from footnotes.types import JsonValue, Metadata

Flat: TypeAlias = dict[str, "str | int | float | bool"]

OWN = "_"
"""The prefix of our own names: `_document`, `_seq`, `_facets`."""
_JSON = "json:"
_RESERVED = re.compile(r"[#$_]|chroma:")
_SPECIAL = re.compile(r"[~.\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_ESCAPED = re.compile(r"~([0-9a-f]{4})")
_MOST_INTEGER = 2**63
_SAFE_DIGITS, _SAFE_EXPONENT = 15, 22
"""A number within both limits is exact in a float, and so is the power of ten it is multiplied by."""


def flattened(metadata: Metadata) -> Flat:
    """Convert metadata to names with plain values. Raises `ValueError` on numbers that JSON does not have."""
    flat: Flat = {}
    for name, value in metadata.items():
        _flatten(_reserved(_escape(name)), value, flat)
    return flat


def restored(flat: Mapping[str, object]) -> dict[str, JsonValue]:
    """Restore flattened metadata, without our own names."""
    metadata: dict[str, JsonValue] = {}
    for name, value in flat.items():
        if name.startswith(OWN):
            continue
        *path, last = (_unescape(part) for part in name.split("."))
        inner = metadata
        for part in path:
            inner = cast("dict[str, JsonValue]", inner.setdefault(part, {}))
        inner[last] = _read(value)
    return metadata


def _flatten(name: str, value: JsonValue, flat: Flat) -> None:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            _flatten(f"{name}.{_escape(key)}", item, flat)
    else:
        flat[name] = _encode(value)


def _encode(value: JsonValue) -> str | int | float | bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and not value.startswith(_JSON) and not _SURROGATE.search(value):
        return value
    if isinstance(value, int) and -_MOST_INTEGER <= value < _MOST_INTEGER:
        return value
    if isinstance(value, float) and _survives(value):
        return value
    return _JSON + json.dumps(value, allow_nan=False)


def _survives(value: float) -> bool:
    """Return whether Chroma reads a number back unchanged; it gets the last digit of longer ones wrong."""
    if not math.isfinite(value):
        return False
    _, digits, exponent = Decimal(repr(value)).as_tuple()
    return len(digits) <= _SAFE_DIGITS and abs(int(exponent)) <= _SAFE_EXPONENT


def _read(value: object) -> JsonValue:
    if isinstance(value, str) and value.startswith(_JSON):
        return cast("JsonValue", json.loads(value.removeprefix(_JSON)))
    return cast("JsonValue", value)


def _escape(name: str) -> str:
    return _SPECIAL.sub(lambda found: _code(found[0]), name) or "~"


def _reserved(name: str) -> str:
    """Escape a top-level name that Chroma or we reserve."""
    return _code(name[0]) + name[1:] if _RESERVED.match(name) else name


def _code(character: str) -> str:
    return f"~{ord(character):04x}"


def _unescape(part: str) -> str:
    return "" if part == "~" else _ESCAPED.sub(lambda found: chr(int(found[1], 16)), part)


# ── filters in Chroma's language, with fallbacks where it cannot express them ─────────────────────────────────


DOCUMENT, SEQ, FACETS = f"{OWN}document", f"{OWN}seq", f"{OWN}facets"
MOST_TERMS = 40
"""The most terms in a filter: SQLite in Chroma runs a query for each (about 1 ms for 20,000 chunks)."""


def sayable(facet: str) -> str:
    """Replace invalid Unicode in a facet; results are checked anyway."""
    return facet.encode("utf-8", "replace").decode()


def any_of(facets: Sequence[str]) -> Where:
    """Match records with any of the facets. They are stored as a list, twice as fast as a boolean for each."""
    clauses: list[Where] = [{FACETS: {"$contains": sayable(facet)}} for facet in facets]
    return clauses[0] if len(clauses) == 1 else {"$or": clauses}


def all_of(clauses: Sequence[Where]) -> Where:
    return clauses[0] if len(clauses) == 1 else {"$and": list(clauses)}


def where_of(allowed: Allowed) -> Where | None:
    """Return a filter as facets; None if facets cannot express it, or only with too many terms."""
    wheres = wheres_of(allowed.facets)
    return wheres[0] if len(wheres) == 1 and sum(map(len, allowed.facets)) <= MOST_TERMS else None


def wheres_of(groups: Sequence[Sequence[str]]) -> list[Where]:
    """Split a filter on facets into short ones that together match the same records; none if nothing matches."""
    if not groups or not all(groups):
        return []
    *narrow, widest = sorted(groups, key=len)
    parts = [widest[start : start + MOST_TERMS] for start in range(0, len(widest), MOST_TERMS)]
    return [all_of([any_of(group) for group in (*narrow, part)]) for part in parts]


def batches(keys: Keys, size: int = IDS_AT_ONCE) -> list[Keys]:
    return [keys[start : start + size] for start in range(0, len(keys), size)]


def is_among(keys: Sequence[int], allowed: Keys) -> list[bool]:
    """Return for each key whether it is allowed; `allowed` is sorted."""
    if not len(allowed):
        return [False] * len(keys)
    candidates = np.asarray(keys, dtype=np.int64)
    places = np.minimum(np.searchsorted(allowed, candidates), len(allowed) - 1)
    return [bool(found) for found in allowed[places] == candidates]


def best(keys: Sequence[int], scores: Sequence[float], limit: int, allowed: Keys | None = None) -> Found:
    """Return the best of the allowed results. Ties are ordered by key."""
    fine = [True] * len(keys) if allowed is None else is_among(keys, allowed)
    ordered = sorted((-score, key) for key, score, good in zip(keys, scores, fine, strict=True) if good)[:limit]
    return Found([key for _, key in ordered], [-score for score, _ in ordered])


def cosines(rows: Vector, vector: Vector) -> Vector:
    """Return the exact cosine of each row with a vector."""
    lengths = np.linalg.norm(rows, axis=1) * float(np.linalg.norm(vector))
    return np.asarray(rows @ vector / np.maximum(lengths, 1e-12), dtype=np.float32)
