"""The server follows sources: added over HTTP, run by its schedule, never with more than the caller may reach."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from footnotes.server.following import FollowedSources
from postgres import PostgresServer
from serving import Running, serving, settled
from source_files import ObsidianPlace, message
from source_sites import CrawlPlace
from web_site import Site

SECRET = "s3cret-nobody-may-see"


@pytest.fixture(autouse=True)
def _often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("footnotes.server.state.LOOK_SECONDS", 0.05)


@pytest.fixture(params=["sqlite", "postgres"])
def running(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Running]:
    """A server on either store."""
    settings: dict[str, Any] = {"serve_worker": False}
    if request.param == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        settings = {"store": server.fresh()}
    with serving(tmp_path / "library", **settings) as made:
        yield made


def waited(look: Callable[[], Any]) -> Any:
    """What comes of a look in the end."""
    until = time.monotonic() + 120
    while not (found := look()):
        assert time.monotonic() < until
        time.sleep(0.05)
    return found


def test_sources_are_followed(running: Running, tmp_path: Path) -> None:
    client, vault = running.client, ObsidianPlace(tmp_path)
    vault.put("bees", "Bees make honey in June.")
    added = client.post("/v1/sources", json={"address": vault.address, "collection": "notes"})
    assert added.status_code == 201, added.text
    one = f"/v1/sources/{added.json()['id']}"
    ran = waited(lambda: (found := client.get(one).json())["state"] == "ok" and found)
    assert ran["counts"] == {"added": 1} and ran["error"] is None and ran["next_at"] > ran["ran_at"]
    vault.put("bees", "Bees make honey in July.")
    job = settled(client, client.post(f"{one}/run").json()["id"])
    assert [each["status"] for each in job["documents"]] == ["changed"]
    assert client.get(one).json()["counts"] == {"changed": 1}
    with vault.away():
        assert settled(client, client.post(f"{one}/run").json()["id"])["state"] == "failed"
        assert client.get(one).json()["error"]["code"] == "source_unreadable"
    listed = client.get("/v1/sources").json()
    assert [each["id"] for each in listed["sources"]] == [added.json()["id"]] and "s3" in listed["kinds"]
    assert client.delete(one).status_code == 200 and client.get(one).status_code == 404
    assert len(client.get("/v1/documents").json()["documents"]) == 1


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    """A client of a tenant who does not run the server, with every right there is."""
    with serving(tmp_path_factory.mktemp("strange") / "library", needs_keys=True, serve_worker=False) as made:
        key = made.app.state.keys.create("stranger", scopes=("read", "write", "admin"))[0]
        yield made.with_key(key)


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"address": "obsidian:/etc"}, "forbidden"),
        ({"address": "sql+sqlite:////etc/passwd?table=x"}, "forbidden"),
        ({"address": "imaps://a@mail.example.org", "options": {"password": "env:HOME"}}, "forbidden"),
        ({"address": "imaps://a@mail.example.org?password=file:/etc/passwd"}, "forbidden"),
        ({"address": f"imaps://a:{SECRET}@mail.example.org"}, "option_invalid"),
        ({"address": "imaps://a@mail.example.org", "options": {"password": SECRET}}, "option_invalid"),
        ({"address": "gopher://host/"}, "option_invalid"),
        ({"address": "s3://bucket", "options": {"nonsense": "1"}}, "option_invalid"),
    ],
)
def test_what_a_tenant_may_not_name(stranger: httpx.Client, body: dict[str, Any], code: str) -> None:
    answer = stranger.post("/v1/sources", json=body)
    assert answer.json()["error"]["code"] == code, answer.text
    assert SECRET not in answer.text


ADDRESSES = (
    "imap://a@127.0.0.1:{port}/INBOX",
    "sftp://a@127.0.0.1:{port}/",
    "webdav+http://a@localhost:{port}/",
    "git+http://127.0.0.1:{port}/x.git",
    "git+file://localhost/etc",
    "git+ssh://git@127.0.0.1:{port}/x.git",
    "s3://bucket?endpoint=http://127.0.0.1:{port}&anonymous=true",
    "http://127.0.0.1:{port}/",
    "feed+http://127.0.0.1:{port}/feed.xml",
    "github://a/b?api=http://127.0.0.1:{port}",
    "sql+postgresql://a@127.0.0.1:{port}/db?table=x",
)


@pytest.mark.parametrize("address", [*ADDRESSES, "http://2130706433:{port}/", "web:http://[::ffff:127.0.0.1]:{port}/"])
def test_what_can_never_run_is_refused_at_once(stranger: httpx.Client, address: str) -> None:
    before = stranger.get("/v1/sources").json()["sources"]
    answer = stranger.post("/v1/sources", json={"address": address.format(port=1), "every": 0})
    assert answer.json()["error"]["code"] in ("url_blocked", "forbidden"), answer.text
    assert stranger.get("/v1/sources").json()["sources"] == before


def test_no_tenant_reaches_inside(stranger: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    # As if each address had been a name that resolves to this machine, or was accepted before it was checked.
    monkeypatch.setattr(FollowedSources, "_check", lambda *_, **__: None)
    with Site() as canary:
        for address in ADDRESSES:
            secrets = {"password": SECRET} if "imap" in address else {}
            body = {"address": address.format(port=canary.port), "secrets": secrets, "every": 0}
            added = stranger.post("/v1/sources", json=body)
            assert added.status_code == 201, added.text
            job = settled(stranger, stranger.post(f"/v1/sources/{added.json()['id']}/run").json()["id"])
            assert job["state"] == "failed" and job["error"]["code"] == "url_blocked", job
        assert canary.asked == []


def test_a_source_keeps_to_the_bytes_of_its_tenant_and_waits_once(tmp_path: Path) -> None:
    vault = ObsidianPlace(tmp_path)
    for number in range(3):
        vault.put(f"bees{number}", f"Bees {number} make honey in June. " * 100)
    with serving(tmp_path / "library", serve_tenant_bytes=2_000) as running:
        made = running.client.post("/v1/sources", json={"address": vault.address, "every": 0}).json()
        with running.app.state.intake.paused():
            ran = {running.client.post(f"/v1/sources/{made['id']}/run").json()["id"] for _ in range(5)}
        assert len(ran) == 1, "it waits once"
        settled(running.client, ran.pop())
        running.client.post(f"/v1/sources/{made['id']}/run")
        failed = waited(lambda: (one := running.client.get(f"/v1/sources/{made['id']}").json())["error"] and one)
        assert failed["state"] == "failed" and failed["error"]["code"] == "storage_quota"


def test_secrets_are_sealed(tmp_path: Path) -> None:
    """Handed over once; afterwards in no answer and in no file of the server."""
    folder = tmp_path / "library"
    with serving(folder, serve_worker=False) as running:
        body = {"address": "imap://a@127.0.0.1:1/INBOX", "secrets": {"password": SECRET}, "every": 0}
        added = running.client.post("/v1/sources", json=body)
        one = f"/v1/sources/{added.json()['id']}"
        job = settled(running.client, running.client.post(f"{one}/run").json()["id"])
        said = [added.text, running.client.get("/v1/sources").text, str(job), running.client.get(one).text]
    assert added.json()["options"] == {"password": "sealed:"} and job["state"] == "failed"
    files = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    assert all(SECRET not in text for text in said) and all(SECRET.encode() not in content for content in files)


def test_the_command_line(tmp_path: Path) -> None:
    """Added, run and listed without a server."""
    quick = {"FOOTNOTES_EMBEDDER": "hashing", "FOOTNOTES_FETCH_PRIVATE": "true", "FOOTNOTES_FETCH_DELAY": "0"}

    def footnotes(*words: str) -> str:
        program = [sys.executable, "-m", "footnotes", "sources", "--library", str(tmp_path / "library")]
        done = subprocess.run([*program, *words], env={**os.environ, **quick}, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    with Site() as site:
        place = CrawlPlace(site)
        place.put("bees", "Bees make honey in June.")
        assert "every 86,400 s" in footnotes("add", place.address, "--every", "1d", "-c", "site")
        assert "1 added" in footnotes("run")
        listed = footnotes()
    assert " ok " in listed and place.address in listed


def test_a_message_comes_in_by_http(tmp_path: Path) -> None:
    letter = message("plans", "The hive moves in May.", attached={"map.txt": b"North of the lime trees."}).as_bytes()
    headers = {"Content-Type": "message/rfc822"}
    with serving(tmp_path / "library", serve_worker=False) as running:
        for _ in range(2):
            accepted = running.client.post("/v1/documents", content=letter, headers=headers)
            assert accepted.status_code == 202, accepted.text
            done = [settled(running.client, job["id"]) for job in accepted.json()["jobs"]]
            assert [job["state"] for job in done] == ["ready", "ready"]
        found = running.client.get("/v1/documents").json()["documents"]
        assert sorted(each["source"] for each in found) == [
            "mail:<plans@example.org>",
            "mail:<plans@example.org>!/map.txt",
        ]
        assert running.client.post("/v1/documents", content=b" ", headers=headers).status_code == 422


def test_the_page_that_adds_a_page(tmp_path: Path) -> None:
    """Served without a key, with the same policy as the page; it sends nothing by itself."""
    with serving(tmp_path / "library", serve_worker=False) as running:
        page = running.client.get("/add")
        assert page.status_code == 200 and "script-src 'self'" in page.headers["content-security-policy"]
        (script,) = re.findall(r'src="(/static/[^"]+/add.js)"', page.text)
        assert "encodeURIComponent(location.href)" in running.client.get(script).text
