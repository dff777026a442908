"""Reads the YAML block at the beginning of a Markdown file."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping

from footnotes.parse.outline import clean_title
from footnotes.types import JsonValue

_BLOCK = re.compile(r"---[ \t]*\n(.{0,20000}?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_USUAL_NAMES = {
    "author": ("authors", "by", "creator"),
    "created": ("date", "published", "pubdate", "publish_date", "date_published"),
    "modified": ("updated", "lastmod", "last_modified", "last_updated", "date_modified"),
    "language": ("lang", "locale"),
}
_MOST_KEYS, _MOST_ITEMS, _LONGEST_VALUE = 50, 50, 1000


def front_matter(text: str) -> tuple[int, dict[str, JsonValue]]:
    """Return the end of the front matter of a text, and its values; 0 if there is none."""
    match = _BLOCK.match(text)
    if match is None:
        return 0, {}
    values = _load(match[1])
    return (match.end(), _with_usual_names(values)) if values is not None else (0, {})


def _with_usual_names(values: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the values, with author and dates also under the names that documents of all other kinds use."""
    found = dict(values)
    for name, others in _USUAL_NAMES.items():
        value = next((values[other] for other in others if isinstance(values.get(other), str | list)), None)
        if name not in found and value:
            found[name] = value
    return found


def title_of(values: Mapping[str, JsonValue]) -> str | None:
    """Return the title from the front matter."""
    title = values.get("title")
    return clean_title(title) if isinstance(title, str) and title.strip() else None


def _load(source: str) -> dict[str, JsonValue] | None:
    import yaml

    try:
        # Aliases can grow without bound when they are written out.
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(source, Loader=yaml.SafeLoader)):
            return {}
        loaded = yaml.safe_load(source)
    except (yaml.YAMLError, ValueError, RecursionError):
        return None
    if not isinstance(loaded, dict):
        return None
    items = list(loaded.items())[:_MOST_KEYS]
    return {str(key)[:100]: value for key, raw in items if (value := _plain(raw)) is not None}


def _plain(value: object) -> JsonValue:
    """Convert a value to metadata: text, numbers and flat lists; anything else is skipped."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, str):
        return value[:_LONGEST_VALUE]
    if isinstance(value, bool) or (isinstance(value, int) and abs(value) < 2**53):
        return value
    if isinstance(value, float) and value == value and abs(value) != float("inf"):
        return value
    if isinstance(value, list):
        return [plain for each in value[:_MOST_ITEMS] if isinstance(plain := _plain(each), str | int | float | bool)]
    return None
