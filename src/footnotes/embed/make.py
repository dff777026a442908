"""Settings → embedder."""

from __future__ import annotations

from typing import cast

from footnotes import plugins
from footnotes.embed import Embedder
from footnotes.settings import Settings


def make_embedder(settings: Settings) -> Embedder:
    """The embedder the settings name.

    A class with `from_settings(name, settings)` is made by it; any other is handed the model's name, and `local` its
    own settings as well.
    """
    provider, model = plugins.split_name(settings.embedder)
    factory = plugins.find("embedders", settings.embedder)
    if from_settings := getattr(factory, "from_settings", None):
        return cast(Embedder, from_settings(settings.embedder, settings))
    options = _local_options(settings) if provider == "local" else {}
    return cast(Embedder, factory(model, **options))


def _local_options(settings: Settings) -> dict[str, object]:
    return {
        "threads": settings.embedder_threads,
        "variant": settings.embedder_variant,
        "model_dir": settings.model_dir,
        "models_dir": settings.models_dir,
    }
