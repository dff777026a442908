"""What is said of a Qdrant in the settings. None of this needs one."""

from __future__ import annotations

from typing import Any

import pytest

from footnotes.errors import ConfigError
from footnotes.index.qdrant import QdrantDatabase
from footnotes.index.qdrant.settings import Options, endpoint_of, options_of
from footnotes.settings import Settings


@pytest.mark.parametrize(
    ("address", "shown", "url", "prefix"),
    [
        ("qdrant://db", "qdrant://db:6333/footnotes", "http://db:6333", "footnotes"),
        ("qdrant://db:7000/", "qdrant://db:7000/footnotes", "http://db:7000", "footnotes"),
        ("qdrant+https://db.example/team", "qdrant+https://db.example:6333/team", "https://db.example:6333", "team"),
        ("qdrant://[::1]:6400/a_b-c", "qdrant://[::1]:6400/a_b-c", "http://[::1]:6400", "a_b-c"),
        ("qdrant://ann:s3cret@db/x", "qdrant://db:6333/x", "http://db:6333", "x"),
    ],
)
def test_an_address_is_taken_apart(address: str, shown: str, url: str, prefix: str) -> None:
    endpoint = endpoint_of(Settings(index=address))
    assert (endpoint.shown, endpoint.url, endpoint.prefix) == (shown, url, prefix)


@pytest.mark.parametrize(
    "address",
    ["", "qdrant:", "qdrant://", "http://db", "qdrant://db:port", "qdrant://db:99999", "qdrant://db/a/b",
     "qdrant://db/ä", "qdrant://db/.x", "qdrant://db?api_key=hidden", "qdrant://a b", "qdrant://ann:hidden@/x"],
)  # fmt: skip
def test_a_bad_address_is_refused_and_not_repeated(address: str) -> None:
    with pytest.raises(ConfigError) as caught:
        QdrantDatabase.opened(Settings(index=address))
    assert "hidden" not in f"{caught.value}{caught.value.remedy}"
    assert caught.value.remedy


def test_a_user_and_password_are_for_a_proxy_and_never_shown() -> None:
    endpoint = endpoint_of(Settings(index="qdrant://ann:p%40ss@db", index_api_key="k-123456"))
    assert endpoint.headers == {"api-key": "k-123456", "authorization": "Basic YW5uOnBAc3M="}
    database = QdrantDatabase.opened(Settings(index="qdrant://ann:p%40ss@db", index_api_key="k-123456"))
    for text in (repr(endpoint), str(endpoint), database.address, repr(database), repr(vars(database))):
        assert "k-123456" not in text
        assert "p@ss" not in text and "p%40ss" not in text


@pytest.mark.parametrize("key", ["two words", "line\nbreak", "schlüssel", "tab\t"])
def test_a_key_that_no_header_can_carry_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError) as caught:
        endpoint_of(Settings(index="qdrant://db", index_api_key=key))
    assert key not in str(caught.value)


def test_legs_it_cannot_serve_are_refused() -> None:
    with pytest.raises(ConfigError, match="'sparse'"):
        QdrantDatabase.opened(Settings(index="qdrant://db", index_legs=("dense", "sparse")))
    assert QdrantDatabase.opened(Settings(index="qdrant://db", index_legs=("lexical",))).legs == {"dense", "lexical"}


def test_no_time_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="index_seconds"):
        endpoint_of(Settings(index="qdrant://db", index_seconds=0.0))


@pytest.mark.parametrize(
    "given",
    [{"shard": 2}, {"shards": "2"}, {"shards": True}, {"shards": -1}, {"on_disk": 1}, {"ordering": "none"},
     {"quantization": "int4"}, {"m": 1}, {"batch": 0}, {"grpc_port": 70_000}, {"quantization": None}],
)  # fmt: skip
def test_options_that_cannot_be_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(given))) as caught:
        options_of(given)
    assert caught.value.remedy


def test_options_are_taken_as_given() -> None:
    given = {"shards": 3, "ordering": "strong", "on_disk": True, "quantization": "binary", "batch": 64}
    assert options_of(given) == Options(**given)  # type: ignore[arg-type]
    assert options_of({}) == Options()
