"""Loads classes by name. Built-ins and plug-ins from other packages load the same way: by entry point.

A name is `provider` or `provider:model`; the provider selects the class, which receives the model. Entry points are
in the groups `footnotes.parsers`, `footnotes.chunkers`, `footnotes.embedders`, `footnotes.rerankers`,
`footnotes.chat_models`, `footnotes.stores`, `footnotes.indexes` and `footnotes.sources`.
"""

from __future__ import annotations

from functools import cache
from importlib import metadata
from typing import Any, Literal

from footnotes.errors import MissingExtra, PluginBroken, UnknownPlugin

Kind = Literal["parsers", "chunkers", "embedders", "rerankers", "chat_models", "stores", "indexes", "sources"]


def split_name(name: str) -> tuple[str, str]:
    """Split `"openai:gpt-4o"` into `("openai", "gpt-4o")`; a plain name has an empty model."""
    provider, _, model = name.partition(":")
    return provider, model


def names(kind: Kind) -> list[str]:
    """Return the names of all providers that can be loaded."""
    return sorted(_entry_points(kind))


def find(kind: Kind, name: str) -> Any:
    """Load the class or factory of a name."""
    provider, _ = split_name(name)
    points = _entry_points(kind)
    if provider not in points:
        raise UnknownPlugin(
            f"there is no {kind[:-1].replace('_', ' ')} named {provider!r}; known: {', '.join(sorted(points))}"
        )
    try:
        return _load(points[provider])
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"{name} needs the package {error.name!r}, which is not installed",
            remedy=f'pip install "footnotes[{provider}]"',
        ) from error
    except (Exception, SystemExit) as error:  # other packages may raise anything, or exit
        raise PluginBroken(f"{name} cannot be loaded ({type(error).__name__}: {error})") from error


@cache
def _load(point: metadata.EntryPoint) -> object:
    return point.load()


@cache
def _entry_points(kind: Kind) -> dict[str, metadata.EntryPoint]:
    return {point.name: point for point in metadata.entry_points(group=f"footnotes.{kind}")}
