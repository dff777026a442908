"""Builds the reranker from the settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from footnotes import plugins
from footnotes.embed.hub import locate_model
from footnotes.errors import ConfigError
from footnotes.remote import Endpoint
from footnotes.remote.presets import endpoint_for
from footnotes.retrieve.rerank import Reranker
from footnotes.retrieve.rerankers.late import LateReranker, TokenVectors
from footnotes.retrieve.rerankers.llm import Complete, LlmReranker
from footnotes.retrieve.rerankers.onnx import OnnxReranker
from footnotes.retrieve.rerankers.server import ServerReranker
from footnotes.settings import Settings

COHERE_MODEL = "rerank-v3.5"


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts available to a reranker."""

    settings: Settings
    token_vectors: TokenVectors | None = None
    complete: Complete | None = None


def make_reranker(name: str, parts: Parts) -> Reranker:
    """Return the named reranker. A plug-in's factory receives the model's name and the parts."""
    _, model = plugins.split_name(name)
    factory = plugins.find("rerankers", name)
    return cast(Reranker, factory(model, parts))


def late(model: str, parts: Parts) -> Reranker:
    return LateReranker(parts.token_vectors)


def llm(model: str, parts: Parts) -> Reranker:
    return LlmReranker(parts.complete)


def onnx(model: str, parts: Parts) -> Reranker:
    settings = parts.settings
    folder = str(locate_model(model, settings.models_dir)) if model else settings.rerank_model_dir
    if not folder:
        raise ConfigError(
            "the reranker 'onnx' needs a folder", remedy="Name it as rerank_model_dir, or a fetched model as onnx:NAME."
        )
    return OnnxReranker(folder, threads=settings.embedder_threads)


def cohere(model: str, parts: Parts) -> Reranker:
    endpoint = endpoint_for("cohere", parts.settings, attempts=1, native=True)
    model_name = model or COHERE_MODEL
    return ServerReranker(f"cohere:{model_name}", endpoint, model=model_name, path="v2/rerank")


def server(model: str, parts: Parts) -> Reranker:
    settings = parts.settings
    if not settings.rerank_base_url.startswith(("http://", "https://")):
        raise ConfigError("the reranker 'server' needs an address", remedy="Name it as rerank_base_url.")
    key = settings.rerank_api_key
    headers: dict[str, Any] = {"authorization": f"Bearer {key}"} if key else {}
    endpoint = Endpoint(
        provider="the rerank server",
        base_url=settings.rerank_base_url,
        headers=headers,
        secrets=(key,) if key else (),
        key_setting="rerank_api_key",
        timeout=settings.model_timeout,
        attempts=1,
        proxy=settings.proxy,
        quoted=settings.quote_providers,
    )
    return ServerReranker(f"server:{model}", endpoint, model=model)
