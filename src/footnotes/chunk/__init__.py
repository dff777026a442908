"""Cuts blocks into chunks."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import ClassVar, Protocol, cast

from footnotes import plugins
from footnotes.errors import OptionError
from footnotes.types import Metadata, Part, Piece


class Chunker(Protocol):
    """Cuts a part into pieces, in order, with exact spans. One file per rule; options are keyword arguments.

    A chunker is a pure function of the part's text, its blocks and its own options. Every character that is not white
    space lies in at least one piece. `options` are the effective ones, with defaults. Together with `name` and
    `version` they make the fingerprint.
    """

    name: ClassVar[str]
    version: ClassVar[int]

    @property
    def options(self) -> Metadata: ...

    def split(self, part: Part) -> list[Piece]: ...


# ── builds chunkers by name ───────────────────────────────────────────────────────────────────────────────────


NEEDED = {"embed": "an embedder", "say": "a chat model", "memory": "a place to remember"}
"""What a chunker may require besides its options, by argument name."""


ALIASES = {"rule_based": "rules"}
"""Names that other services use for our chunkers."""


def make_chunker(name: str, options: Mapping[str, object] | None = None, **given_parts: object) -> Chunker:
    """Return the named chunker with its options. Raises on unknown options and values out of bounds.

    Chunkers that require `embed`, `say` or `memory` receive them.
    """
    chunker = plugins.find("chunkers", ALIASES.get(name, name))
    values = dict(options or {})
    arguments = inspect.signature(chunker).parameters
    names = [each for each in arguments if each not in NEEDED]
    unknown = sorted(set(values) - set(names))
    if unknown:
        raise OptionError(f"the chunker {name} has no option {unknown[0]!r}; it has {', '.join(names) or 'none'}")
    for part, what in NEEDED.items():
        if part in arguments:
            if given_parts.get(part) is None:
                raise OptionError(f"the chunker {name} needs {what}, and none is at hand")
            values[part] = given_parts[part]
    return cast(Chunker, chunker(**values))
