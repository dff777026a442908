"""Makes names and metadata fit to be stored, compared and printed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from footnotes.errors import OptionError
from footnotes.types import Metadata

MAX_NAME = 200
LONGEST_ENDING = 20
MAX_METADATA = 100_000
MAX_DEPTH = 64
"""The maximum depth of nested values: readers of metadata, here and in vector databases, go no deeper."""
_PASSWORD = re.compile(r"(://)[^/?#@]*@")


def as_text(name: str | Path) -> str:
    """Decode a name to Unicode text: invalid bytes of a file name, and NUL, are written as `\\xff`."""
    text = str(name)
    if text.isascii() and "\x00" not in text:
        return text
    raw = text.encode("utf-8", "surrogatepass")
    with suppress(UnicodeEncodeError):
        raw = text.encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")  # no database can store or search for a NUL


def is_name(name: str) -> bool:
    """Return whether a text may name a collection: printable, not blank, not too long."""
    return bool(name.strip()) and len(name) <= MAX_NAME and name.isprintable()


def check_metadata(metadata: Mapping[str, object]) -> Metadata:
    """Check that metadata is JSON of a sensible size; NaN and infinity are not JSON."""
    try:
        packed = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        packed.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise OptionError(f"the metadata cannot be stored as JSON ({type(error).__name__})") from error
    if len(packed) > MAX_METADATA:
        raise OptionError(f"the metadata has {len(packed):,} characters; {MAX_METADATA:,} are allowed")
    unpacked: Metadata = json.loads(packed)
    if _is_deeper(unpacked, MAX_DEPTH):
        raise OptionError(f"the metadata is nested more than {MAX_DEPTH} deep")
    return unpacked


def _is_deeper(value: object, levels: int) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return inner is not None and (levels < 1 or any(_is_deeper(one, levels - 1) for one in inner))


def parse_collection(name: str) -> str:
    """Return the name of a collection. Raises if it is invalid."""
    if not is_name(name):
        raise OptionError(f"{name[:40]!r} cannot be the name of a collection")
    return name


def safe_filename(name: str) -> str:
    """Return the last part of a name, without path separators. A name that is too long keeps its suffix."""
    last = as_text(str(name).replace("\x00", "")).replace("\\", "/").rpartition("/")[2]
    if len(last) > MAX_NAME:
        stem, dot, ending = last.rpartition(".")
        ending = dot + ending if stem and len(ending) < LONGEST_ENDING else ""
        last = last[: MAX_NAME - len(ending)] + ending
    return last or "unnamed"


def lasting(path: str | Path) -> str | Path:
    """Return a path that is valid from any folder, to resume the work later. Passwords are removed."""
    if "://" in str(path):
        return _PASSWORD.sub(r"\1***@", str(path))
    return Path(path).expanduser().absolute()
