"""Addresses that a tenant hands to a server, written to reach more than it may; and what sources must not do."""

from __future__ import annotations

import io
import socket
import sqlite3
import tarfile
import warnings
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError, SourceAway
from footnotes.library import Library
from libraries import quick_library
from postgres import PostgresServer
from repositories import commit, files_in, needs_git, repository
from source_files import MaildirPlace


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


MEMBERS = (
    "bees.md",
    "../out.md",
    "/abs.md",
    "C:\\drive.md",
    "a\x1b[2J.md",
    ".hidden.md",
    "__MACOSX/bees.md",
    "bees.md",
)


@pytest.mark.parametrize("packing", ["zip", "tar"])
def test_a_packed_folder_is_read_by_the_rules_of_archives(library: Library, tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"evil.{packing}"
    with warnings.catch_warnings(action="ignore"):  # of a name that is there twice
        if packing == "zip":
            with zipfile.ZipFile(path, "w") as made:
                for number, name in enumerate(MEMBERS):
                    made.writestr(name, f"Bees make honey, {number}.")
        else:
            with tarfile.open(path, "w") as packed:
                for number, name in enumerate(MEMBERS):
                    info, content = tarfile.TarInfo(name), f"Bees make honey, {number}.".encode()
                    info.size = len(content)
                    packed.addfile(info, io.BytesIO(content))
    done = library.sync(f"folder:{path}")
    assert done.counts["added"] == 1
    assert [document.source for document in library.documents()] == [f"folder:{path}/bees.md"]
    assert library.sync(f"folder:{path}").counts["deleted"] == 0


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
