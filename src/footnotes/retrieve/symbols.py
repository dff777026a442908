"""Names of code in a question: definitions come first, then uses, then everything else.

A question without such names, or whose names the library does not define, is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from footnotes.retrieve.fuse import Floats
from footnotes.store import SearchView
from footnotes.store.lexemes import defined, whole_term
from footnotes.store.views import Candidates, Symbols

MOST_NAMES = 16
DEFINES, USES = 2, 1
_APART = 0.01
"""The gap between uses and the rest, added to the range of the scores."""

_PART = r"[^\W\d][\w$]*"
_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_NAME = re.compile(rf"(?<![\w.$/@-])((?:{_PART})(?:(?:\.|::|->|#)(?:{_PART}))*)(?![\w$@])(\([^()\s]*\))?")
_JOINTS = re.compile(r"::|->|#")
_SNAKE = re.compile(r"[^\W_]_+[^\W_]|^_+[^\W_]|[^\W_]__$")
_CAMEL = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2,}[a-z]{2,}")


@dataclass(frozen=True, slots=True)
class Asked:
    """A name as written, and the bare name to try if nothing defines the full one."""

    name: str
    bare: str = ""


def find_names(question: str) -> tuple[Asked, ...]:
    """Find the names in a question: backticked, called, dotted, in snake_case or camelCase."""
    found = dict.fromkeys([*_find_quoted(question), *_find_unquoted(_QUOTED.sub(" ", question))])
    return tuple(found)[:MOST_NAMES]


def symbols_of(names: Sequence[Asked]) -> Symbols:
    """Return what a store should look up for the names."""
    spellings = dict.fromkeys([*(asked.name for asked in names), *(asked.bare for asked in names if asked.bare)])
    return Symbols(tuple(spellings), tuple(dict.fromkeys(term for name in spellings if (term := whole_term(name)))))


def _find_quoted(question: str) -> Iterator[Asked]:
    for match in _QUOTED.finditer(question):
        name = _NAME.fullmatch(match[1].strip())
        if name is not None:
            yield _build_name(name[1], sure=True)


def _find_unquoted(question: str) -> Iterator[Asked]:
    for match in _NAME.finditer(question):
        name, called = match.groups()
        parts = _JOINTS.sub(".", name).split(".")
        dotted = len(parts) > 1 and all(len(part) > 1 for part in parts)
        telling = _is_telling(parts[-1])
        if called or telling or dotted:
            yield _build_name(name, sure=bool(called) or telling or name[0].isupper())


def _is_telling(part: str) -> bool:
    """Return whether a word can hardly be anything but a name of code."""
    return bool(_SNAKE.search(part) or _CAMEL.search(part))


def _build_name(name: str, *, sure: bool) -> Asked:
    name = _JOINTS.sub(".", name)
    bare = name.rpartition(".")[2]
    return Asked(name, bare if sure and bare != name else "")


# ── boosts for candidates


@dataclass(frozen=True, slots=True)
class Boosts:
    """Additions to the scores of candidates, and the reasons, by key."""

    added: Mapping[int, float]
    reasons: Mapping[int, str]


def boosts(view: SearchView, names: Sequence[Asked], found: Candidates, scores: Floats) -> Boosts:
    """Return boosts that put every definition above every use, and every use above the rest."""
    defines = _definitions(view, names, found.defining)
    if not defines:
        return Boosts({}, {})
    step = float(np.ptp(scores)) + _APART
    uses = found.using - defines.keys()
    listing = " or ".join(asked.name for asked in names)
    reasons = dict.fromkeys(uses, f"uses {listing}") | {key: f"defines {name}" for key, name in defines.items()}
    return Boosts({key: step * (DEFINES if key in defines else USES) for key in reasons}, reasons)


def _definitions(view: SearchView, names: Sequence[Asked], keys: Sequence[int]) -> dict[int, str]:
    """Return the name that each chunk defines: the full name, or the bare one if no chunk defines the full one."""
    defined_in = {row.key: frozenset(defined(row.metadata)) for row in view.hits(keys)}
    found: dict[int, str] = {}
    for asked in names:
        for name in filter(None, (asked.name, asked.bare)):
            chunks = [key for key, known in defined_in.items() if name in known]
            found |= {key: name for key in chunks if key not in found}
            if chunks:
                break
    return found
