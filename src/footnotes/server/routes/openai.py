"""The OpenAI dialect: chat completions answered from the documents, models and embeddings."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import numpy as np
from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from footnotes.answer import last_answer
from footnotes.embed.checked import embed_all
from footnotes.errors import NotFound, RequestInvalid
from footnotes.library import Library
from footnotes.render import answer_as_text, distinct_footnotes, footnote_line
from footnotes.server import examples
from footnotes.server import replies as r
from footnotes.server.gate import request_id_of
from footnotes.server.openapi import MODEL_ERRORS, errors, events
from footnotes.server.responses import SafeJson, dump_json
from footnotes.server.routes.finding import answer_events
from footnotes.server.state import Reader, ReadLibrary, State
from footnotes.server.streams import open_event_stream, prepend
from footnotes.server.strict import StrictRoute
from footnotes.text.tokens import count_tokens
from footnotes.types import Answer, Event
from footnotes.wire import to_json

router = APIRouter(prefix="/v1", tags=["openai"], route_class=StrictRoute)
MODEL = "footnotes"
"""The model that answers from all documents; `footnotes:NAME` answers from one collection."""
MOST_INPUTS = 2_048
LONGEST_INSTRUCTIONS = 20_000
Input = Annotated[str, Field(min_length=1)]


class Lenient(BaseModel):
    """A body of another dialect: unknown fields are ignored, known fields have strict types."""

    model_config = ConfigDict(extra="ignore", strict=True)


class MessagePart(Lenient):
    type: str
    text: str | None = None


class ChatMessage(Lenient):
    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | Annotated[list[MessagePart], Field(max_length=1_000)] | None = None

    def text(self) -> str:
        if isinstance(self.content, list):
            return "\n".join(part.text for part in self.content if part.text)
        return self.content or ""


class StreamOptions(Lenient):
    include_usage: bool = False


class ChatBody(Lenient):
    model: str = Field(MODEL, max_length=300, examples=[MODEL])
    messages: list[ChatMessage] = Field(
        min_length=1, max_length=1_000, examples=[[{"role": "user", "content": "How long is the notice period?"}]]
    )
    stream: bool | None = False
    stream_options: StreamOptions | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=100_000)
    max_completion_tokens: int | None = Field(None, ge=1, le=100_000)

    def to_question(self) -> tuple[str, dict[str, object]]:
        """The question (the last turn) and the options of `Library.ask`, with the turns before as history."""
        turns = [turn for turn in self.messages if turn.role in ("user", "assistant")]
        if not turns or turns[-1].role != "user":
            raise RequestInvalid("the last message must be the user's")
        history = [(turn.role, turn.text()) for turn in turns[:-1] if turn.text().strip()]
        given: dict[str, object] = {
            "temperature": self.temperature,
            "max_tokens": self.max_completion_tokens or self.max_tokens,
        }
        given |= {"history": history, "collection": _collection(self.model), "instructions": self.instructions()}
        return turns[-1].text(), given

    def instructions(self) -> str:
        """The system messages: how to answer, under the rules of the prompt."""
        text = "\n".join(turn.text() for turn in self.messages if turn.role in ("system", "developer"))
        if len(text) > LONGEST_INSTRUCTIONS:
            raise RequestInvalid(f"the system messages have more than {LONGEST_INSTRUCTIONS:,} characters")
        return text


def _collection(model: str) -> str | None:
    name, _, collection = model.partition(":")
    if name != MODEL:
        raise NotFound(f"there is no model {model[:60]!r}", remedy="GET /v1/models lists them.")
    return collection or None


@router.post(
    "/chat/completions",
    summary="Answer a chat from the documents",
    response_description="The whole answer, or with `stream` its chunks",
    responses=events(examples.CHAT_EVENTS) | errors(404, *MODEL_ERRORS, body=True),
)
async def chat(
    request: Request, body: ChatBody, library: ReadLibrary, state: State, caller: Reader
) -> r.Completion | Response:
    """Footnotes are in the text, and as data in the field `citations` of the message or of the last chunk."""
    question, options = body.to_question()
    if options["collection"] is not None:
        await state.pools.short.run(_check_model, body.model, library)
    await state.pools.short.run(state.answers.take, caller.tenant)
    stream = answer_events(state, caller.tenant, library, question, **options)
    request_id = request_id_of(request.scope)
    head: dict[str, Any] = {"id": f"chatcmpl-{request_id}", "created": int(time.time()), "model": body.model}
    if not body.stream:
        answer = await state.pools.slow.run(last_answer, stream)
        message = r.OpenAIMessage(answer_as_text(answer), **_extension(answer))
        return r.Completion(**head, choices=[r.OpenAIChoice(message, _reason(answer))], usage=_usage(answer))
    wants_usage = bool(body.stream_options and body.stream_options.include_usage)
    pieces = _pieces(stream, head, wants_usage)
    first = await state.pools.slow.run(next, pieces)
    items = state.streams.pull(prepend(first, pieces), caller)
    return open_event_stream(state.streams, caller, items, request_id, write=str)


def _extension(answer: Answer) -> dict[str, Any]:
    """The fields that the dialect lacks."""
    names = ("citations", "kind", "abstained", "degraded")
    return {name: getattr(answer, name) for name in names}


def _reason(answer: Answer) -> Literal["length", "stop"]:
    return "length" if answer.incomplete else "stop"


def _usage(answer: Answer) -> r.OpenAIUsage:
    return r.OpenAIUsage(answer.usage.prompt_tokens, answer.usage.completion_tokens)


def _pieces(events: Iterator[Event], head: dict[str, object], wants_usage: bool) -> Iterator[str]:
    """Yield chunks of the dialect: words as they come, marks after their sentences, footnotes at the end."""

    def chunk(delta: dict[str, object], reason: str | None = None, **more: object) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": reason, "logprobs": None}
        return f"data: {dump_json({**head, 'object': 'chat.completion.chunk', 'choices': [choice], **more})}\n\n"

    sent, answer = "", None
    begun = False
    for event in events:
        if not begun:
            begun = True
            yield chunk({"role": "assistant", "content": ""})
        if event.type == "token":
            sent += event.text
            yield chunk({"content": event.text})
        elif event.type == "citation" and event.citation and event.citation.answer_span[1] >= len(sent.rstrip()):
            yield chunk({"content": f" [{event.citation.marker}]"})
        answer = event.answer or answer
    assert answer is not None
    if closing := _build_closing(sent, answer):
        yield chunk({"content": closing})
    yield chunk({}, _reason(answer), **to_json(_extension(answer)))
    if wants_usage:
        last = {**head, "object": "chat.completion.chunk", "choices": [], "usage": to_json(_usage(answer))}
        yield f"data: {dump_json(last)}\n\n"
    yield "data: [DONE]\n\n"


def _build_closing(sent: str, answer: Answer) -> str:
    """The footnotes, preceded by the answer if it is not the text that was sent."""
    if sent.strip() != answer.answer.strip():
        return ("\n\n" if sent else "") + answer_as_text(answer)
    notes = "\n".join(footnote_line(citation) for citation in distinct_footnotes(answer.citations))
    return f"\n\n{notes}" if notes else ""


@router.get("/models", summary="List the models for OpenAI clients", responses=errors())
def models(library: ReadLibrary) -> r.Models:
    return r.Models([r.Model(name) for name in _names(library)])


def _names(library: Library) -> list[str]:
    return [MODEL, *(f"{MODEL}:{row['name']}" for row in library.collections()), library.settings.embedder]


@router.get("/models/{name:path}", summary="One model for OpenAI clients", responses=errors(404))
def model(name: str, library: ReadLibrary) -> r.Model:
    _check_model(name, library)
    return r.Model(name)


def _check_model(name: str, library: Library) -> None:
    if name not in _names(library):
        raise NotFound(f"there is no model {name[:60]!r}", remedy="GET /v1/models lists them.")


class EmbeddingBody(Lenient):
    input: Input | Annotated[list[Input], Field(min_length=1, max_length=MOST_INPUTS)] = Field(
        examples=[["How long is the notice period?"]]
    )
    model: str = Field("", max_length=300, examples=["local:minilm-l6"])
    encoding_format: Literal["float", "base64"] | None = "float"
    input_type: Literal["query", "passage"] = Field("passage", description="Questions and passages may differ.")


@router.post(
    "/embeddings",
    summary="Embed texts with the library's embedder",
    responses=errors(*MODEL_ERRORS, body=True),
)
async def embeddings(body: EmbeddingBody, library: ReadLibrary, state: State) -> r.Embeddings | Response:
    texts = [body.input] if isinstance(body.input, str) else body.input
    longest = library.settings.max_query_chars
    if any(not text or len(text) > longest for text in texts):
        raise RequestInvalid(f"each input must have between 1 and {longest:,} characters")
    embedder = await state.pools.short.run(library.embedder)
    size = library.settings.embed_batch
    vectors: list[object] = []
    for start in range(0, len(texts), size):  # batch by batch: requests of others come between
        some = texts[start : start + size]
        vectors += list(await state.pools.embed.run(embed_all, embedder, some, role=body.input_type, batch=size))
    return await state.pools.short.run(_embedding_reply, body, texts, vectors, embedder.name)


def _embedding_reply(body: EmbeddingBody, texts: list[str], vectors: list[Any], name: str) -> SafeJson:
    packed = body.encoding_format == "base64"
    rows = [r.Embedding(at, _encode_vector(one) if packed else one.tolist()) for at, one in enumerate(vectors)]
    tokens = sum(count_tokens(text) for text in texts)
    return SafeJson(r.Embeddings(rows, name, r.EmbeddingUsage(tokens, tokens)))


def _encode_vector(vector: object) -> str:
    return base64.b64encode(np.ascontiguousarray(vector, dtype="<f4").tobytes()).decode("ascii")
