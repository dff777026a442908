"""Backup while others write, restore, and every way a backup can be damaged."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import apsw
import pytest
from click.testing import CliRunner

from command_line import run
from footnotes.cli.backup import restore_command
from footnotes.errors import BackupDamaged, CopyTargetInUse, NotFound, StoreError
from footnotes.library import Library
from footnotes.settings import load
from libraries import quick_library, words
from postgres import PostgresServer


def restore(file: Path, folder: Path, *options: str) -> None:
    arguments = [str(file), "--library", str(folder), *options]
    environment = {"FOOTNOTES_EMBEDDER": "hashing"}
    CliRunner().invoke(restore_command, arguments, env=environment, catch_exceptions=False)


def restored(file: Path, folder: Path, snapshot: int | None = None) -> Library:
    restore(file, folder, *([] if snapshot is None else ["--snapshot", str(snapshot)]))
    return quick_library(folder)


def holds(file: Path, word: bytes) -> bool:
    """Whether any block of a backup holds a word, packed or not."""
    raw = apsw.Connection(str(file))
    try:
        blocks = raw.execute("SELECT packed, bytes FROM blocks").fetchall()
    finally:
        raw.close()
    return any(word in (zlib.decompress(content) if packed else content) for packed, content in blocks)


def everything(library: Library) -> dict[str, tuple[str, str]]:
    return {d.filename: (d.id, library.text(d.id)) for d in library.documents()}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "backups" / "library.backup"


def test_a_restored_library_is_the_same_and_whole(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library", keep_originals=True) as library:
        (tmp_path / "gulls.txt").write_text("Gulls nest on the harbour wall.")
        library.add(tmp_path / "gulls.txt", collection="birds")
        library.set_collection("birds", system_prompt="Speak of birds.")
        library.add_text("The ferry leaves at noon.", filename="ferry.txt")
        before, hits = everything(library), library.search("harbour wall").hits
        library.backup(file)
    assert file.stat().st_mode & 0o077 == 0
    with restored(file, tmp_path / "again") as library:
        assert everything(library) == before and library.verify().ok
        assert [(hit.text, hit.score) for hit in library.search("harbour wall").hits] == [
            (hit.text, hit.score) for hit in hits
        ]
        (gulls,) = library.documents(collection="birds")
        assert library.original(gulls.id).read_text() == "Gulls nest on the harbour wall."
        assert any(row["system_prompt"] == "Speak of birds." for row in library.collections())


def test_a_second_backup_stores_what_changed_and_both_can_be_restored(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library", keep_originals=True) as library:
        for number in range(60):
            (tmp_path / f"{number}.txt").write_text(words(number, 600))
            library.add(tmp_path / f"{number}.txt")
        first = library.backup(file)
        size = file.stat().st_size
        library.add_text("One more about lighthouses.", filename="new.txt")
        library.backup(file)
        assert file.stat().st_size - size < size / 3
    with restored(file, tmp_path / "first", first.id) as library:
        assert len(library.documents()) == 60 and library.verify().ok
    with restored(file, tmp_path / "second") as library:
        assert len(library.documents()) == 61 and library.verify().ok


def test_what_is_no_longer_kept_leaves_no_byte(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        added = library.add_text("The word is zanzibarquokka.", filename="secret.txt")
        library.backup(file)
        assert holds(file, b"zanzibarquokka")
        library.delete(str(added.document_id), compact=True)
        library.add_text("Harmless.", filename="other.txt")
        library.backup(file, keep=1)
    with quick_library(tmp_path / "library") as library:
        assert len(library.documents()) == 1
    assert json.loads(run("restore", str(file), "--list", "--json").output)["snapshots"][0]["id"] == 2
    assert not holds(file, b"zanzibarquokka")


def test_backups_during_constant_writing_are_each_one_state(tmp_path: Path, file: Path) -> None:
    """Two documents are always replaced together, and one is deleted and comes back with its original."""
    stop = threading.Event()
    with quick_library(tmp_path / "library", keep_originals=True) as library:
        (tmp_path / "passing.txt").write_text("A passing document with an original.")
        library.add_text("Round 0 of the first.", filename="a.txt", source="a")

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                library.add_text(f"Round {number} of the first.", filename="a.txt", source="a")
                (passing,) = [added.document_id for added in library.add(tmp_path / "passing.txt")]
                library.delete(str(passing))

        writer = threading.Thread(target=write)
        writer.start()
        try:
            numbers = [library.backup(file).id for _ in range(6)]
        finally:
            stop.set()
            writer.join()
    for number in numbers:
        with restored(file, tmp_path / f"restored{number}", number) as again:
            again.resume()  # a document may have been on its way in
            found = again.verify()
            assert found.ok, found.problems
            assert "a.txt" in everything(again)


def test_a_backup_that_is_killed_leaves_the_file_as_it_was(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        for number in range(30):
            library.add_text(words(number, 4_000), filename=f"{number}.txt")
        library.backup(file)
        library.add_text(words(99, 20_000), filename="more.txt")
    program = (
        "import footnotes, os, signal\n"
        "from footnotes.store.backup import BackupFile\n"
        "put = BackupFile._put\n"
        "def killed(self, snapshot, source):\n"
        "    put(self, snapshot, source)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
        "BackupFile._put = killed\n"
        f"footnotes.open({str(tmp_path / 'library')!r}, embedder='hashing').backup({str(file)!r})\n"
    )
    assert subprocess.run([sys.executable, "-c", program], timeout=120).returncode == -9
    with restored(file, tmp_path / "again") as library:
        assert len(library.documents()) == 30 and library.verify().ok
    with quick_library(tmp_path / "library") as library:
        library.backup(file)
    with restored(file, tmp_path / "later") as library:
        assert len(library.documents()) == 31 and library.verify().ok


@pytest.mark.parametrize("seed", range(12))
def test_a_damaged_backup_is_refused_and_writes_nothing(tmp_path: Path, file: Path, seed: int) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text(words(1, 3_000), filename="a.txt")
        library.backup(file)
    content = bytearray(file.read_bytes())
    rng = random.Random(seed)
    if seed % 3 == 0:
        content = content[: rng.randrange(len(content))]
    elif seed % 3 == 1:
        at = rng.randrange(8192, len(content))
        content[at : at + 512] = bytes(512)
    else:
        content[rng.randrange(100, len(content))] ^= 0xFF
    file.write_bytes(bytes(content))
    try:
        with restored(file, tmp_path / "again") as library:
            assert library.verify().ok and len(library.documents()) == 1  # the damage was in a page nothing uses
    except (StoreError, NotFound):
        assert not (tmp_path / "again").exists() or not any((tmp_path / "again").iterdir())
        assert not list(tmp_path.glob(".again-*"))


def test_a_folder_in_use_is_never_overwritten(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("Here first.", filename="a.txt")
        library.backup(file)
        with pytest.raises(CopyTargetInUse):
            restore(file, tmp_path / "library")
        assert library.verify().ok


def test_another_file_is_no_backup_and_is_not_touched(tmp_path: Path) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("These are notes.")
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        with pytest.raises(BackupDamaged):
            library.backup(text)
    assert text.read_text() == "These are notes."
    with pytest.raises(NotFound):
        restore(tmp_path / "none.backup", tmp_path / "x")


def test_the_command_line_backs_up_lists_and_restores(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    with quick_library(tmp_path / "library") as library:
        library.add_text("The ferry leaves at noon.", filename="ferry.txt")
    assert f"backed up to {file} as snapshot 1 of " in run("backup", str(file), "-l", str(tmp_path / "library")).output
    assert "snapshot 1 of" in run("restore", str(file), "--list").output
    shutil.rmtree(tmp_path / "library")
    assert "restored snapshot 1" in run("restore", str(file), "-l", str(tmp_path / "library")).output
    assert "ferry.txt" in run("search", "ferry", "-l", str(tmp_path / "library")).output


def test_a_database_is_backed_up_while_it_is_written_and_restored_into_another_and_into_a_folder(
    postgres: PostgresServer, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, there = postgres.fresh(), postgres.fresh()
    stop = threading.Event()

    def opened(store: str, user: str = "local") -> Library:
        folder = tmp_path / ("machine" if store == here else "another")
        return Library(folder, settings=load(folder, embedder="hashing", store=store, user=user, keep_originals=True))

    with opened(here) as library, opened(here, "other") as other:
        for number in range(5):
            library.add_text(words(number, 300), filename=f"{number}.txt")
        other.add_text("The other tenant keeps bees.", filename="bees.txt")

        def write() -> None:
            number = 0
            while not stop.is_set():
                number += 1
                library.add_text(f"Round {number} {words(number, 50)}", filename="a.txt", source="a")

        writer = threading.Thread(target=write)
        writer.start()
        try:
            monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
            monkeypatch.setenv("FOOTNOTES_STORE", here)
            key = json.loads(run("keys", "create", "--json", "-l", str(tmp_path / "machine")).output)
            done = run("backup", str(file), "-l", str(tmp_path / "machine"))
        finally:
            stop.set()
            writer.join()
    assert done.exit_code == 0, done.output
    monkeypatch.setenv("FOOTNOTES_STORE", there)
    assert run("restore", str(file), "-l", str(tmp_path / "another")).exit_code == 0
    assert key["id"] in run("keys", "list", "-l", str(tmp_path / "another")).output
    assert "copy_target_in_use" in run("restore", str(file), "-l", str(tmp_path / "another")).output
    monkeypatch.delenv("FOOTNOTES_STORE")
    for again in (lambda user: opened(there, user), lambda user: quick_library(tmp_path / "folder", user=user)):
        if not (tmp_path / "folder").exists():
            restore(file, tmp_path / "folder")
        with again("local") as library, again("other") as other:
            library.resume()
            assert {f"{number}.txt" for number in range(5)} <= set(everything(library))
            assert library.text(library.documents()[0].id) == words(0, 300)
            assert [*everything(other)] == ["bees.txt"]
            assert library.verify().ok and library.search(words(3, 300)[:60]).hits


def test_a_backup_of_a_database_tells_which_originals_it_lacks(
    postgres: PostgresServer, tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, machine = postgres.fresh(), tmp_path / "machine"
    settings = load(machine, embedder="hashing", store=store, keep_originals=True)
    with Library(machine, settings=settings) as library:
        for name in ("ferry", "bees", "rain"):
            library.add_text(f"A text about {name}.", filename=f"{name}.txt")
        library.original(library.documents()[0].id).unlink()
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    monkeypatch.setenv("FOOTNOTES_STORE", store)
    elsewhere = run("backup", str(tmp_path / "poor.backup"), "-l", str(tmp_path / "elsewhere"))
    assert elsewhere.exit_code == 0 and "note: 3 originals cannot be read here" in elsewhere.stderr
    here = run("backup", str(file), "-l", str(machine))
    assert here.exit_code == 0 and "note: 1 original cannot be read here" in here.stderr
    monkeypatch.delenv("FOOTNOTES_STORE")
    restore(file, tmp_path / "folder")
    with quick_library(tmp_path / "folder") as library:
        assert sorted(everything(library)) == ["bees.txt", "ferry.txt", "rain.txt"]
        checked = library.verify()
        assert checked.ok and checked.checked["originals"] == 2, "those that are there are in the backup"


def crafted(file: Path, path: str, *, size: int = 3, block: bytes = b"abc", packed: bytes | None = None) -> None:
    """Put a file of any name into a backup."""
    raw = apsw.Connection(str(file))
    digest = hashlib.sha256(block).digest()
    raw.execute("INSERT OR IGNORE INTO blocks VALUES (?, ?, ?)", (digest, int(packed is not None), packed or block))
    raw.execute("INSERT INTO files VALUES (1, ?, ?, ?, ?)", (path, size, digest, digest))
    raw.close()


@pytest.mark.parametrize(
    "path",
    ["../evil", "/tmp/evil", "a/../../evil", "a\\..\\evil", "a\x00b", "a" * 5_000, "footnotes.db/x", "d/" * 400 + "f"],
    ids=range(8),
)
def test_a_crafted_backup_is_refused_and_writes_nothing_outside(tmp_path: Path, file: Path, path: str) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        library.backup(file)
    crafted(file, path)
    before = {each for each in tmp_path.rglob("*") if "library" not in each.parts}
    with pytest.raises(BackupDamaged):
        restore(file, tmp_path / "again")
    assert {each for each in tmp_path.rglob("*") if "library" not in each.parts} == before


def test_a_block_that_unpacks_without_end_is_refused(tmp_path: Path, file: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        library.backup(file)
    bomb = bytes(50_000_000)
    crafted(file, "bomb", size=len(bomb), block=bomb, packed=zlib.compress(bomb))
    with pytest.raises(BackupDamaged, match="block"):
        restore(file, tmp_path / "again")


def test_settings_of_a_backup_are_set_aside(tmp_path: Path, file: Path) -> None:
    (tmp_path / "library").mkdir()
    (tmp_path / "library" / "footnotes.toml").write_text('embedder = "hashing"\nmodel = "openai:any"\n')
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        library.backup(file)
    assert "review them" in run("restore", str(file), "-l", str(tmp_path / "again")).output
    assert not (tmp_path / "again" / "footnotes.toml").exists()
    assert "openai:any" in (tmp_path / "again" / "footnotes.toml.restored").read_text()


def test_places_that_cannot_be_written_are_clear_errors(
    tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        library.backup(file)
    (tmp_path / "a file").write_text("x")
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    assert "store_unavailable" in run("backup", "/proc/x/y", "-l", str(tmp_path / "library")).output
    for place, code in (("a file", "copy_target_in_use"), ("a file/x", "store_unavailable"), ("link", "restored")):
        assert code in run("restore", str(file), "-l", str(tmp_path / place)).output, place
    monkeypatch.chdir(tmp_path)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert "restored" in run("restore", str(file), "-l", ".").output
    (tmp_path / "none").touch()
    assert "backup_damaged" in run("restore", str(tmp_path / "none"), "--list").output
    assert (tmp_path / "none").stat().st_size == 0


def test_what_a_killed_backup_left_is_removed_by_the_next(tmp_path: Path, file: Path) -> None:
    left = file.parent / ".backup-999999999-abc"
    left.mkdir(parents=True)
    (left / "footnotes.db").write_text("a copy of everything")
    with quick_library(tmp_path / "library") as library:
        library.add_text("A document.", filename="a.txt")
        file.touch(mode=0o644)
        library.backup(file)
    assert not left.exists() and file.stat().st_mode & 0o077 == 0
