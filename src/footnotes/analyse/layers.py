"""Assigns files to layers of a program: by the user's map, else by the names of their folders."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

_GUESSES = (
    ("tests", "test tests spec specs testing __tests__ e2e fixtures testdata"),
    ("docs", "doc docs documentation wiki"),
    ("api", "api apis route routes router routers controller controllers endpoint endpoints handler handlers rest "
            "graphql views web server serve"),
    ("domain", "domain domains model models entity entities core service services usecase usecases business logic"),
    ("infrastructure", "infra infrastructure db database databases repository repositories client clients store "
                       "storage persistence adapters dao migration migrations queue cache gateway gateways"),
    ("cli", "cli command commands cmd bin"),
    ("ui", "ui component components page pages widget widgets frontend templates layouts screens"),
    ("build", "scripts tools build ci deploy"),
)  # fmt: skip
_LAYER_OF = {word: layer for layer, words in _GUESSES for word in words.split()}
_TEST_FILE = re.compile(r"(?:^test_|_test\.|\.test\.|\.spec\.|_spec\.|^conftest\.)")


OTHER = "other"
"""The layer of unknown files."""


def layer_of(path: str, layers: Mapping[str, str]) -> str:
    """Return the layer of a file by its path in the repository: from the first matching glob, else a guess."""
    for pattern, layer in layers.items():
        if glob(pattern).fullmatch(path):
            return layer
    return guess_layer(path) or OTHER


def guess_layer(path: str) -> str | None:
    """Return the layer named by the file or its nearest folder; tests are tests wherever they are."""
    *folders, name = path.lower().split("/")
    if _TEST_FILE.search(name) or any(_LAYER_OF.get(folder) == "tests" for folder in folders):
        return "tests"
    for word in (name.partition(".")[0], *reversed(folders)):
        if layer := _LAYER_OF.get(word):
            return layer
    return None


@cache
def glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob: `*` and `?` stay in a folder, `**` does not; a final `/` matches everything below."""
    pattern = pattern.removeprefix("./") + ("**" if pattern.endswith("/") else "")
    parts = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    patterns = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(patterns.get(part) or re.escape(part) for part in parts), re.DOTALL)
