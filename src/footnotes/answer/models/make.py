"""Settings → chat model."""

from __future__ import annotations

from typing import cast

from footnotes import registry
from footnotes.answer.models import ChatModel
from footnotes.config import Settings


def make_chat_model(name: str, settings: Settings) -> ChatModel:
    """The chat model of a name. Its class is handed the whole name and the settings."""
    return cast(ChatModel, registry.find("chat_models", name).from_settings(name, settings))
