"""The endpoints of providers, from the settings."""

from __future__ import annotations

from footnotes.errors import ConfigError
from footnotes.remote.client import Endpoint
from footnotes.settings import Settings

_NAMES = {"openai": "OpenAI", "anthropic": "Anthropic", "ollama": "Ollama", "cohere": "Cohere", "gemini": "Gemini"}
_COHERE_CHAT = "/compatibility/v1"
ANTHROPIC_VERSION = "2023-06-01"


def endpoint_for(provider: str, settings: Settings, *, attempts: int = 3, native: bool = False) -> Endpoint:
    """Return the endpoint of a provider. `native` means Cohere's own API, not its OpenAI-compatible one."""
    if provider not in _NAMES:
        raise ConfigError(f"there is no provider {provider!r}; known: {', '.join(sorted(_NAMES))}")
    key = "" if provider == "ollama" else str(getattr(settings, f"{provider}_api_key"))
    base_url = str(getattr(settings, f"{provider}_base_url"))
    if provider == "cohere" and not native:
        base_url = base_url.rstrip("/") + _COHERE_CHAT
    if not base_url.startswith(("http://", "https://")):
        raise ConfigError(f"the setting {provider}_base_url must begin with http:// or https://")
    return Endpoint(
        provider=_NAMES[provider],
        base_url=base_url,
        headers=_headers(provider, base_url, key),
        secrets=(key,) if key else (),
        key_setting=f"{provider}_api_key" if provider != "ollama" else "",
        lacks_key=not key and provider != "ollama" and base_url.startswith(_official(provider)),
        timeout=settings.model_timeout,
        attempts=attempts,
        proxy=settings.proxy,
        quoted=settings.quote_providers,
    )


def _official(provider: str) -> str:
    """Return the provider's own address, which requires a key."""
    return str(Settings.__dataclass_fields__[f"{provider}_base_url"].default)


def _headers(provider: str, base_url: str, key: str) -> dict[str, str]:
    """Return the headers for the key; Azure and Anthropic use their own headers."""
    if provider == "anthropic":
        return {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
    if not key:
        return {}
    return {"api-key": key} if ".azure.com" in base_url else {"authorization": f"Bearer {key}"}
