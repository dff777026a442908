"""Calls to machines elsewhere: what is retried, how long, and what is said of it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from email.utils import formatdate

import pytest

import provider as fake
from footnotes.errors import ProviderBadResponse, ProviderError, ProviderTimeout, ProviderUnavailable
from footnotes.remote import Deadline, Endpoint, Remote
from footnotes.remote.circuit import Circuit
from footnotes.remote.client import error_of_status, message_in, retry_after
from footnotes.remote.redact import redact
from provider import ScriptedProvider

OPENED: list[Remote] = []


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider() as running:
        yield running
    while OPENED:
        OPENED.pop().close()


def remote(provider: ScriptedProvider, waits: list[float], **changes: object) -> Remote:
    fields = {"provider": "Fake", "base_url": provider.base_url, "timeout": 5.0}
    OPENED.append(Remote(Endpoint(**(fields | changes)), sleep=waits.append))  # type: ignore[arg-type]
    return OPENED[-1]


@pytest.mark.parametrize("code", [408, 409, 429, 500, 502, 503, 504])
def test_what_may_succeed_later_is_tried_again(provider: ScriptedProvider, code: int) -> None:
    waits: list[float] = []
    provider.script(fake.status(code), fake.status(code), fake.sends('{"ok": 1}'))
    assert remote(provider, waits).post("x", {}) == {"ok": 1}
    assert len(waits) == 2 and all(0 <= wait <= 1 for wait in waits)


@pytest.mark.parametrize("code", [400, 401, 403, 404, 413, 422])
def test_no_other_refusal_is_tried_again(provider: ScriptedProvider, code: int) -> None:
    provider.default = fake.status(code, {"error": {"message": "no"}})
    with pytest.raises(ProviderError) as raised:
        remote(provider, []).post("x", {})
    assert raised.value.code == "provider_refused" and len(provider.requests) == 1


def test_a_redirect_is_not_followed(provider: ScriptedProvider) -> None:
    provider.default = fake.status(302, headers={"location": "http://127.0.0.1:9/"})
    with pytest.raises(ProviderBadResponse, match="redirect"):
        remote(provider, [], attempts=1).post("x", {})


def test_retry_after_is_honoured_as_seconds_and_as_a_date(provider: ScriptedProvider) -> None:
    waits: list[float] = []
    provider.script(fake.status(503, headers={"retry-after": "2"}), fake.sends("{}"))
    remote(provider, waits).post("x", {})
    assert waits == [2.0]
    assert retry_after({"retry-after-ms": "250"}) == 0.25
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert 50 < (retry_after({"retry-after": formatdate(timeval=None, usegmt=True).replace("GMT", "-0001")}) or 0) < 70
    assert retry_after({"retry-after": "soon"}) is None
    assert retry_after({}) is None


def test_the_deadline_bounds_all_tries_together(provider: ScriptedProvider) -> None:
    provider.default = fake.status(500)
    with pytest.raises(ProviderUnavailable):
        remote(provider, [], attempts=50).post("x", {}, deadline=Deadline(0.3))
    assert len(provider.requests) < 50
    with pytest.raises(ProviderTimeout):
        remote(provider, []).post("x", {}, deadline=Deadline(0.0))


def test_lines_are_retried_only_before_the_first(provider: ScriptedProvider) -> None:
    waits: list[float] = []
    provider.script(fake.resets(), fake.cuts("one two", reset=False))
    lines = [line for line in remote(provider, waits).lines("x", {}) if line]
    assert len(lines) == 2 and len(waits) <= 1


def test_a_circuit_opens_cools_and_tries_once() -> None:
    now = [0.0]
    circuit = Circuit("Fake", failures=2, cooling=10.0, clock=lambda: now[0])
    circuit.enter()
    circuit.failed()
    circuit.failed()
    with pytest.raises(ProviderUnavailable, match="2 times in a row"):
        circuit.enter()
    now[0] = 10.5
    circuit.enter()
    with pytest.raises(ProviderUnavailable):
        circuit.enter()
    circuit.succeeded()
    circuit.enter()


def test_a_remote_may_be_shared_between_threads(provider: ScriptedProvider) -> None:
    provider.default = fake.sends('{"ok": 1}')
    shared, results = remote(provider, []), list[object]()
    threads = [threading.Thread(target=lambda: results.append(shared.post("x", {}))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [{"ok": 1}] * 8


@pytest.mark.parametrize(
    "said",
    [
        "Incorrect key sk-abcdefgh12345678 given",
        "Authorization: Bearer abcd1234efgh",
        '{"api_key": "abcd1234"}',
        "https://x.example/v1?key=abcd1234&a=b",
        "token=abcd1234",
        "my-secret was wrong",
        "AIzaSyA1234567890abcdef",
    ],
)
def test_nothing_that_looks_like_a_key_is_quoted(said: str) -> None:
    shown = redact(said, ["my-secret"])
    assert "•••" in shown
    assert not any(part in shown for part in ("abcd", "my-secret", "SyA123"))


def test_what_is_quoted_is_short_and_on_one_line() -> None:
    assert len(redact("word\n\x1b[31m" * 500)) <= 200
    assert "\n" not in redact("a\nb") and "\x1b" not in redact("\x1b[31m")


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ('{"error": {"message": "no such model"}}', "no such model"),
        ('{"error": "plain"}', "plain"),
        ('[{"error": {"message": "listed"}}]', "listed"),
        ('{"detail": "told"}', "told"),
        ("<html>page</html>", ""),
        ("just text", "just text"),
        ("{}", ""),
        ("[" * 100_000, "[" * 100_000),
    ],
)
def test_the_providers_own_words_are_found(body: str, message: str) -> None:
    assert message_in(body) == message


def test_the_address_is_named_without_a_password(provider: ScriptedProvider) -> None:
    with pytest.raises(ProviderUnavailable) as raised:
        remote(provider, [], base_url="http://user:hunter2@127.0.0.1:9/v1", attempts=1).post("x", {})
    assert "hunter2" not in raised.value.message and "127.0.0.1:9" in raised.value.message


def test_a_wrong_key_says_which_setting() -> None:
    error = error_of_status("OpenAI", 401, {}, "", "openai_api_key")
    assert error is not None and "openai_api_key" in error.remedy
    assert error_of_status("OpenAI", 200, {}, "", "") is None
