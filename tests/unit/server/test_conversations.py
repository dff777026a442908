"""Conversations: kept, found, renamed, deleted; an answer goes on while nobody listens."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from footnotes.cli import main
from libraries import HANDBOOK, TRAVEL
from postgres import PostgresServer
from provider import ScriptedProvider, pauses
from serving import Running, events_of, serving

NOTICE = "How long is the notice period?"
STREAM = {"Accept": "text/event-stream"}


def begin(server: Running, question: str = NOTICE, **body: Any) -> tuple[str, dict[str, Any]]:
    answer = server.client.post("/v1/conversations", json={"question": question, **body})
    assert answer.status_code == 200, answer.text
    return answer.headers["location"].rpartition("/")[2], answer.json()


def whole(server: Running, conversation: str) -> dict[str, Any]:
    found: dict[str, Any] = server.client.get(f"/v1/conversations/{conversation}").json()
    return found


@pytest.fixture
def filled(server: Running) -> Running:
    server.add("handbook.md", HANDBOOK)
    server.add("travel.txt", TRAVEL)
    return server


def test_a_conversation_is_kept_with_its_footnotes(filled: Running) -> None:
    conversation, turn = begin(filled)
    assert turn["state"] == "done" and turn["answer"]["citations"]
    again = whole(filled, conversation)
    assert again["conversation"]["title"] == NOTICE and again["conversation"]["turns"] == 1
    assert again["turns"][0] == turn
    assert all(hit["text"] for hit in again["turns"][0]["answer"]["hits"]), "passages are read from their documents"
    direct = filled.client.post("/v1/ask", json={"question": NOTICE}).json()
    assert again["turns"][0]["answer"]["citations"] == direct["citations"]
    assert [hit["text"] for hit in turn["answer"]["hits"]] == [hit["text"] for hit in direct["hits"]]


def test_a_follow_up_is_understood_by_what_came_before(filled: Running) -> None:
    conversation, _ = begin(filled)
    answer = filled.client.post(f"/v1/conversations/{conversation}/turns", json={"question": "And for how long?"})
    steps = answer.json()["answer"]["steps"]
    assert any("Standalone question" in step["text"] and "notice" in step["text"] for step in steps)
    assert [turn["number"] for turn in whole(filled, conversation)["turns"]] == [1, 2]


def test_a_question_is_asked_again_in_the_place_of_the_first(filled: Running) -> None:
    conversation, _ = begin(filled)
    turns = f"/v1/conversations/{conversation}/turns"
    filled.client.post(turns, json={"question": "Who may travel?"})
    edited = filled.client.post(turns, json={"question": "Who pays for trains?", "replaces": 1}).json()
    assert edited["number"] == 1
    assert [turn["question"] for turn in whole(filled, conversation)["turns"]] == ["Who pays for trains?"]
    assert filled.client.post(turns, json={"question": NOTICE, "replaces": 7}).status_code == 404


def test_conversations_are_listed_searched_and_renamed(filled: Running) -> None:
    first, _ = begin(filled)
    second, _ = begin(filled, "Who may travel first class?")
    listed = filled.client.get("/v1/conversations").json()["conversations"]
    assert [one["id"] for one in listed] == [second, first]
    found = filled.client.get("/v1/conversations", params={"q": "NOTICE Period"}).json()["conversations"]
    assert [one["id"] for one in found] == [first]
    page = filled.client.get("/v1/conversations", params={"limit": 1}).json()
    assert page["next_offset"] == 1
    renamed = filled.client.patch(f"/v1/conversations/{first}", json={"title": "Über Fristen"})
    assert renamed.json()["title"] == "Über Fristen"
    found = filled.client.get("/v1/conversations", params={"q": "über fr"}).json()["conversations"]
    assert [one["title"] for one in found] == ["Über Fristen"]


def test_a_deleted_conversation_leaves_no_byte(filled: Running, tmp_path: Path) -> None:
    secret = "Zanzibarquetzal notice period"
    conversation, _ = begin(filled, f"How long is the {secret}?")
    assert on_disk(tmp_path, "Zanzibarquetzal")
    assert filled.client.delete(f"/v1/conversations/{conversation}").json() == {"deleted": [conversation]}
    assert filled.client.get(f"/v1/conversations/{conversation}").status_code == 404
    assert filled.client.delete(f"/v1/conversations/{conversation}").status_code == 404
    assert not on_disk(tmp_path, "Zanzibarquetzal")


def on_disk(folder: Path, word: str) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_what_an_answer_quotes_goes_with_the_document(server: Running, tmp_path: Path) -> None:
    document = server.add("note.txt", "The quaggafish lives in the harbour of Lisbon. It eats lemons at night.")
    conversation, turn = begin(server, "Where does the quaggafish live?")
    assert turn["answer"]["citations"]
    assert server.client.delete(f"/v1/documents/{document}").status_code == 200
    (kept,) = whole(server, conversation)["turns"]
    assert (kept["state"], kept["text"], kept["answer"]) == ("forgotten", "", None)
    assert kept["question"] == "Where does the quaggafish live?"
    server.client.delete(f"/v1/conversations/{conversation}")
    assert not on_disk(tmp_path, "harbour of Lisbon")


def test_a_judgement_is_kept(filled: Running) -> None:
    conversation, _ = begin(filled)
    path = f"/v1/conversations/{conversation}/turns/1/rating"
    judged = filled.client.put(path, json={"rating": "down", "reason": "It is six weeks."}).json()
    assert (judged["rating"], judged["reason"]) == ("down", "It is six weeks.")
    assert filled.client.put(path, json={"rating": None}).json()["rating"] is None
    assert filled.client.put(path.replace("turns/1", "turns/9"), json={"rating": "up"}).status_code == 404


def test_a_question_that_cannot_be_asked_leaves_nothing(filled: Running) -> None:
    used = filled.client.get("/v1/usage").json()["answers"]["used"]
    refused = filled.client.post("/v1/conversations", json={"question": "   "})
    assert refused.status_code == 422
    assert filled.client.post("/v1/conversations", json={"question": NOTICE, "id": "no/id"}).status_code == 422
    assert filled.client.get("/v1/conversations").json()["conversations"] == []
    assert filled.client.get("/v1/usage").json()["answers"]["used"] == used


def test_no_more_are_kept_than_may_be(tmp_path: Path) -> None:
    with serving(tmp_path / "library", serve_conversations=1) as server:
        server.add("handbook.md", HANDBOOK)
        begin(server)
        refused = server.client.post("/v1/conversations", json={"question": NOTICE})
        assert (refused.status_code, refused.json()["error"]["code"]) == (413, "storage_quota")
        assert server.client.get("/v1/usage").json()["answers"]["used"] == 1


def test_keys_see_their_tenants_and_change_what_they_may(tmp_path: Path) -> None:
    with serving(tmp_path / "library", needs_keys=True) as server:
        keys = server.app.state.keys
        writer = server.with_key(keys.create("ada", name="", scopes=["read", "write"])[0])
        reader = server.with_key(keys.create("ada", name="", scopes=["read"])[0])
        stranger = server.with_key(keys.create("ben", name="", scopes=["read", "write", "admin"])[0])
        server.add("handbook.md", HANDBOOK, client=writer)
        of_writer = writer.post("/v1/conversations", json={"question": NOTICE}).headers["location"]
        of_reader = reader.post("/v1/conversations", json={"question": NOTICE}).headers["location"]
        assert reader.get(of_writer).status_code == 200
        assert reader.delete(of_writer).status_code == 403
        assert reader.patch(of_writer, json={"title": "x"}).status_code == 403
        assert reader.post(f"{of_writer}/turns", json={"question": NOTICE, "replaces": 1}).status_code == 403
        assert reader.post(f"{of_writer}/turns", json={"question": NOTICE}).status_code == 403
        assert reader.put(f"{of_writer}/turns/1/rating", json={"rating": "up"}).status_code == 403
        assert reader.patch(of_reader, json={"title": "mine"}).status_code == 200
        assert reader.post(f"{of_reader}/turns", json={"question": NOTICE}).status_code == 200
        assert reader.put(f"{of_reader}/turns/1/rating", json={"rating": "up"}).status_code == 200
        for method, path in (("GET", ""), ("DELETE", ""), ("GET", "/turns/1"), ("POST", "/turns/1/stop")):
            assert stranger.request(method, of_writer + path).status_code == 404
        assert stranger.get("/v1/conversations").json()["conversations"] == []
        assert stranger.post(f"{of_writer}/turns", json={"question": NOTICE}).status_code == 404
        assert writer.delete(of_reader).status_code == 200


# ── while it is being written


@pytest.fixture
def slow(tmp_path: Path) -> Iterator[tuple[Running, threading.Event]]:
    """A server whose model says half of its answer, and the rest when it is told to."""
    go_on = threading.Event()
    with (
        ScriptedProvider(pauses("The notice period is three months [1]. ", "It ends in May.", go_on)) as provider,
        serving(
            tmp_path / "library", model="openai:gpt-x", openai_base_url=provider.base_url, openai_api_key="k"
        ) as server,
    ):
        server.add("handbook.md", HANDBOOK)
        try:
            yield server, go_on
        finally:
            go_on.set()


def hear(told: Iterator[tuple[str, str]], words: str = "notice period is three") -> None:
    """Listen until something was said."""
    said = ""
    for name, data in told:
        said += json.loads(data)["text"] if name == "token" else ""
        if words in said:
            return
    raise AssertionError(said)


def test_an_answer_goes_on_when_its_listener_is_gone(slow: tuple[Running, threading.Event]) -> None:
    server, go_on = slow
    body = {"question": NOTICE, "id": "a" * 16}
    with server.client.stream("POST", "/v1/conversations", json=body, headers=STREAM) as answer:
        assert answer.headers["location"] == f"/v1/conversations/{'a' * 16}"
        hear(events_of(answer.iter_lines()))
    (turn,) = whole(server, "a" * 16)["turns"]
    assert turn["state"] == "asking"
    with server.client.stream("GET", f"/v1/conversations/{'a' * 16}/turns/1/events") as rest:
        told = events_of(rest.iter_lines())
        hear(told)
        go_on.set()
        assert [name for name, _ in told][-1] == "done"
    (turn,) = whole(server, "a" * 16)["turns"]
    assert turn["state"] == "done" and turn["text"].startswith("The notice period is three months.")


def test_stopping_keeps_what_came(slow: tuple[Running, threading.Event]) -> None:
    server, _ = slow
    with server.client.stream(
        "POST", "/v1/conversations", json={"question": NOTICE, "id": "b" * 16}, headers=STREAM
    ) as answer:
        hear(events_of(answer.iter_lines()))
        stopped = server.client.post(f"/v1/conversations/{'b' * 16}/turns/1/stop").json()
    assert stopped["state"] == "stopped" and stopped["text"].startswith("The notice period is three")


def test_deleting_a_conversation_ends_its_answer(slow: tuple[Running, threading.Event]) -> None:
    server, _ = slow
    with server.client.stream(
        "POST", "/v1/conversations", json={"question": NOTICE, "id": "c" * 16}, headers=STREAM
    ) as answer:
        hear(events_of(answer.iter_lines()))
        assert server.client.delete(f"/v1/conversations/{'c' * 16}").status_code == 200
    assert server.app.state.running_answers.turns_of("local", "c" * 16) == []


def test_what_a_dead_server_was_at_has_broken_off(slow: tuple[Running, threading.Event], tmp_path: Path) -> None:
    server, go_on = slow
    with server.client.stream(
        "POST", "/v1/conversations", json={"question": NOTICE, "id": "d" * 16}, headers=STREAM
    ) as answer:
        hear(events_of(answer.iter_lines()))
        store = server.app.state.tenants.borrow("local").conversations
        server.app.state.tenants.release("local")
        (turn,) = store.turns("local", "d" * 16, 1)
        assert turn.state == "asking"
        assert server.app.state.running_answers.is_dead(("local", "d" * 16, 2), turn, is_alone=True)
        assert not server.app.state.running_answers.is_dead(("local", "d" * 16, 1), turn, is_alone=True)
    go_on.set()


# ── PostgreSQL


def test_two_servers_of_one_database_know_the_same_conversations(postgres: PostgresServer, tmp_path: Path) -> None:
    address = postgres.fresh()
    with (
        serving(tmp_path / "one", store=address, serve_worker=False) as one,
        serving(tmp_path / "two", store=address, serve_worker=False) as other,
    ):
        one.app.state.tenants.borrow("local").add_text(HANDBOOK, filename="handbook.md")
        one.app.state.tenants.release("local")
        conversation, turn = begin(one)
        assert turn["answer"]["citations"]
        assert whole(other, conversation)["turns"] == [turn]
        found = other.client.get("/v1/conversations", params={"q": "notice"}).json()["conversations"]
        assert [each["id"] for each in found] == [conversation]
        with other.client.stream("GET", f"/v1/conversations/{conversation}/turns/1/events") as told:
            assert [name for name, _ in events_of(told.iter_lines())] == ["token", "done"]
        follow = other.client.post(f"/v1/conversations/{conversation}/turns", json={"question": "And then?"})
        assert follow.json()["number"] == 2
        (document,) = one.client.get("/v1/documents").json()["documents"]
        assert one.client.delete(f"/v1/documents/{document['id']}").status_code == 200
        assert {each["state"] for each in whole(other, conversation)["turns"]} <= {"forgotten", "done"}
        assert whole(other, conversation)["turns"][0]["state"] == "forgotten"
        assert other.client.delete(f"/v1/conversations/{conversation}").status_code == 200
        assert one.client.get("/v1/conversations").json()["conversations"] == []


def test_a_backup_has_the_conversations(filled: Running, tmp_path: Path) -> None:
    conversation, turn = begin(filled)
    library = filled.app.state.tenants.borrow("local")
    try:
        library.backup(tmp_path / "backup.fn")
    finally:
        filled.app.state.tenants.release("local")
    result = CliRunner().invoke(main, ["restore", str(tmp_path / "backup.fn"), "--library", str(tmp_path / "again")])
    assert result.exit_code == 0, result.output
    with serving(tmp_path / "again") as restored:
        assert whole(restored, conversation)["turns"] == [turn]
