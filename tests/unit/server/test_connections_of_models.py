"""Models are connected while the server runs: tested, used, sealed, and refused where they may not be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from footnotes.cli import main
from libraries import HANDBOOK
from postgres import PostgresServer
from provider import ScriptedProvider, hangs, says
from serving import Running, serving

KEY = "sk-quaggafish-0123456789"
ANSWER = "Either side may end the contract with three months of notice [1]."
PATH = "/v1/models/connections"
INSIDE = ("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "169.254.169.254", "2130706433", "[::ffff:127.0.0.1]")


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(says(ANSWER)) as running:
        running.key = KEY
        yield running


def body(provider: ScriptedProvider, **changes: Any) -> dict[str, Any]:
    return {"provider": "compatible", "base_url": provider.base_url, "model": "small-chat", "key": KEY, **changes}


def test_a_model_is_listed_tested_connected_and_answers(server: Running, provider: ScriptedProvider) -> None:
    server.add("handbook.md", HANDBOOK)
    asked = {"question": "How long is the notice period?"}
    assert server.client.post("/v1/ask", json=asked).json()["model"] == "extractive"
    listed = server.client.post(f"{PATH}/models", json=body(provider, model="")).json()
    assert listed == {"models": ["large-chat", "small-chat"], "error": None}
    tried = server.client.post(f"{PATH}/test", json=body(provider)).json()
    assert tried["ok"] and tried["first"] == "Either" and tried["error"] is None
    made = server.client.post(PATH, json=body(provider))
    assert made.status_code == 201 and KEY not in made.text
    answer = server.client.post("/v1/ask", json=asked).json()
    assert answer["model"] == "compatible:small-chat" and "three months" in answer["answer"] and answer["citations"]
    assert server.client.get("/v1/status").json()["model"] == "compatible:small-chat"
    quoted = server.client.post("/v1/ask", json={**asked, "model": "extractive"}).json()
    assert quoted["model"] == "extractive"
    found = server.client.get(PATH)
    assert KEY not in found.text and found.json()["connections"][0]["key"] == "sealed"
    again = body(provider, key="", id=made.json()["id"])
    assert server.client.post(f"{PATH}/test", json=again).json()["ok"], "the kept key is used"
    gone = server.client.delete(f"{PATH}/{made.json()['id']}")
    assert gone.status_code == 200
    assert server.client.post("/v1/ask", json=asked).json()["model"] == "extractive"
    assert server.client.post("/v1/ask", json={**asked, "model": made.json()["id"]}).status_code == 404


def test_two_models_and_a_choice_kept_with_the_conversation(server: Running, provider: ScriptedProvider) -> None:
    server.add("handbook.md", HANDBOOK)
    small = server.client.post(PATH, json=body(provider)).json()["id"]
    large = server.client.post(PATH, json=body(provider, model="large-chat", is_default=False)).json()["id"]
    turn = server.client.post("/v1/conversations", json={"question": "How long is the notice?", "model": large}).json()
    assert turn["answer"]["model"] == "compatible:large-chat" and turn["request"]["model"] == large
    server.client.put(f"{PATH}/{large}", json={"is_default": True})
    chosen = {each["id"]: each["is_default"] for each in server.client.get(PATH).json()["connections"]}
    assert chosen == {small: False, large: True}


def test_a_failed_test_says_exactly_why_and_never_the_key(
    server: Running, provider: ScriptedProvider, caplog: pytest.LogCaptureFixture
) -> None:
    tried = server.client.post(f"{PATH}/test", json=body(provider, key="sk-wrong-0123456789"))
    assert not tried.json()["ok"] and "Incorrect API key" in tried.json()["error"]["message"]
    listed = server.client.post(f"{PATH}/models", json=body(provider, key="sk-wrong-0123456789"))
    assert listed.json()["models"] == [] and "Incorrect API key" in listed.json()["error"]["message"]
    for answer in (tried, listed):
        assert "sk-wrong" not in answer.text, "what a provider repeats of a key is redacted"
    assert "sk-wrong" not in caplog.text
    nobody = {"provider": "compatible", "base_url": "http://127.0.0.1:9", "model": "x"}
    assert "cannot be reached" in server.client.post(f"{PATH}/test", json=nobody).json()["error"]["message"]
    needs = server.client.post(f"{PATH}/test", json={"provider": "anthropic", "model": "x"}).json()
    assert "needs a key" in needs["error"]["message"]


def test_keys_are_sealed_on_the_disk(server: Running, provider: ScriptedProvider, tmp_path: Path) -> None:
    server.client.post(PATH, json=body(provider))
    folder = tmp_path / "library"
    assert not [path for path in folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert (folder / "server.secret").stat().st_mode & 0o077 == 0


def test_a_variable_stands_for_a_key(
    server: Running, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    monkeypatch.setenv("SECRET_PASSWORD", KEY)
    named = body(provider, key="", key_env="SOME_API_KEY")
    assert server.client.post(f"{PATH}/test", json=named).json()["ok"]
    assert server.client.post(PATH, json=named).json()["key"] == "environment"
    for name in ("SECRET_PASSWORD", "UNSET_API_KEY", "some_api_key"):
        refused = server.client.post(f"{PATH}/test", json=body(provider, key="", key_env=name))
        assert refused.status_code == 422 and KEY not in refused.text


@pytest.mark.parametrize(
    "address",
    [
        "ftp://example.org/v1", "http://user:secret@example.org/v1", "http://example.org/v1?key=1", "http://[/v1",
        "file:///etc/passwd", "http://",
    ],
)  # fmt: skip
def test_addresses_that_are_none(server: Running, address: str) -> None:
    given = {"provider": "compatible", "base_url": address, "model": "x"}
    assert server.client.post(PATH, json=given).status_code == 422
    assert server.client.post(f"{PATH}/test", json=given).status_code == 422


@pytest.mark.parametrize("key", ["sk-\u00d6l", "sk-\nX-Other: 1", "\u001a"])
def test_keys_that_no_header_can_carry_are_refused(server: Running, provider: ScriptedProvider, key: str) -> None:
    for path in (f"{PATH}/test", f"{PATH}/models", PATH):
        answer = server.client.post(path, json=body(provider, key=key))
        assert answer.status_code < 500 and "characters that no key has" in answer.text, answer.text


@pytest.mark.parametrize("name", ["openai", "anthropic", "gemini", "cohere"])
def test_a_provider_that_needs_a_key_is_not_connected_without_one(server: Running, name: str) -> None:
    made = server.client.post(PATH, json={"provider": name, "model": "some-model"})
    assert made.status_code == 422 and "needs a key" in made.json()["error"]["message"]
    assert server.client.get(PATH).json()["connections"] == []


@pytest.mark.parametrize("host", ["169.254.169.254", "[::ffff:169.254.169.254]", "[fe80::1]", "168.63.129.16"])
def test_nobody_reaches_where_machines_get_their_secrets(server: Running, host: str) -> None:
    given = {"provider": "compatible", "base_url": f"http://{host}/v1", "model": "x"}
    for path in (PATH, f"{PATH}/test", f"{PATH}/models"):
        assert "only virtual machines use" in server.client.post(path, json=given).text


def test_other_tenants_reach_nothing_inside_the_network(tmp_path: Path, provider: ScriptedProvider) -> None:
    with serving(tmp_path / "library", needs_keys=True) as server:
        keys = server.app.state.keys
        admin = server.with_key(keys.create("acme", scopes=("read", "write", "admin"))[0])
        reader = server.with_key(keys.create("acme", scopes=("read",))[0])
        port = provider.base_url.rpartition(":")[2]
        for host in (
            "127.0.0.1",
            "localhost",
            "[::1]",
            "0.0.0.0",
            "169.254.169.254",
            "2130706433",
            "[::ffff:127.0.0.1]",
        ):
            given = body(provider, base_url=f"http://{host}:{port}")
            for path in (PATH, f"{PATH}/test", f"{PATH}/models"):
                refused = admin.post(path, json=given)
                assert refused.status_code in (422, 403), (host, path, refused.text)
        assert provider.requests == []
        assert admin.post(PATH, json={"provider": "llama", "path": "/etc/passwd"}).status_code == 403
        assert admin.post(PATH, json=body(provider, key="", key_env="OPENAI_API_KEY")).status_code == 403
        assert admin.get(f"{PATH}/found").status_code == 403
        for method, path in (
            ("POST", PATH),
            ("POST", f"{PATH}/test"),
            ("DELETE", f"{PATH}/x"),
            ("GET", f"{PATH}/found"),
        ):
            assert reader.request(method, path, json=body(provider) if method == "POST" else None).status_code == 403
        assert reader.get(PATH).json()["may_connect"] is False


def test_a_server_may_forbid_it(tmp_path: Path, provider: ScriptedProvider) -> None:
    with serving(tmp_path / "library", serve_models=False) as server:
        assert server.client.get(PATH).json()["may_connect"] is False
        for path in (PATH, f"{PATH}/test", f"{PATH}/models"):
            assert server.client.post(path, json=body(provider)).status_code == 403
        assert provider.requests == []


def test_servers_of_this_machine_are_found(
    server: Running, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.key = ""
    port = int(provider.base_url.rpartition(":")[2])
    monkeypatch.setattr(
        "footnotes.answer.models.connect.USUAL_PLACES",
        (("LM Studio", "compatible", port), ("llama.cpp", "compatible", 9)),
    )
    (found,) = server.client.get(f"{PATH}/found").json()["servers"]
    assert (found["name"], found["models"]) == ("LM Studio", ["large-chat", "small-chat"])
    connected = server.client.post(
        PATH, json={"provider": found["provider"], "base_url": found["base_url"], "model": "small-chat"}
    )
    assert connected.status_code == 201


def test_a_model_that_never_answers_is_given_up(
    server: Running, provider: ScriptedProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    provider.default = hangs()
    monkeypatch.setattr("footnotes.answer.models.connect.TEST_SECONDS", 0.5)
    tried = server.client.post(f"{PATH}/test", json=body(provider)).json()
    assert tried["error"]["code"] == "provider_timeout"


def test_servers_of_one_database_share_connections(
    postgres: PostgresServer, tmp_path: Path, provider: ScriptedProvider
) -> None:
    address, secret = postgres.fresh(), {"serve_secret": "one for all", "serve_worker": False}
    with (
        serving(tmp_path / "one", store=address, **secret) as one,
        serving(tmp_path / "two", store=address, **secret) as other,
    ):
        made = one.client.post(PATH, json=body(provider)).json()["id"]
        assert [each["id"] for each in other.client.get(PATH).json()["connections"]] == [made]
        assert other.client.post(f"{PATH}/test", json=body(provider, key="", id=made)).json()["ok"]


def test_the_command_line_connects_what_the_server_uses(
    server: Running, provider: ScriptedProvider, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", KEY)
    server.add("handbook.md", HANDBOOK)
    place = ["--library", str(tmp_path / "library")]
    given = ["models", "connect", "compatible", "small-chat", "--address", provider.base_url, *place]
    refused = CliRunner().invoke(main, [*given, "--no-key"])
    assert refused.exit_code == 1 and "does not respond" in refused.output
    made = CliRunner().invoke(main, [*given, "--key-env", "SOME_API_KEY"])
    assert made.exit_code == 0, made.output
    assert server.client.get("/v1/status").json()["model"] == "compatible:small-chat", "without a restart"
    ask = ["ask", "How long is the notice period?", *place, "--json"]
    asked = json.loads(CliRunner().invoke(main, ask).output)
    assert asked["model"] == "compatible:small-chat" and "three months" in asked["answer"], (
        "the command line asks the same model"
    )
    assert json.loads(CliRunner().invoke(main, [*ask, "--model", "extractive"]).output)["model"] == "extractive"
    checked = CliRunner().invoke(main, ["doctor", *place, "--json", "--port", "0"])
    (model,) = (each for each in json.loads(checked.output)["checks"] if each["name"] == "chat model")
    assert model["state"] == "ok" and "small-chat" in model["found"]
    listed = CliRunner().invoke(main, ["models", "connected", *place, "--json"])
    (found,) = json.loads(listed.output)["connections"]
    assert found["key_env"] == "SOME_API_KEY" and KEY not in listed.output
    assert CliRunner().invoke(main, ["models", "disconnect", found["id"], *place]).exit_code == 0
    assert server.client.get(PATH).json()["connections"] == []
