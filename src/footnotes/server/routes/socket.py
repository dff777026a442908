"""/v1/ws: questions over a WebSocket, answered with the same events as /v1/ask."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from footnotes.errors import FootnotesError, Forbidden, RequestInvalid, Unauthorized
from footnotes.server.keys import Caller
from footnotes.server.models import AskBody
from footnotes.server.responses import dump_json, error_body
from footnotes.server.routes.finding import answer_events
from footnotes.server.state import ServerState, state_of
from footnotes.server.strict import parse_json, run_off_loop, validate
from footnotes.server.threads import TENANT
from footnotes.wire import to_json

router = APIRouter()
KEY_SECONDS = 5.0
IDLE_SECONDS = 600.0
NOT_TEXT = 1003


class _NotText(Exception):
    """Raised for a binary frame."""


@router.websocket("/v1/ws")
async def socket(websocket: WebSocket) -> None:
    """Send `{"type": "key", "key": …}` first if the key is not in a header; then `{"type": "ask", "question": …}`.

    `{"type": "stop"}` ends the current answer. Events carry the `id` of the question, if it has one.
    """
    state = state_of(websocket)
    await websocket.accept()
    request_id = websocket.scope["footnotes.request_id"]
    try:
        caller = await _admit(websocket, state)
        with state.streams.count(caller):
            await _converse(websocket, state, caller, request_id)
    except FootnotesError as error:
        await _send(websocket, {"type": "error", **error_body(error, request_id)})
        await websocket.close(1008)
    except _NotText:
        refusal = RequestInvalid("a message must be text, not bytes")
        await _send(websocket, {"type": "error", **error_body(refusal, request_id)})
        await websocket.close(NOT_TEXT)
    except (WebSocketDisconnect, TimeoutError):
        return


async def _admit(websocket: WebSocket, state: ServerState) -> Caller:
    caller: Caller | None = websocket.scope.get("footnotes.caller")
    if caller is None:
        with state.streams.count_unknown():
            caller = await _admit_by_message(websocket, state)
    if not caller.may("read"):
        raise Forbidden("the key has no read scope")
    TENANT.set(caller.tenant if caller.key_id else "")
    return caller


async def _admit_by_message(websocket: WebSocket, state: ServerState) -> Caller:
    """Return the caller of the key in the first message. Wrong keys count against the address."""
    try:
        first = await asyncio.wait_for(_receive(websocket), KEY_SECONDS)
    except TimeoutError:
        await websocket.close(1008)
        raise
    key = first.get("key") if first.get("type") == "key" else ""
    return await state.admit(key if isinstance(key, str) else "", websocket.client.host if websocket.client else "")


async def _converse(websocket: WebSocket, state: ServerState, caller: Caller, request_id: str) -> None:
    answer_events: asyncio.Task[None] | None = None
    try:
        while True:
            message = await asyncio.wait_for(_receive(websocket), IDLE_SECONDS)
            if answer_events is not None and (answer_events.done() or message.get("type") in ("stop", "ask")):
                answer_events.cancel()
                await asyncio.gather(answer_events, return_exceptions=True)
                answer_events = None
            if message.get("type") == "ask":
                answer_events = asyncio.create_task(_answer(websocket, state, caller, message, request_id))
            elif message.get("type") not in ("stop", "key"):  # an unneeded key is harmless
                raise RequestInvalid("a message must have the type ask or stop")
    finally:
        if answer_events is not None:
            answer_events.cancel()
            await asyncio.gather(answer_events, return_exceptions=True)


async def _answer(
    websocket: WebSocket, state: ServerState, caller: Caller, message: dict[str, object], request_id: str
) -> None:
    mark = {"id": message["id"]} if "id" in message else {}
    try:
        fields = {key: value for key, value in message.items() if key not in ("type", "id")}
        body = await state.pools.short.run(validate, AskBody, fields, "")
        await state.pools.short.run(state.streams.check_key, caller)
        await state.count(caller)
        await state.pools.short.run(state.answers.take, caller.tenant)
        library = await state.pools.short.run(state.tenants.borrow, caller.tenant)
        try:
            events = answer_events(state, caller.tenant, library, body.question, **body.options())
            async for event in state.streams.pull(events, caller):
                if event is not None:
                    await _send(websocket, {**to_json(event), **mark})
        finally:
            state.tenants.release(caller.tenant)
    except FootnotesError as error:
        await _send(websocket, {"type": "error", **error_body(error, request_id), **mark})
        if isinstance(error, Unauthorized):
            await websocket.close(1008)


async def _receive(websocket: WebSocket) -> dict[str, object]:
    received = await websocket.receive()
    if received["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(received["code"], received.get("reason"))
    text = received.get("text")
    if text is None:
        raise _NotText
    encoded = text.encode("utf-8", "surrogatepass")
    message = await run_off_loop(len(encoded), parse_json, encoded, state_of(websocket).settings.serve_json_nodes)
    if not isinstance(message, dict):
        raise RequestInvalid("a message must be a JSON object")
    return message


async def _send(websocket: WebSocket, message: dict[str, object]) -> None:
    await websocket.send_text(dump_json(message))
