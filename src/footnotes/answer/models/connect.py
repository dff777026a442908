"""Connects chat models at run time: provider, address and key."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from urllib.parse import urlsplit

from footnotes.answer.models import ChatModel, ChatRequest, Message
from footnotes.answer.models.anthropic import AnthropicChat
from footnotes.answer.models.llama import LlamaChat
from footnotes.answer.models.openai import OpenAIChat
from footnotes.errors import FootnotesError, OptionError, ProviderBadResponse, ProviderRefused, UrlBlocked
from footnotes.fetch.address import check_not_metadata, public_address
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.presets import ANTHROPIC_VERSION
from footnotes.settings import Settings
from footnotes.types import ErrorInfo

COMPATIBLE, LLAMA, ANTHROPIC = "compatible", "llama", "anthropic"
_COHERE_LIST = "https://api.cohere.com/v1/models?endpoint=chat&page_size=200"
_NAMES = {
    "openai": "OpenAI", "anthropic": "Anthropic", "gemini": "Gemini", "cohere": "Cohere", "ollama": "Ollama",
    COMPATIBLE: "the server",
}  # fmt: skip
ADDRESSES = {
    "openai": "https://api.openai.com/v1",
    "anthropic": "https://api.anthropic.com/v1",
    "gemini": "https://generativelanguage.googleapis.com/v1beta/openai",
    "cohere": "https://api.cohere.com/compatibility/v1",
    "ollama": "http://localhost:11434/v1",
    COMPATIBLE: "",
    LLAMA: "",
}
"""Providers and their default addresses. All but Anthropic speak OpenAI's chat completions."""
_KEYLESS = ("ollama", COMPATIBLE, LLAMA)
USUAL_PLACES = (("Ollama", "ollama", 11434), ("LM Studio", COMPATIBLE, 1234), ("llama.cpp", COMPATIBLE, 8080))
"""Model servers on this machine: name, provider and usual port."""
TEST_SECONDS = 20.0
_LOOK_SECONDS = 0.3
MOST_LISTED = 1_000


@dataclass(frozen=True, slots=True)
class Connection:
    """A model of a provider. `path` is the GGUF file of a local one; `public` forbids addresses of private networks."""

    provider: str
    model: str
    base_url: str = ""
    path: str = ""
    key: str = field(default="", repr=False)
    public: bool = True

    @property
    def address(self) -> str:
        return (self.base_url or ADDRESSES[self.provider]).rstrip("/")

    @property
    def label(self) -> str:
        return f"{self.provider}:{self.model or Path(self.path).stem}"

    @property
    def lacks_key(self) -> bool:
        """Return whether a key is missing that the provider requires."""
        return not (self.key or self.provider in _KEYLESS) and self.address == ADDRESSES[self.provider].rstrip("/")


@dataclass(frozen=True, slots=True)
class Tried:
    """The result of a test: the time until the first words, and these words, or the reason why there are none."""

    ok: bool
    ms: float
    first: str
    error: ErrorInfo | None


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A model server on this machine."""

    name: str
    provider: str
    base_url: str
    models: list[str]


def check(connection: Connection) -> None:
    """Raise for an invalid connection, before any network access."""
    if connection.provider not in ADDRESSES:
        raise OptionError(f"there is no provider {connection.provider[:40]!r}; known: {', '.join(ADDRESSES)}")
    if connection.provider == LLAMA:
        if connection.path and not (connection.path.endswith(".gguf") and Path(connection.path).is_file()):
            raise OptionError(
                "there is no GGUF file at this path",
                remedy="Give the path of one on the server, as /models/model.gguf.",
            )
        return
    if not (connection.key.isascii() and connection.key.isprintable()):
        raise OptionError("the key holds characters that no key has", remedy="Copy it from the provider again.")
    if not connection.address.isascii():
        raise OptionError("the address holds characters that no address has", remedy="Write names in punycode.")
    import httpx

    try:
        parts = urlsplit(connection.address)
        port = parts.port
        httpx.URL(connection.address)
    except (ValueError, httpx.InvalidURL) as error:
        raise OptionError("the address cannot be read") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise OptionError("the address must begin with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query or parts.fragment:
        raise OptionError("the address must hold no password, question mark or #", remedy="Give the key as the key.")
    look = public_address if connection.public else check_not_metadata
    try:
        look(parts.hostname, port or 443, _LOOK_SECONDS * 10)
    except UrlBlocked:
        raise
    except FootnotesError:
        return  # an unknown name fails when connecting


def chat_of(connection: Connection, settings: Settings, *, quoted: bool = False) -> ChatModel:
    """Open the model of a connection; if `quoted`, its errors repeat the provider's message."""
    check(connection)
    if connection.provider == LLAMA:
        return LlamaChat.from_settings(f"{LLAMA}:{connection.model}", replace(settings, llama_model=connection.path))
    if not connection.model:
        raise OptionError("no model is named", remedy="Choose one that the provider lists.")
    endpoint = _endpoint(connection, settings, quoted=quoted)
    dialect = AnthropicChat if connection.provider == ANTHROPIC else OpenAIChat
    return dialect(connection.provider, connection.model, endpoint, context_tokens=settings.context_tokens)


def models_of(connection: Connection, settings: Settings) -> list[str]:
    """Return the models that a provider lists."""
    check(connection)
    if connection.provider == LLAMA:
        return [Path(connection.path).stem] if connection.path else []
    remote = Remote(_endpoint(connection, settings, attempts=1, quoted=True))
    official = connection.address == ADDRESSES["cohere"]
    try:
        found = remote.get(_COHERE_LIST if official else "models", deadline=Deadline(TEST_SECONDS))
    finally:
        remote.close()
    rows = (found.get("data") or found.get("models") or []) if isinstance(found, dict) else found
    if not isinstance(rows, list):
        raise ProviderBadResponse(f"{_NAMES[connection.provider]} lists no models")
    names = [str(row.get("id") or row.get("name") or "") for row in rows if isinstance(row, dict)]
    return sorted({name.removeprefix("models/") for name in names if name})[:MOST_LISTED]


def try_model(connection: Connection, settings: Settings) -> Tried:
    """Test a model with one small question."""
    began = time.perf_counter()
    try:
        first = _first_words(chat_of(connection, settings, quoted=True), connection.label)
    except FootnotesError as error:
        return Tried(False, _since(began), "", error.info())
    return Tried(True, _since(began), first, None)


def _first_words(model: ChatModel, label: str) -> str:
    request = ChatRequest(messages=[Message("user", "Reply with the word yes.")], max_tokens=8, temperature=0.0)
    try:
        for piece in model.chat(request, deadline=Deadline(TEST_SECONDS)):
            if piece.text.strip():
                return piece.text.strip()[:40]
    finally:
        getattr(model, "close", lambda: None)()
    raise ProviderBadResponse(f"{label} answered with nothing")


def find_servers(settings: Settings) -> Iterator[FoundServer]:
    """Yield the model servers that answer at their usual ports on this machine."""
    for name, provider, port in USUAL_PLACES:
        with socket.socket() as door:
            door.settimeout(_LOOK_SECONDS)
            if door.connect_ex(("127.0.0.1", port)) != 0:
                continue
        connection = Connection(provider, "", f"http://127.0.0.1:{port}/v1", public=False)
        try:
            models = models_of(connection, replace(settings, model_timeout=2.0))
        except FootnotesError:
            continue  # another program listens there
        yield FoundServer(name, provider, connection.base_url, models)


def _endpoint(connection: Connection, settings: Settings, *, attempts: int = 2, quoted: bool) -> Endpoint:
    key, provider = connection.key, _NAMES[connection.provider]
    if connection.lacks_key:
        raise ProviderRefused(f"{provider} needs a key, and none is given", remedy="Enter the key of your account.")
    return Endpoint(
        provider=provider,
        base_url=connection.address,
        headers=_headers(connection),
        secrets=(key,) if key else (),
        timeout=settings.model_timeout,
        attempts=attempts,
        proxy=settings.proxy,
        quoted=quoted,
        resolve=public_address if connection.public else None,
    )


def _headers(connection: Connection) -> dict[str, str]:
    key = connection.key
    if not key:
        return {}
    if ".azure.com" in connection.address:
        return {"api-key": key}
    if connection.provider == ANTHROPIC:
        return {"x-api-key": key, "anthropic-version": ANTHROPIC_VERSION}
    return {"authorization": f"Bearer {key}"}


def _since(began: float) -> float:
    return round((time.perf_counter() - began) * 1000, 1)
