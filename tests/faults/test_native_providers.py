"""Anthropic and Cohere in their own wire formats, names without a version, prices and budgets."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from footnotes.answer.models import ChatRequest, Message, Tool, ToolCall, complete
from footnotes.answer.models.connect import Connection, chat_of
from footnotes.answer.models.table import CONTEXT_TOKENS, load_table, make_chat_model
from footnotes.errors import ConfigError, ProviderBadResponse, ProviderRefused, ProviderUnavailable
from footnotes.remote import Deadline
from footnotes.settings import Settings
from footnotes.types import Usage
from libraries import HANDBOOK, quick_library
from provider import ScriptedProvider, says, sends, status
from serving import serving

ANSWER = "Either side may end the contract with three months of notice [1]."
MODELS = ("anthropic:claude-sonnet-4-5", "cohere:command-a-03-2025")


def settings_for(server: ScriptedProvider, **changes: object) -> Settings:
    urls = {"anthropic_base_url": f"{server.base_url}/v1", "cohere_base_url": server.base_url}
    keys = {"anthropic_api_key": "sk-ant-canary", "cohere_api_key": "co-canary"}
    return Settings(**{**urls, **keys, **changes})  # type: ignore[arg-type]


REQUEST = ChatRequest(
    messages=[
        Message("system", "Be short."),
        Message("user", "How long?"),
        Message("assistant", "", tool_calls=(ToolCall("t1", "search", {"query": "notice"}),)),
        Message("tool", "three months", tool_call_id="t1"),
        Message("user", "Say it."),
    ],
    temperature=0.0,
    max_tokens=50,
    stop=("END",),
    tools=(Tool("search", "Finds passages", {"type": "object", "properties": {"query": {"type": "string"}}}),),
)


@pytest.mark.parametrize("name", MODELS)
def test_text_calls_and_usage_come_back(name: str) -> None:
    with ScriptedProvider() as server:
        server.script(
            says("Three months.", usage=(120, 7)),
            says("", calls=[{"name": "search", "arguments": {"query": "leave", "limit": 3}}]),
            says("Three", finish="length"),
        )
        model = make_chat_model(name, settings_for(server))
        plain, called, cut = (complete(model, REQUEST, deadline=Deadline(20)) for _ in range(3))
    assert plain.text == "Three months." and plain.usage == Usage(120, 7, 1) and not plain.cut
    (call,) = called.tool_calls
    assert (call.name, dict(call.arguments)) == ("search", {"query": "leave", "limit": 3})
    assert cut.cut and model.name == name and model.calls_tools


def test_what_anthropic_is_sent() -> None:
    with ScriptedProvider(says("Yes.")) as server:
        complete(make_chat_model(MODELS[0], settings_for(server)), REQUEST, deadline=Deadline(20))
        (asked,) = server.requests
    assert asked.path == "/v1/messages" and asked.headers["x-api-key"] == "sk-ant-canary"
    assert asked.headers["anthropic-version"] == "2023-06-01" and "authorization" not in asked.headers
    body = asked.body
    assert (body["model"], body["max_tokens"], body["system"]) == ("claude-sonnet-4-5", 50, "Be short.")
    assert (body["stop_sequences"], body["stream"], body["temperature"]) == (["END"], True, 0.0)
    assert body["tools"][0]["input_schema"]["type"] == "object"
    assert [turn["role"] for turn in body["messages"]] == ["user", "assistant", "user"]
    assert body["messages"][1]["content"] == [
        {"type": "tool_use", "id": "t1", "name": "search", "input": {"query": "notice"}}
    ]
    assert body["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "t1", "content": "three months"},
        {"type": "text", "text": "Say it."},
    ]


def test_what_cohere_is_sent() -> None:
    with ScriptedProvider(says("Yes.")) as server:
        complete(make_chat_model(MODELS[1], settings_for(server)), REQUEST, deadline=Deadline(20))
        (asked,) = server.requests
    assert asked.path == "/v2/chat" and asked.headers["authorization"] == "Bearer co-canary"
    assert asked.body["messages"][0] == {"role": "system", "content": "Be short."}
    assert asked.body["stop_sequences"] == ["END"] and "stream_options" not in asked.body
    assert asked.body["messages"][2]["tool_calls"][0]["function"]["name"] == "search"


OVERLOADED = 'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}\n\n'
HALF = 'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Th"}}\n\n'


def test_faults_have_their_names() -> None:
    with ScriptedProvider() as server:
        model = make_chat_model(MODELS[0], settings_for(server))
        for action, error in (
            (sends(OVERLOADED, content_type="text/event-stream"), ProviderUnavailable),
            (sends(HALF, content_type="text/event-stream"), ProviderBadResponse),
            (status(401, {"error": {"type": "authentication_error", "message": "no sk-ant-canary"}}), ProviderRefused),
        ):
            server.script(action)
            with pytest.raises(error) as raised:
                complete(model, REQUEST, deadline=Deadline(20))
            assert "canary" not in str(raised.value)
        other = make_chat_model(MODELS[1], settings_for(server))
        failed = json.dumps({"type": "message-end", "delta": {"finish_reason": "ERROR"}})
        server.script(sends(f"data: {failed}\n\n", content_type="text/event-stream"))
        with pytest.raises(ProviderBadResponse):
            complete(other, REQUEST, deadline=Deadline(20))


def test_a_connected_model_of_anthropic_speaks_its_own_interface() -> None:
    with ScriptedProvider(says("Yes.")) as server:
        connection = Connection("anthropic", "claude-haiku-4-5", f"{server.base_url}/v1", key="k", public=False)
        assert complete(chat_of(connection, Settings()), REQUEST, deadline=Deadline(20)).text == "Yes."
        assert server.requests[0].path == "/v1/messages"


def test_names_without_a_version_and_a_table_of_ones_own(tmp_path: Path) -> None:
    table = load_table()
    assert table.full_name("anthropic:sonnet").startswith("anthropic:claude-sonnet-")
    assert table.full_name("openai") != "openai" and table.full_name("openai:gpt-4o") == "openai:gpt-4o"
    assert table.context("openai:gpt-4o-2024-08-06") == 128_000 and table.context("openai:own") == CONTEXT_TOKENS
    assert table.context("compatible:claude-sonnet-4-5") == 200_000
    file = tmp_path / "models.toml"
    file.write_text('[aliases]\nanthropic = "mine"\n[anthropic]\nmine = {context = 5000, input = 2.0, output = 4.0}\n')
    with ScriptedProvider() as server:
        model = make_chat_model("anthropic", settings_for(server, models_file=str(file)))
    assert model.name == "anthropic:mine" and model.context_tokens == 5000
    own = load_table(str(file))
    assert own.priced("anthropic:mine", Usage(500_000, 250_000, 1)).cost_usd == 2.0
    assert own.priced("anthropic:other", Usage(5, 5, 1)).cost_usd is None
    file.with_name("bad.toml").write_text("[anthropic]\nmine = 7\n")
    with pytest.raises(ConfigError, match="no table of models"):
        load_table(str(file.with_name("bad.toml")))


def test_an_answer_says_what_it_cost(tmp_path: Path) -> None:
    with ScriptedProvider(says(ANSWER, usage=(1_000_000, 100_000))) as server:
        changes = {"anthropic_base_url": f"{server.base_url}/v1", "anthropic_api_key": "k"}
        with quick_library(tmp_path / "library", model="anthropic:sonnet", **changes) as library:
            library.add_text(HANDBOOK, filename="handbook.md")
            answer = library.ask("How long is the notice period?")
            again = library.ask("How long is the notice period?")
    assert answer.model.startswith("anthropic:claude-sonnet-") and answer.citations
    assert answer.usage.cost_usd == pytest.approx(3.0 + 1.5)
    assert again.usage.cost_usd is None, "a remembered answer costs nothing"


def test_a_key_has_a_budget(tmp_path: Path) -> None:
    with ScriptedProvider(says(ANSWER, usage=(100_000, 10_000))) as server:
        settings = {"model": "anthropic:sonnet", "anthropic_base_url": f"{server.base_url}/v1", "query_cache": 0}
        budget = {"anthropic_api_key": "k", "serve_key_budget": 0.5, "needs_keys": True}
        with serving(tmp_path / "library", **settings, **budget) as running:
            keys = [running.app.state.keys.create("local", scopes=("read", "write"))[0] for _ in range(2)]
            first, second = map(running.with_key, keys)
            running.add("handbook.md", HANDBOOK, client=first)
            ask = {"question": "How long is the notice period?"}
            assert first.post("/v1/ask", json=ask).json()["usage"]["cost_usd"] == 0.45
            streamed = first.post("/v1/ask", json=ask, headers={"Accept": "text/event-stream"})
            assert '"cost_usd":0.45' in streamed.text
            refused = first.post("/v1/ask", json=ask)
            assert refused.status_code == 429 and refused.json()["error"]["code"] == "quota_exceeded"
            assert int(refused.headers["retry-after"]) > 0
            assert first.get("/v1/usage").json()["spending"] == {"usd": 0.9, "limit": 0.5}
            assert second.post("/v1/ask", json=ask).status_code == 200
