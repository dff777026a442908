"""The shared part of chat models behind HTTP, for any dialect."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Self

from footnotes.answer.models import ChatRequest, Piece
from footnotes.answer.models.table import load_table
from footnotes.errors import ConfigError
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.presets import endpoint_for
from footnotes.settings import Settings


class RemoteChat(ABC):
    """One model of a provider, streamed. A dialect adds the address and the format of requests and replies."""

    path: ClassVar[str]
    native: ClassVar[bool] = False
    """Whether to use the provider's own API if it also has a compatible one."""

    def __init__(self, provider: str, model: str, endpoint: Endpoint, *, context_tokens: int = 0) -> None:
        if not model:
            raise ConfigError(f"the model of {provider} is not named", remedy=f"Write it as {provider}:model-name.")
        self._provider, self._model = provider, model
        self._remote = Remote(endpoint)
        self._context_tokens = context_tokens or load_table().context(self.name)

    @classmethod
    def from_settings(cls, name: str, settings: Settings) -> Self:
        provider, _, model = name.partition(":")
        context = settings.context_tokens or load_table(settings.models_file).context(name)
        return cls(provider, model, endpoint_for(provider, settings, native=cls.native), context_tokens=context)

    @property
    def name(self) -> str:
        return f"{self._provider}:{self._model}"

    @property
    def context_tokens(self) -> int:
        return self._context_tokens

    @property
    def calls_tools(self) -> bool:
        return True

    def chat(self, request: ChatRequest, *, deadline: Deadline) -> Iterator[Piece]:
        """Yield the reply as it arrives. A stream without an end mark counts as broken."""
        yield from self._read(self._remote.lines(self.path, self._body(request), deadline=deadline))

    def close(self) -> None:
        self._remote.close()

    @abstractmethod
    def _body(self, request: ChatRequest) -> dict[str, object]: ...

    @abstractmethod
    def _read(self, lines: Iterator[str]) -> Iterator[Piece]: ...
