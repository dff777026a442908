"""Chunkers by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import cast

from footnotes import plugins
from footnotes.chunk import Chunker
from footnotes.errors import OptionError

NEEDED = {"embed": "an embedder", "say": "a chat model", "memory": "a place to remember"}
"""What a chunker may ask for beside its options, by the name of the argument."""


ALIASES = {"rule_based": "rules"}
"""Names that other services have for chunkers of ours."""


def make_chunker(name: str, options: Mapping[str, object] | None = None, **given_parts: object) -> Chunker:
    """The chunker of a name with its options; unknown options and values out of bounds are errors.

    `embed`, `say` and `memory` are handed to the chunkers that ask for them.
    """
    chunker = plugins.find("chunkers", ALIASES.get(name, name))
    given = dict(options or {})
    arguments = inspect.signature(chunker).parameters
    known = [each for each in arguments if each not in NEEDED]
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise OptionError(f"the chunker {name} has no option {unknown[0]!r}; it has {', '.join(known) or 'none'}")
    for part, what in NEEDED.items():
        if part in arguments:
            if given_parts.get(part) is None:
                raise OptionError(f"the chunker {name} needs {what}, and none is at hand")
            given[part] = given_parts[part]
    return cast(Chunker, chunker(**given))
