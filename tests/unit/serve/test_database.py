"""The server's own database: what is gone is said to be gone, and what was deleted is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import StoreCorrupt, StoreUnavailable
from footnotes.serve.database import FILE, MARKER, ServerDatabase
from footnotes.serve.jobs import Jobs
from footnotes.serve.keys import Keys
from footnotes.store.naming import source_mark


def with_key(folder: Path) -> None:
    database = ServerDatabase(folder)
    Keys(database).create("local", name="first")
    database.close()


@pytest.mark.parametrize("left", ["nothing", "an empty file"])
def test_a_server_with_keys_does_not_serve_without_its_database(tmp_path: Path, left: str) -> None:
    with_key(tmp_path)
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    if left == "an empty file":
        (tmp_path / FILE).touch()
    with pytest.raises(StoreCorrupt, match="keys were made"):
        ServerDatabase(tmp_path)
    (tmp_path / MARKER).unlink()  # the remedy, for whoever means it
    database = ServerDatabase(tmp_path)
    assert not Keys(database).exist()
    database.close()


def test_a_server_without_keys_may_lose_its_database(tmp_path: Path) -> None:
    ServerDatabase(tmp_path).close()
    for path in tmp_path.glob(f"{FILE}*"):
        path.unlink()
    ServerDatabase(tmp_path).close()


def test_a_flipped_bit_is_noticed(tmp_path: Path) -> None:
    with_key(tmp_path)
    content = bytearray((tmp_path / FILE).read_bytes())
    content[content.index(b"first")] ^= 1
    (tmp_path / FILE).write_bytes(bytes(content))
    with pytest.raises(StoreUnavailable):
        Keys(ServerDatabase(tmp_path)).all("local")


def test_nothing_of_a_removed_job_stays_in_the_log(tmp_path: Path) -> None:
    database = ServerDatabase(tmp_path)
    jobs = Jobs(database, 10)
    job = jobs.add("local", "upload", "zebrafinch.txt", {"source": "zebrafinch", "collection": "default"}, None)
    assert any(b"zebrafinch" in path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    jobs.remove([job])
    assert not any(b"zebrafinch" in path.read_bytes() for path in tmp_path.glob(f"{FILE}*"))
    database.close()


def test_an_archive_that_is_not_done_leaves_out_members_that_were_deleted(tmp_path: Path) -> None:
    database = ServerDatabase(tmp_path)
    jobs = Jobs(database, 10)
    job = jobs.add("local", "upload", "birds.zip", {"source": "upload:birds.zip", "collection": "default"}, None)
    jobs.leave_out("local", [("default", "upload:birds.zip!/tern.txt"), ("other", "upload:birds.zip!/auk.txt")])
    assert jobs.find("local", job.id).request["deleted"] == [source_mark("default", "upload:birds.zip!/tern.txt")]
    database.close()
