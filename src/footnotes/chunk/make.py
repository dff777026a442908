"""Chunkers by name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from footnotes import registry
from footnotes.chunk import Chunker
from footnotes.errors import OptionError

Embed = Callable[[Sequence[str]], Any]
"""Texts → one vector a row; given to chunkers that compare meanings."""


def make_chunker(name: str, options: Mapping[str, Any] | None = None, *, embed: Embed | None = None) -> Chunker:
    """The chunker of a name with its options; unknown options and values out of bounds are errors."""
    chunker = registry.find("chunkers", name)
    given = dict(options or {})
    known = [each for each in inspect.signature(chunker).parameters if each != "embed"]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise OptionError(f"the chunker {name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    if needs_embedder(name):
        if embed is None:
            raise OptionError(f"the chunker {name} needs an embedder, and none is at hand")
        given["embed"] = embed
    return cast(Chunker, chunker(**given))


def needs_embedder(name: str) -> bool:
    """Whether a chunker compares meanings, and must be given an embedder."""
    return "embed" in inspect.signature(registry.find("chunkers", name)).parameters
