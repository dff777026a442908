"""Addresses and keys that sources refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from footnotes.errors import DocumentTooLarge, OptionError, UrlBlocked
from footnotes.ingest.sources.address import Address, parse_address
from footnotes.ingest.sources.git import GitSource
from footnotes.ingest.sources.objects import ObjectSource
from footnotes.ingest.sources.secrets import SEALED, Secrets
from footnotes.ingest.sources.sql import SqlSource
from footnotes.settings import Settings
from repositories import needs_git, repository

SECRETS = ("session_token", "access_key_id")


Parse = Callable[..., Address]


@pytest.fixture
def parse() -> Iterator[Parse]:
    """Parses an address as of a tenant over HTTP; what it opens is closed afterwards."""
    with ExitStack() as held:

        def parsed(text: str, *, fetch_private: bool = False, trusted: bool = False, **options: str) -> Address:
            secrets = Secrets({name: options[name] for name in SECRETS if name in options})
            given = {name: SEALED if name in SECRETS else value for name, value in options.items()}
            settings = Settings(fetch_private=fetch_private)
            found = parse_address(text, settings, options=given, trusted=trusted, secrets=secrets)
            held.enter_context(found.held)
            return found

        yield parsed


@needs_git
@pytest.mark.parametrize("carrier", ["http", "git"])
def test_git_dials_the_host_that_was_checked(parse: Parse, carrier: str) -> None:
    """The user part of an address is no second host."""
    hidden = "127.0.0.1%3A18001%2Finternal.git%2F"
    source = GitSource(parse(f"git+{carrier}://{hidden}@8.8.8.8/..", trusted=True))
    assert urlsplit(source._url).hostname == "8.8.8.8" and source._url.count("/") == 3 + source._path.count("/") - 1


@needs_git
@pytest.mark.parametrize(
    ("address", "options"),
    [
        ("git+file://x/srv/internal.git", {}),
        ("git+ssh://git@example.org/x.git", {}),
        ("git+https://example.org/x.git", {"private_key_file": "/etc/hostname"}),
        ("sql+postgresql://postgres@h/postgres", {"host": "/var/run/postgresql", "table": "documents"}),
    ],
)
def test_private_networks_are_not_the_servers_files(parse: Parse, address: str, options: dict[str, str]) -> None:
    """`fetch_private` lets tenants reach an intranet, not files, databases and keys of the server."""
    kind = SqlSource if address.startswith("sql") else GitSource
    with pytest.raises(UrlBlocked, match="operator"):
        kind(parse(address, fetch_private=True, **options))


@pytest.mark.parametrize("options", [{}, {"session_token": "x"}, {"access_key_id": "x"}])
def test_a_bucket_needs_a_whole_key(parse: Parse, options: dict[str, str]) -> None:
    """With a part of one, the library would ask this machine for the rest."""
    with pytest.raises(OptionError, match="needs its own key"):
        ObjectSource(parse("s3://bucket", **options))


@pytest.mark.parametrize(
    "address",
    [
        "git+https://ghp_0123456789abcdef@example.org/x.git",
        "git+https://3f9a0c77d1e24b0c8a1c3f9a0c77d1e24b0c8a1c@example.org/x.git",
        "https://example.org/feed?access_token=SECRET123",
    ],
)
def test_tokens_in_addresses_are_refused_and_not_shown(parse: Parse, address: str) -> None:
    with pytest.raises(OptionError) as refused:
        parse(address, trusted=True)
    said = refused.value.message + refused.value.remedy
    assert not any(token in said for token in ("ghp_0", "3f9a0", "SECRET123"))


@needs_git
def test_a_file_beyond_the_limit_is_not_read(parse: Parse, tmp_path: Path) -> None:
    top = repository(tmp_path / "large", {"large.md": "x" * 5_000, "small.md": "y" * 50})
    source = GitSource(parse(f"git+file://{top}@main", trusted=True))
    source.limit = 1_000
    large, small = sorted(source.entries(), key=lambda entry: entry.key)
    (tmp_path / "read").mkdir()
    with pytest.raises(DocumentTooLarge):
        list(source.read(large, tmp_path / "read"))  # type: ignore[arg-type]
    (found,) = source.read(small, tmp_path / "read")  # type: ignore[arg-type]
    assert found.path.read_bytes() == b"y" * 50
