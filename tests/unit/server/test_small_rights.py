"""What a key may, what an error says, how many processes draw, how addresses end, and how a server stops."""

from __future__ import annotations

import signal
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from provider import ScriptedProvider, hangs, status
from serving import Running, serving
from starting import started


def test_a_key_to_write_hands_over_and_deletes(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        keys = running.app.state.keys
        writer, reader = (running.with_key(keys.create("a", scopes=(scope,))[0]) for scope in ("write", "read"))
        assert writer.post("/v1/documents", json={"text": "Storks winter.", "filename": "a.txt"}).status_code == 202
        while not (found := reader.get("/v1/documents").json()["documents"]) or found[0]["status"] != "ready":
            time.sleep(0.05)
        assert writer.get("/v1/documents").status_code == 403
        assert reader.delete(f"/v1/documents/{found[0]['id']}").status_code == 403
        assert writer.delete(f"/v1/documents/{found[0]['id']}").status_code == 200
        assert writer.put("/v1/collections/b", json={"system_prompt": "Short."}).status_code in (200, 404)


def test_metrics_are_for_the_operator(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as running:
        keys = running.app.state.keys
        for tenant, scopes, expected in (
            ("acme", ("admin",), 403),
            ("acme", ("metrics",), 200),
            (running.app.state.settings.user, ("admin",), 200),
            (running.app.state.settings.user, ("read", "write"), 403),
        ):
            client = running.with_key(keys.create(tenant, scopes=scopes)[0])
            assert client.get("/metrics").status_code == expected, (tenant, scopes)
        admin = running.with_key(keys.create("acme", scopes=("admin",))[0])
        assert admin.post("/v1/keys", json={"name": "more", "scopes": ["metrics"]}).status_code == 422


def test_what_a_provider_said_stays_in_the_server(tmp_path: Path) -> None:
    said = "account 4711 of Example Ltd. is suspended"
    with ScriptedProvider(status(403, f'{{"error": {{"message": "{said}"}}}}')) as provider:
        settings = {"model": "openai:x", "openai_base_url": provider.base_url, "openai_api_key": "none", "strict": True}
        with serving(tmp_path / "library", **settings) as running:
            running.add("a.txt", "Storks winter in Africa.")
            answer = running.client.post("/v1/ask", json={"question": "Where do storks winter?"})
            assert answer.status_code >= 400 and provider.requests
            assert "403" in answer.json()["error"]["message"] and said not in answer.text


@pytest.mark.parametrize("path", ["/v1/documents", "/v1/collections", "/healthz", "/v1/jobs", "/v1/models/footnotes"])
def test_a_slash_at_the_end_is_the_same_address(shared: Running, path: str) -> None:
    with_slash = shared.client.get(f"{path}/", follow_redirects=False)
    assert with_slash.status_code == 200
    assert with_slash.json() == shared.client.get(path).json()


def test_a_server_stops_although_a_model_hangs(tmp_path: Path) -> None:
    with ScriptedProvider(hangs()) as provider, ThreadPoolExecutor(4) as pool:
        settings = {"model": "openai:x", "openai_base_url": provider.base_url, "openai_api_key": "none"}
        options = {"model_timeout": "300", "answer_seconds": "300"}
        with started(tmp_path / "library", **settings, **options) as (process, client):
            client.post("/rag/index", json={"filename": "a.txt", "content": "Storks winter in Africa."})
            body = {"question": "Where do storks winter?"}
            asked = [pool.submit(client.post, "/v1/ask", json=body, timeout=120) for _ in range(3)]
            while len(provider.requests) < 3:
                time.sleep(0.05)
            process.send_signal(signal.SIGINT)
            answers = [one.result() for one in asked]
            assert [answer.status_code for answer in answers] == [503] * 3
            assert {answer.json()["error"]["code"] for answer in answers} == {"server_busy"}
            assert process.wait(timeout=100) == 0, "long before the model would have been given up"
