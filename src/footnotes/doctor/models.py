"""Checks of the models: each is loaded and asked once."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from footnotes.answer.models import ChatModel, ChatRequest, Message
from footnotes.doctor import Check, Checks
from footnotes.embed.checked import embed_one
from footnotes.embed.make import make_embedder
from footnotes.errors import ProviderBadResponse
from footnotes.remote import Deadline
from footnotes.settings import NO_RERANKER, Settings

if TYPE_CHECKING:
    from footnotes.library import Library

ANSWER_SECONDS = 15.0


def check_embedder(settings: Settings) -> Checks:
    began = time.perf_counter()
    embedder = make_embedder(settings)
    vector = embed_one(embedder, "Does the embedder answer?", role="query")
    took = (time.perf_counter() - began) * 1000
    yield Check("embedder", "ok", f"{embedder.name}, {len(vector)} dimensions, answered in {took:.0f} ms")


def check_chat_model(found: tuple[str, Callable[[], ChatModel]] | None) -> Checks:
    if found is None:
        yield Check("chat model", "skipped", "none is set: answers are quotations")
        return
    name, open_model = found
    took = ask_model(name, open_model()) * 1000
    yield Check("chat model", "ok", f"{name} answered in {took:.0f} ms")


def ask_model(name: str, model: ChatModel, *, seconds: float = ANSWER_SECONDS) -> float:
    """Return the seconds to the first words of the model; raise its error if it does not answer."""
    request = ChatRequest(messages=[Message("user", "Reply with the word yes.")], max_tokens=8, temperature=0.0)
    began = time.perf_counter()
    try:
        for piece in model.chat(request, deadline=Deadline(seconds)):
            if piece.text:
                return time.perf_counter() - began
    finally:
        getattr(model, "close", lambda: None)()
    raise ProviderBadResponse(f"{name} answered with nothing")


def check_reranker(library: Library) -> Checks:
    name = library.settings.reranker
    if name in ("", NO_RERANKER):
        yield Check("reranker", "skipped", "none is set")
        return
    found = library.search("Does the reranker answer?", limit=3)
    leg = found.legs.get("rerank")
    if not found.hits or leg is None:
        yield Check("reranker", "skipped", f"{name}: there is nothing to rerank yet")
    elif leg.status == "failed":
        yield Check("reranker", "problem", f"{name}: {leg.reason}", "Check the settings rerank_*.")
    else:
        yield Check("reranker", "ok", f"{name} answered in {leg.ms:.0f} ms")
