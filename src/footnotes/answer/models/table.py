"""A table of providers' models: current names, contexts and prices. It is a file that users can replace."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from pathlib import Path
from typing import cast

from footnotes import plugins
from footnotes.answer.models import ChatModel, ChatRequest, estimate_usage
from footnotes.errors import ConfigError
from footnotes.settings import Settings
from footnotes.text.tokens import count_tokens
from footnotes.types import Usage

CONTEXT_TOKENS = 8_192
"""Assumed for unknown models: small enough for all in use."""
_MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class KnownModel:
    """One row. Prices are US dollars per million tokens; None if unknown."""

    context: int = 0
    input: float | None = None
    output: float | None = None


@dataclass(frozen=True, slots=True)
class ModelTable:
    """Rows by provider and model name prefix."""

    aliases: Mapping[str, str]
    rows: Mapping[str, Mapping[str, KnownModel]]

    def full_name(self, name: str) -> str:
        """Expand `anthropic` or `anthropic:sonnet` to the current model; return other names unchanged."""
        model = self.aliases.get(name.rstrip(":"))
        return name if model is None else f"{name.partition(':')[0]}:{model}"

    def find(self, name: str) -> KnownModel:
        """Return the row for `provider:model`: that of the longest matching prefix, its own provider's first."""
        provider, _, model = name.partition(":")
        own = self.rows.get(provider, {})
        for rows in (own, *(rows for key, rows in self.rows.items() if key not in (provider, "ollama", "llama"))):
            fitting = [beginning for beginning in rows if model.startswith(beginning)]
            if fitting:
                return rows[max(fitting, key=len)]
        return KnownModel()

    def context(self, name: str) -> int:
        return self.find(name).context or CONTEXT_TOKENS

    def priced(self, name: str, usage: Usage) -> Usage:
        """Add the cost to a usage, if the price of the model is known."""
        known = self.find(name)
        if known.input is None or known.output is None or not usage.model_calls:
            return usage
        cost = (usage.prompt_tokens * known.input + usage.completion_tokens * known.output) / _MILLION
        return replace(usage, cost_usd=round(cost, 8))


@cache
def load_table(file: str = "") -> ModelTable:
    """Load the table that comes with Footnotes, or the user's file."""
    try:
        if file:
            written = Path(file).expanduser().read_text(encoding="utf-8")
        else:
            written = (resources.files(__package__) / "data" / "models.toml").read_text("utf-8")
        content = tomllib.loads(written)
        aliases = {str(name): str(model) for name, model in content.pop("aliases", {}).items()}
        return ModelTable(aliases, dict(_rows(content)))
    except OSError as error:
        raise ConfigError(f"the models_file {file} cannot be read ({error.strerror})") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, TypeError, ValueError, AttributeError) as error:
        raise ConfigError(f"the models_file {file} is no table of models: {error}") from error


def _rows(content: Mapping[str, object]) -> Iterator[tuple[str, dict[str, KnownModel]]]:
    for provider, models in content.items():
        if isinstance(models, Mapping):
            yield provider, {name: KnownModel(**row) for name, row in models.items()}


# ── makes chat models from settings ───────────────────────────────────────────────────────────────────────────


def make_chat_model(name: str, settings: Settings) -> ChatModel:
    """Make the chat model of a name. Its class receives the whole name and the settings.

    A name without a version, such as `anthropic` or `anthropic:sonnet`, means the current model.
    """
    full = load_table(settings.models_file).full_name(name)
    return cast(ChatModel, plugins.find("chat_models", full).from_settings(full, settings))


# ── counts tokens for the model in use, whose own tokenizer is mostly not available ───────────────────────────


ASSUMED = 1.2
"""Tokens of an unknown model per token of cl100k: most vocabularies are smaller than that one."""
LEAST, MOST = 0.5, 4.0
ENOUGH_TO_LEARN = 100


class ModelTokens:
    """Counts cl100k tokens, corrected by what each model has reported for its prompts."""

    def __init__(self) -> None:
        self._ratios: dict[str, float] = {}

    def counter(self, model: str) -> Callable[[str], int]:
        """Return a function that counts the approximate tokens of a text for the model."""
        ratio = self._ratios.get(model, 1.0 if model.startswith("openai:") else ASSUMED)
        return lambda text: math.ceil(count_tokens(text) * ratio)

    def learn(self, model: str, request: ChatRequest, reported: Usage) -> None:
        """Learn from a model's reported prompt tokens; ignore small prompts and implausible counts."""
        counted = estimate_usage(request, "").prompt_tokens
        if counted >= ENOUGH_TO_LEARN and LEAST * counted <= reported.prompt_tokens <= MOST * counted:
            self._ratios[model] = reported.prompt_tokens / counted
