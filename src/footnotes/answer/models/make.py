"""Makes chat models from settings."""

from __future__ import annotations

from typing import cast

from footnotes import plugins
from footnotes.answer.models import ChatModel
from footnotes.answer.models.table import load_table
from footnotes.settings import Settings


def make_chat_model(name: str, settings: Settings) -> ChatModel:
    """Make the chat model of a name. Its class receives the whole name and the settings.

    A name without a version, such as `anthropic` or `anthropic:sonnet`, means the current model.
    """
    full = load_table(settings.models_file).full_name(name)
    return cast(ChatModel, plugins.find("chat_models", full).from_settings(full, settings))
