"""Counts tokens for the model in use, whose own tokenizer is mostly not available."""

from __future__ import annotations

import math
from collections.abc import Callable

from footnotes.answer.models import ChatRequest, estimated_usage
from footnotes.text.tokens import count_tokens
from footnotes.types import Usage

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
        counted = estimated_usage(request, "").prompt_tokens
        if counted >= ENOUGH_TO_LEARN and LEAST * counted <= reported.prompt_tokens <= MOST * counted:
            self._ratios[model] = reported.prompt_tokens / counted
