"""A scripted server on loopback, to test every fault of a provider.

The path selects the protocol: OpenAI's chat completions, Anthropic's messages or Cohere's chat.

    with ScriptedProvider() as fake:
        fake.script(status(500), says("The notice period is three months [1]."))
        settings = Settings(model="openai:any", openai_base_url=fake.base_url)

Each request takes the next action of the script; if none is left, the `default`. All requests are in `fake.requests`.
"""

from __future__ import annotations

import json
import socket
import struct
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any

from footnotes.testing.embedder import HashingEmbedder


@dataclass(frozen=True, slots=True)
class Asked:
    """One received request."""

    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    @property
    def prompt(self) -> str:
        """All messages as one text."""
        return "\n".join(str(message.get("content", "")) for message in self.body.get("messages", []))


Action = Callable[["_Handler", Asked], None]
Json = dict[str, object]
Calls = Sequence[Mapping[str, object]]
"""Calls of tools, each with its name and arguments."""


class ScriptedProvider:
    """The server. `base_url` goes into the settings."""

    def __init__(self, default: Action | None = None) -> None:
        self.requests: list[Asked] = []
        self.default = default or says("")
        self.models = ["small-chat", "large-chat"]
        self.key = ""
        self.released = threading.Event()
        self._script: deque[Action] = deque()
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.provider = self
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def script(self, *actions: Action) -> None:
        self._script.extend(actions)

    def next_action(self) -> Action:
        return self._script.popleft() if self._script else self.default

    def __enter__(self) -> ScriptedProvider:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.released.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(timeout=5)


# ── actions ──────────────────────────────────────────────────────────────────────────────────────────────


def says(
    text: str,
    *,
    calls: Calls = (),
    usage: tuple[int, int] | None = (10, 5),
    finish: str = "stop",
) -> Action:
    """Streams a text word by word, and calls of tools: `{"name": …, "arguments": {…}}`."""

    def act(handler: _Handler, request: Asked) -> None:
        handler.begin("text/event-stream")
        if events := _dialect(request.path):
            for event in events(_pieces(text), calls, usage or (0, 0), finish):
                handler.send(f"event: {event['type']}\n".encode())
                handler.event(event)
            return
        for piece in _pieces(text):
            handler.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
        if calls:
            handler.event({"choices": [{"index": 0, "delta": {"tool_calls": _calls(calls)}}]})
        handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls" if calls else finish}]})
        if usage:
            handler.event({"choices": [], "usage": {"prompt_tokens": usage[0], "completion_tokens": usage[1]}})
        handler.send(b"data: [DONE]\n\n")

    return act


def replies(answer: Callable[[Asked], str]) -> Action:
    """Stream the result of a function of the request."""
    return lambda handler, request: says(answer(request))(handler, request)


def cuts(text: str, *, reset: bool = False) -> Action:
    """Streams a text and then ends without saying so, or resets the connection."""

    def act(handler: _Handler, request: Asked) -> None:
        handler.begin("text/event-stream")
        for piece in _pieces(text):
            handler.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
        if reset:
            handler.reset()

    return act


def pauses(before: str, after: str, go_on: threading.Event) -> Action:
    """Stream a text, wait for the test, and stream the rest."""

    def act(handler: _Handler, request: Asked) -> None:
        handler.begin("text/event-stream")
        for piece in _pieces(before):
            handler.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
        go_on.wait(60)
        for piece in _pieces(after):
            handler.event({"choices": [{"index": 0, "delta": {"content": piece}}]})
        handler.event({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        handler.send(b"data: [DONE]\n\n")

    return act


def status(code: int, body: str | Mapping[str, object] = "", headers: Mapping[str, str] | None = None) -> Action:
    """Answers with a status."""
    text = body if isinstance(body, str) else json.dumps(dict(body))
    return lambda handler, request: handler.whole(code, text.encode(), "application/json", headers or {})


def sends(body: str, *, content_type: str = "application/json") -> Action:
    """Answers 200 with any body."""
    return lambda handler, request: handler.whole(200, body.encode(), content_type, {})


def hangs() -> Action:
    """Send nothing until the test is over."""
    return lambda handler, request: handler.wait()


def resets() -> Action:
    """Resets the connection in the middle of the body."""

    def act(handler: _Handler, request: Asked) -> None:
        handler.begin("application/json", length=1_000)
        handler.send(b'{"choices": [')
        handler.reset()

    return act


def trickles() -> Action:
    """Send a space now and then, forever: no single read times out."""

    def act(handler: _Handler, request: Asked) -> None:
        handler.begin("application/json")
        while not handler.server.provider.released.wait(0.05):
            handler.send(b" ")

    return act


def embeds(dimensions: int = 8, *, change: Callable[[list[Json]], list[Json]] | None = None) -> Action:
    """Vectors of the texts, deterministic; `change` may lose, add, shuffle or spoil them."""

    def act(handler: _Handler, request: Asked) -> None:
        texts = request.body.get("input") or request.body.get("texts") or []
        texts = [texts] if isinstance(texts, str) else texts
        vectors = HashingEmbedder(str(dimensions)).embed(texts, role="passage").tolist()
        data = [{"index": index, "embedding": vector} for index, vector in enumerate(vectors)]
        data = change(data) if change else data
        body: Json
        if "texts" in request.body:
            body = {"embeddings": {"float": [item["embedding"] for item in data]}}
        else:
            body = {"object": "list", "data": data, "usage": {"prompt_tokens": len(texts)}}
        handler.whole(200, json.dumps(body).encode(), "application/json", {})

    return act


Events = Iterator[Json]


def _dialect(path: str) -> Callable[[list[str], Calls, tuple[int, int], str], Events] | None:
    if path.endswith("/messages"):
        return _anthropic
    return _cohere if path.endswith("/v2/chat") else None


def _anthropic(pieces: list[str], calls: Calls, usage: tuple[int, int], finish: str) -> Events:
    """The events of Anthropic's Messages interface, as its documentation shows them."""
    message: Json = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [],
        "stop_reason": None,
    }
    yield {"type": "message_start", "message": {**message, "usage": {"input_tokens": usage[0], "output_tokens": 1}}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "ping"}
    for piece in pieces:
        yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}
    yield {"type": "content_block_stop", "index": 0}
    for index, call in enumerate(calls, 1):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": call["name"], "input": {}}
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for part in _halves(json.dumps(call.get("arguments", {}))):
            delta = {"type": "input_json_delta", "partial_json": part}
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    reason = "tool_use" if calls else {"stop": "end_turn", "length": "max_tokens"}[finish]
    ended = {"stop_reason": reason, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": usage[1]}}
    yield {"type": "message_stop"}


def _cohere(pieces: list[str], calls: Calls, usage: tuple[int, int], finish: str) -> Events:
    """The events of Cohere's chat, version 2, as its documentation shows them."""
    yield {"type": "message-start", "id": "1", "delta": {"message": {"role": "assistant", "content": []}}}
    start = {"message": {"content": {"type": "text", "text": ""}}}
    yield {"type": "content-start", "index": 0, "delta": start}
    for piece in pieces:
        yield {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}}
    yield {"type": "content-end", "index": 0}
    for index, call in enumerate(calls):
        function = {"name": call["name"], "arguments": ""}
        call_json = {"id": f"{call['name']}_{index}", "type": "function", "function": function}
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call_json}}}
        for part in _halves(json.dumps(call.get("arguments", {}))):
            delta = {"message": {"tool_calls": {"function": {"arguments": part}}}}
            yield {"type": "tool-call-delta", "index": index, "delta": delta}
        yield {"type": "tool-call-end", "index": index}
    reason = "TOOL_CALL" if calls else {"stop": "COMPLETE", "length": "MAX_TOKENS"}[finish]
    tokens = {"input_tokens": usage[0], "output_tokens": usage[1]}
    end = {"finish_reason": reason, "usage": {"billed_units": tokens, "tokens": tokens}}
    yield {"type": "message-end", "delta": end}


def _halves(text: str) -> list[str]:
    return [text[: len(text) // 2], text[len(text) // 2 :]]


def _pieces(text: str) -> list[str]:
    return [word + " " for word in text.split(" ")[:-1]] + text.split(" ")[-1:]


def _calls(calls: Calls) -> list[Json]:
    return [
        {
            "index": index,
            "id": f"call-{index}",
            "type": "function",
            "function": {"name": call["name"], "arguments": json.dumps(call.get("arguments", {}))},
        }
        for index, call in enumerate(calls)
    ]


# ── the server ───────────────────────────────────────────────────────────────────────────────────────────


class _Server(ThreadingHTTPServer):
    provider: ScriptedProvider
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request: object, client_address: object) -> None:
        """Many tests disconnect on purpose."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        request = Asked(self.path, dict(self.headers.items()), body)
        self.server.provider.requests.append(request)
        self.close_connection = True
        key = self.server.provider.key
        if key and self.headers.get("authorization") != f"Bearer {key}":
            status(401, {"error": {"message": "Incorrect API key"}})(self, request)
            return
        self.server.provider.next_action()(self, request)

    def do_GET(self) -> None:
        """The list of models, as any OpenAI-compatible server returns it; refused without the required key."""
        provider = self.server.provider
        self.close_connection = True
        provider.requests.append(Asked(self.path, dict(self.headers.items()), {}))
        if provider.key and self.headers.get("authorization") != f"Bearer {provider.key}":
            error = {"error": {"message": f"Incorrect API key: {self.headers.get('authorization', '')}"}}
            return self.whole(401, json.dumps(error).encode(), "application/json", {})
        models = {"object": "list", "data": [{"id": name, "object": "model"} for name in provider.models]}
        return self.whole(200, json.dumps(models).encode(), "application/json", {})

    def begin(self, content_type: str, length: int | None = None) -> None:
        self.send_response(200)
        self.send_header("content-type", content_type)
        self.send_header("connection", "close")
        if length is not None:
            self.send_header("content-length", str(length))
        self.end_headers()

    def event(self, data: Mapping[str, object]) -> None:
        self.send(b"data: " + json.dumps(dict(data)).encode() + b"\n\n")

    def send(self, data: bytes) -> None:
        self.wfile.write(data)
        self.wfile.flush()

    def whole(self, code: int, body: bytes, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(code)
        self.send_header("content-type", content_type)
        self.send_header("content-length", str(len(body)))
        self.send_header("connection", "close")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.send(body)

    def wait(self) -> None:
        self.server.provider.released.wait(30)

    def reset(self) -> None:
        """Close with a reset instead of a clean end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        return None
