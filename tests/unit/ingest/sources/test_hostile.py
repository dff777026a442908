"""Addresses that a tenant hands to a server, written to reach more than it may; and what sources must not do."""

from __future__ import annotations

import socket
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from footnotes.errors import DocumentTooLarge, FootnotesError, OptionError, SourceAway, UrlBlocked
from footnotes.ingest.sources.address import Address, parse_address
from footnotes.ingest.sources.git import GitSource
from footnotes.ingest.sources.objects import ObjectSource
from footnotes.ingest.sources.secrets import SEALED, Secrets
from footnotes.ingest.sources.sql import SqlSource
from footnotes.library import Library
from footnotes.settings import Settings
from libraries import quick_library
from postgres import PostgresServer
from repositories import commit, files_in, needs_git, repository
from source_files import MaildirPlace

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


@pytest.mark.parametrize("query", ["VACUUM INTO '{0}'", "ATTACH '{0}' AS other", "DELETE FROM t RETURNING id"])
def test_a_query_that_writes_is_refused(library: Library, tmp_path: Path, query: str) -> None:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as made:
        made.execute("CREATE TABLE t (id)")
        made.execute("INSERT INTO t VALUES (1)")
        made.commit()
    target = tmp_path / "written.db"
    with pytest.raises(FootnotesError):
        library.sync(f"sql+sqlite://{tmp_path / 'shop.db'}", options={"query": query.format(target)})
    assert not target.exists()
    assert (
        library.sync(f"sql+sqlite://{tmp_path / 'shop.db'}", options={"query": "SELECT * FROM t"}).counts["added"] == 1
    )


@pytest.mark.parametrize(
    "query",
    ["select 1 as id; commit; create table pwned (a int)", "with x as (delete from t returning id) select * from x"],
)
def test_a_query_cannot_leave_the_transaction_that_reads(
    library: Library, postgres: PostgresServer, query: str
) -> None:
    address = postgres.fresh()
    named = f"sql+{address.replace('postgres:@', 'postgres@')}"
    postgres.execute("CREATE TABLE t AS SELECT 1 AS id", address=address)
    with pytest.raises(FootnotesError):
        library.sync(named, options={"query": query})
    assert postgres.execute("SELECT count(*) FROM t", address=address)[0][0] == 1
    assert not postgres.execute("SELECT 1 FROM pg_tables WHERE tablename = 'pwned'", address=address)
    assert library.sync(named, options={"table": "t"}).counts["added"] == 1


@needs_git
def test_two_folders_of_one_repository_are_two_sources(library: Library, tmp_path: Path) -> None:
    top = repository(tmp_path / "mono", {"a/one.md": "Bees make honey.", "b/two.md": "Ants make paths."})
    address = f"git+file://{top}@main"
    assert library.sync(address, options={"folder": "a"}).counts["added"] == 1
    done = library.sync(address, options={"folder": "b"})
    assert done.counts["added"] == 1 and done.counts["deleted"] == 0
    files_in(top, {"a/three.md": "Wasps make paper."})
    commit(top)
    done = library.sync(address, options={"folder": "a"})
    assert done.counts["added"] == 1 and done.counts["deleted"] == 0 and len(library.documents()) == 3


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


def test_a_link_in_a_mailbox_is_left_out(library: Library, tmp_path: Path) -> None:
    place = MaildirPlace(tmp_path)
    place.put("letter", "The hive moves.")
    (tmp_path / "outside.txt").write_text("Not for the library.")
    (place.path / "new" / "3.host").symlink_to(tmp_path / "outside.txt")
    assert library.sync(place.address).counts["added"] == 1
    assert not library.search("library", mode="lexical").hits


@needs_git
def test_a_server_that_stays_silent_is_left_soon(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, quick_library(tmp_path / "l", fetch_seconds=0.5) as library:
        address = f"git+git://127.0.0.1:{silent.getsockname()[1]}/x.git"
        with pytest.raises(SourceAway, match=r"did not respond within 0\.5 seconds"):
            library.sync(address)
