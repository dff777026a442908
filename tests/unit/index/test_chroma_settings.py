from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import ConfigError
from footnotes.index.chroma import ChromaDatabase
from footnotes.index.chroma.settings import endpoint_of
from footnotes.settings import Settings


@pytest.mark.parametrize(
    ("address", "shown", "url", "prefix"),
    [
        ("chroma://db", "chroma://db:8000/footnotes", "http://db:8000", "footnotes"),
        ("chroma://db:9000/mine", "chroma://db:9000/mine", "http://db:9000", "mine"),
        ("chroma+https://db", "chroma+https://db:443/footnotes", "https://db:443", "footnotes"),
        ("chroma://[::1]:8000", "chroma://[::1]:8000/footnotes", "http://[::1]:8000", "footnotes"),
        ("chroma://me:secret@db", "chroma://db:8000/footnotes", "http://db:8000", "footnotes"),
    ],
)
def test_addresses_of_servers(address: str, shown: str, url: str, prefix: str) -> None:
    endpoint = endpoint_of(Settings(index=address))
    assert (endpoint.shown, endpoint.url, endpoint.prefix, endpoint.folder) == (shown, url, prefix, None)


def test_addresses_of_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert endpoint_of(Settings(index="chroma:here")).folder == tmp_path / "here"
    assert endpoint_of(Settings(index="chroma:~/here")).folder == tmp_path / "home" / "here"
    assert endpoint_of(Settings(index=f"chroma:{tmp_path}/there")).shown == f"chroma:{tmp_path}/there"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"index": "chroma://"}, "not the address"),
        ({"index": "chroma:///folder"}, "not the address"),
        ({"index": "chroma:"}, "no folder"),
        ({"index": "chroma://host:port"}, "not an address"),
        ({"index": "chroma://ho st"}, "host"),
        ({"index": "chroma://host/a/b"}, "prefix"),
        ({"index": "chroma://host?x=1"}, "question mark"),
        ({"index": "http://host"}, "not the address"),
        ({"index_legs": ("dense", "lexical")}, "lexical"),
        ({"index_options": {"shards": 2}}, "shards"),
        ({"index_options": {"batch": "many"}}, "batch"),
        ({"index_options": {"batch": True}}, "batch"),
        ({"index_options": {"batch": 0}}, "batch"),
        ({"index_options": {"ef_search": 10**9}}, "ef_search"),
        ({"index_options": {"auth_header": "a: b"}}, "auth_header"),
        ({"index_options": {"tenant": "../x"}}, "tenant"),
        ({"index_seconds": 0.0}, "index_seconds"),
        ({"index_api_key": "with space"}, "index_api_key"),
        ({"index": "chroma://me:secret@host", "index_api_key": "k3y"}, "user and a password"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        ChromaDatabase.opened(Settings(**{"index": "chroma://host", **settings}))
    assert caught.value.remedy
    assert "secret" not in str(caught.value) and "with space" not in str(caught.value)


def test_how_the_key_is_sent() -> None:
    def headers(**settings: Any) -> dict[str, str]:
        return dict(endpoint_of(Settings(**{"index": "chroma://host", **settings})).headers)

    assert headers() == {}
    assert headers(index_api_key="k3y") == {"Authorization": "Bearer k3y"}
    cloud = {"index_api_key": "k3y", "index_options": {"auth_header": "x-chroma-token"}}
    assert headers(**cloud) == {"x-chroma-token": "k3y"}
    assert headers(index="chroma://me:pass@host") == {"authorization": "Basic bWU6cGFzcw=="}


def test_no_key_is_ever_shown() -> None:
    settings = Settings(index="chroma+https://me:passw0rd@host", index_options={"auth_header": "x-key"})
    settings = Settings(index=settings.index, index_api_key="k3y-of-mine", index_options=dict(settings.index_options))
    database = ChromaDatabase.opened(settings)
    shown = f"{database.address} {database!r} {vars(database)!r} {endpoint_of(settings)!r}"
    assert "k3y-of-mine" not in shown and "passw0rd" not in shown
