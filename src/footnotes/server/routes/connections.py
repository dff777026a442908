"""/v1/models/connections: models that are connected while the server runs."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import Field

from footnotes.answer.models.connect import ADDRESSES, Tried, find_servers, models_of, try_model
from footnotes.errors import Forbidden, ProviderError
from footnotes.server import replies as r
from footnotes.server.connections import ConnectedModel, NewConnection
from footnotes.server.models import Body
from footnotes.server.openapi import MODEL_ERRORS, errors
from footnotes.server.state import Admin, Reader, State
from footnotes.server.strict import StrictRoute

router = APIRouter(prefix="/v1/models/connections", tags=["models"], route_class=StrictRoute)
Id = Annotated[str, Path(min_length=1, max_length=64)]
Provider = Literal["openai", "anthropic", "gemini", "cohere", "ollama", "compatible", "llama"]


class ConnectionBody(Body):
    provider: Provider = Field(examples=["compatible"])
    model: str = Field("", max_length=300, examples=["llama3.2"])
    base_url: str = Field("", max_length=500, description="Empty for the provider's own address.")
    path: str = Field("", max_length=1_000, description="A GGUF file of the server, for llama.")
    key: str = Field("", max_length=1_000, description="Stored encrypted, never shown again.")
    key_env: str = Field("", max_length=100, description="A variable of the server that holds the key.")
    name: str = Field("", max_length=200)
    is_default: bool = Field(True, description="Whether it answers what names no model.")

    def to_connection(self) -> NewConnection:
        return NewConnection(**self.model_dump(exclude={"id"}))


class TriedBody(ConnectionBody):
    id: str = Field("", max_length=64, description="A connection whose key to use if none is sent.")


class DefaultBody(Body):
    is_default: bool = Field(examples=[True])


@router.get("", summary="List connected models", responses=errors())
def connections(state: State, caller: Reader) -> r.ConnectedModels:
    """Only admins see addresses; keys are never shown."""
    found = state.connections.all(caller.tenant)
    if not caller.may("admin"):
        found = [_hide_address(each) for each in found]
    may = state.connections.are_allowed and caller.may("admin")
    return r.ConnectedModels(found, may, state.settings.model, dict(ADDRESSES))


@router.post("", status_code=201, summary="Connect a model", responses=errors(body=True))
def connect(body: ConnectionBody, state: State, caller: Admin) -> ConnectedModel:
    """Takes effect at once, without a restart."""
    return state.connections.add(caller, body.to_connection())


@router.post("/test", summary="Test a model", responses=errors(404, *MODEL_ERRORS, body=True))
def test(body: TriedBody, state: State, caller: Admin) -> Tried:
    """Sends a small request. Returns the time to the first words, or the exact error; stores nothing."""
    return try_model(state.connections.build(caller, body.to_connection(), body.id), state.settings)


@router.post("/models", summary="List the models of a provider", responses=errors(404, *MODEL_ERRORS, body=True))
def models(body: TriedBody, state: State, caller: Admin) -> r.ListedModels:
    """Returns the exact error if there is no list."""
    connection = state.connections.build(caller, body.to_connection(), body.id)
    try:
        return r.ListedModels(models_of(connection, state.settings), None)
    except ProviderError as error:
        return r.ListedModels([], error.info())


@router.get("/found", summary="Find model servers on this machine", responses=errors())
def found(state: State, caller: Admin) -> r.FoundServers:
    """Looks for Ollama, LM Studio and llama.cpp at their loopback ports; only for the server's own tenant."""
    if not state.connections.are_allowed or caller.tenant != state.settings.user:
        raise Forbidden("only the operator may search for programs on this machine")
    return r.FoundServers(list(find_servers(state.settings)))


@router.put("/{connection}", summary="Choose the model that answers", responses=errors(404, body=True))
def choose(connection: Id, body: DefaultBody, state: State, caller: Admin) -> ConnectedModel:
    return state.connections.choose(caller.tenant, connection, is_default=body.is_default)


@router.delete("/{connection}", summary="Disconnect a model", responses=errors(404))
def disconnect(connection: Id, state: State, caller: Admin) -> ConnectedModel:
    """Deletes its key permanently."""
    return state.connections.remove(caller.tenant, connection)


def _hide_address(found: ConnectedModel) -> ConnectedModel:
    return ConnectedModel(
        found.id, found.name, found.provider, found.model, "", "", "", "", found.is_default, found.created_at
    )
