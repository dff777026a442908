"""Builds the embedder from the settings."""

from __future__ import annotations

from typing import cast

from footnotes import plugins
from footnotes.embed import Embedder
from footnotes.settings import Settings


def make_embedder(settings: Settings) -> Embedder:
    """Return the embedder named in the settings.

    A class with `from_settings(name, settings)` is built by it; any other gets only the model's name.
    """
    factory = plugins.find("embedders", settings.embedder)
    if from_settings := getattr(factory, "from_settings", None):
        return cast(Embedder, from_settings(settings.embedder, settings))
    return cast(Embedder, factory(plugins.split_name(settings.embedder)[1]))
