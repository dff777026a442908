"""A library that follows a folder: what each change costs, what is never touched, what is never believed."""

from __future__ import annotations

import hashlib
import os
import shutil
import time
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import SourceUnreadable, SyncRefused
from footnotes.library import Library
from footnotes.settings import settings_from
from footnotes.testing.embedder import HashingEmbedder
from libraries import words


@pytest.fixture
def embedder() -> HashingEmbedder:
    return HashingEmbedder()


@pytest.fixture
def library(tmp_path: Path, embedder: HashingEmbedder) -> Iterator[Library]:
    options = {"chunker": "rules", "chunker_options": {"tokens": 100, "overlap": 0}, "embedder": embedder.name}
    with Library(tmp_path / "library", settings=settings_from(options), embedder=embedder) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Five files of a few paragraphs each."""
    root = tmp_path / "documents"
    (root / "inner").mkdir(parents=True)
    for number in range(5):
        write(root / ("inner" if number > 3 else "") / f"file{number}.txt", number)
    return root


def write(path: Path, number: int, *, changed: int = -1) -> None:
    paragraphs = [words(number * 10 + i, 90) + (" changed" if i == changed else "") for i in range(4)]
    path.write_text("\n\n".join(paragraphs))


def counted(library: Library, folder: Path, **options: Any) -> dict[str, int]:
    found = library.sync(folder, **options).counts
    return {name: count for name, count in found.items() if count}


def ids(library: Library) -> dict[str, str]:
    return {document.source: document.id for document in library.documents()}


def test_files_come_change_and_go(library: Library, folder: Path) -> None:
    assert counted(library, folder) == {"added": 5}
    assert counted(library, folder) == {"unchanged": 5}
    write(folder / "file1.txt", 1, changed=2)
    (folder / "file2.txt").unlink()
    write(folder / "new.txt", 77)
    assert counted(library, folder) == {"added": 1, "changed": 1, "deleted": 1, "unchanged": 3}
    assert library.search("marker770", mode="lexical").hits[0].filename == "new.txt"
    assert "file2.txt" not in {hit.filename for hit in library.search("marker20").hits}
    assert library.verify().ok


def test_a_rename_costs_no_embedding_and_keeps_the_document(
    library: Library, folder: Path, embedder: HashingEmbedder
) -> None:
    library.sync(folder)
    before, made = ids(library), embedder.texts
    (folder / "file0.txt").rename(folder / "inner" / "letter.txt")
    done = library.sync(folder)
    assert done.counts["renamed"] == 1 and done.counts["deleted"] == done.counts["added"] == 0
    assert done.files[0].before == str(folder / "file0.txt")
    assert embedder.texts == made
    after = ids(library)
    assert after[str(folder / "inner" / "letter.txt")] == before[str(folder / "file0.txt")]
    document = library.document(after[str(folder / "inner" / "letter.txt")])
    assert (document.filename, document.title) == ("letter.txt", "letter")
    assert library.search("marker0", where=["filename=letter.txt"], mode="lexical").hits
    assert not library.search("marker0", where=["filename=file0.txt"]).hits
    assert library.verify().ok and counted(library, folder) == {"unchanged": 5}


def test_files_that_change_places_keep_their_documents(
    library: Library, folder: Path, embedder: HashingEmbedder
) -> None:
    library.sync(folder)
    before, made = ids(library), embedder.texts
    one, two, three = (folder / f"file{number}.txt" for number in range(3))
    one.rename(folder / "aside")
    two.rename(one)
    (folder / "aside").rename(two)
    three.rename(folder / "elsewhere.txt")
    (folder / "file3.txt").rename(three)
    assert counted(library, folder) == {"renamed": 4, "unchanged": 1}
    after = ids(library)
    assert after[str(one)] == before[str(two)] and after[str(two)] == before[str(one)]
    assert after[str(three)] == before[str(folder / "file3.txt")]
    assert embedder.texts == made and library.verify().ok


def test_a_file_moved_over_another_keeps_its_document(
    library: Library, folder: Path, embedder: HashingEmbedder
) -> None:
    library.sync(folder)
    before, made = ids(library), embedder.texts
    (folder / "file0.txt").rename(folder / "file1.txt")
    assert counted(library, folder) == {"changed": 1, "deleted": 1, "unchanged": 3}
    assert ids(library)[str(folder / "file1.txt")] == before[str(folder / "file0.txt")]
    assert embedder.texts == made and len(library.documents()) == 4 and library.verify().ok


def test_a_new_file_under_the_name_of_one_that_moved_is_a_new_document(library: Library, folder: Path) -> None:
    library.sync(folder)
    before = ids(library)
    (folder / "file0.txt").rename(folder / "kept.txt")
    write(folder / "file0.txt", 99)
    library.sync(folder)
    after = ids(library)
    assert after[str(folder / "kept.txt")] == before[str(folder / "file0.txt")]
    assert after[str(folder / "file0.txt")] not in before.values() and len(after) == 6


def test_one_edited_paragraph_embeds_only_the_chunks_it_touched(
    library: Library, folder: Path, embedder: HashingEmbedder
) -> None:
    library.sync(folder)
    chunks, made = library.documents()[0].chunks, embedder.texts
    assert chunks >= 4
    write(folder / "file0.txt", 0, changed=3)
    assert counted(library, folder) == {"changed": 1, "unchanged": 4}
    assert 1 <= embedder.texts - made <= 2 < chunks


def test_documents_from_elsewhere_are_never_touched(library: Library, folder: Path, tmp_path: Path) -> None:
    beside = tmp_path / "documents-beside"
    beside.mkdir()
    write(beside / "other.txt", 50)
    library.add(beside)
    library.add_text("A text without a file.", filename="note.txt")
    library.add(folder / "file0.txt", collection="another")
    (beside / "other.txt").unlink()
    library.sync(folder)
    (folder / "file0.txt").unlink()
    assert counted(library, folder) == {"deleted": 1, "unchanged": 4}
    kept = {(document.filename, document.collection) for document in library.documents()}
    assert {("other.txt", "default"), ("note.txt", "default"), ("file0.txt", "another")} <= kept


def test_two_files_with_the_same_bytes(library: Library, folder: Path) -> None:
    shutil.copy(folder / "file0.txt", folder / "copy.txt")
    library.sync(folder)
    assert len(library.documents()) == 5
    primary = next(d for d in library.documents() if d.filename in ("file0.txt", "copy.txt"))
    Path(primary.source).unlink()
    assert counted(library, folder) == {"deleted": 1, "unchanged": 5}
    (left,) = [d for d in library.documents() if d.id == primary.id]
    assert left.filename == {"file0.txt": "copy.txt", "copy.txt": "file0.txt"}[primary.filename]


def test_two_files_with_the_same_bytes_that_both_change(library: Library, folder: Path) -> None:
    shutil.copy(folder / "file0.txt", folder / "copy.txt")
    library.sync(folder)
    write(folder / "file0.txt", 0, changed=1)
    write(folder / "copy.txt", 0, changed=2)
    library.sync(folder)
    texts = {library.text(document.id) for document in library.documents()}
    assert texts == {file.read_text() for file in folder.rglob("*.txt")} and len(library.documents()) == 6
    assert library.verify().ok


# ── what is not a deletion


def test_a_folder_that_is_missing_deletes_nothing(library: Library, folder: Path) -> None:
    library.sync(folder)
    folder.rename(folder.with_name("away"))
    with pytest.raises(SourceUnreadable):
        library.sync(folder)
    with pytest.raises(SourceUnreadable):
        library.sync(folder.with_name("away") / "file0.txt")
    assert len(library.documents()) == 5


def test_a_folder_that_is_empty_at_once_is_refused(library: Library, folder: Path) -> None:
    library.sync(folder)
    shutil.rmtree(folder)
    folder.mkdir()
    for dry_run in (True, False):
        with pytest.raises(SyncRefused):
            library.sync(folder, dry_run=dry_run)
    assert len(library.documents()) == 5
    assert counted(library, folder, delete_all=True) == {"deleted": 5}
    assert library.documents() == []
    assert counted(library, folder) == {}


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_kept(library: Library, folder: Path) -> None:
    library.sync(folder)
    (folder / "inner").chmod(0)
    try:
        assert library.sync(folder).counts["deleted"] == 0
    finally:
        (folder / "inner").chmod(0o755)


def test_what_cannot_be_listed_is_kept(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As above, for those who may read everything."""
    library.sync(folder)
    original = os.scandir

    def failing(path: Any) -> Any:
        if Path(path).name == "inner":
            raise PermissionError(13, "Permission denied")
        return original(path)

    monkeypatch.setattr(os, "scandir", failing)
    done = library.sync(folder)
    assert done.counts["deleted"] == 0 and done.counts["skipped"] == 2
    assert len(library.documents()) == 5


def test_a_file_that_is_ignored_now_keeps_its_document(library: Library, folder: Path) -> None:
    library.sync(folder)
    (folder / ".gitignore").write_text("file1.txt\ninner/\n")
    assert library.sync(folder).counts["deleted"] == 0
    assert len(library.documents()) == 5
    (folder / "file1.txt").unlink()
    assert library.sync(folder).counts["deleted"] == 1


def test_a_changed_file_that_cannot_be_parsed_keeps_what_was_served(library: Library, folder: Path) -> None:
    library.sync(folder)
    (folder / "file1.txt").write_bytes(b"")
    done = library.sync(folder)
    assert (done.counts["failed"], done.counts["deleted"]) == (1, 0)
    assert library.search("marker10", mode="lexical").hits


# ── looking


def settled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files written a moment ago count as at rest."""
    monkeypatch.setattr("footnotes.ingest.plan.SETTLING_NS", -(10**12))


def test_an_unchanged_file_is_not_read(library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settled(monkeypatch)
    library.sync(folder)
    monkeypatch.setattr("footnotes.ingest.sync.hash_file", lambda *_: pytest.fail("a file was read"))
    assert counted(library, folder) == {"unchanged": 5}


def test_an_edit_of_the_same_size_and_time_is_seen(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(monkeypatch)
    library.sync(folder)
    file, before = folder / "file1.txt", (folder / "file1.txt").stat()
    time.sleep(0.02)
    file.write_text(file.read_text().replace("marker10", "marker99"))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert counted(library, folder) == {"changed": 1, "unchanged": 4}


def test_a_file_written_a_moment_before_it_was_read_is_looked_at_again(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A clock of the disk may be coarse: an edit right after the sync may leave no other sign than the bytes."""
    library.sync(folder)
    seen: list[Path] = []

    def read(path: Path, most: int) -> tuple[str, int]:
        seen.append(path)
        return hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size

    monkeypatch.setattr("footnotes.ingest.sync.hash_file", read)
    library.sync(folder)
    assert len(seen) == 5


def test_what_failed_is_not_tried_again_until_it_changes(
    library: Library, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled(monkeypatch)
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 20)
    assert library.sync(folder).counts["failed"] == 1
    again = library.sync(folder)
    (file,) = [file for file in again.files if file.status == "failed"]
    assert file.warnings and file.error is not None and file.error.code == "unsupported_type"
    (folder / "picture.png").write_text("It is a text after all.")
    assert library.sync(folder).counts["added"] == 1


def test_a_file_that_failed_to_be_embedded_is_tried_again(
    library: Library, folder: Path, embedder: HashingEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from footnotes.errors import EmbedderUnavailable

    def failing(*_: Any, **__: Any) -> Any:
        raise EmbedderUnavailable("away")

    with monkeypatch.context() as patch:
        patch.setattr(embedder, "embed", failing)
        with suppress(EmbedderUnavailable):
            assert library.sync(folder).counts["added"] == 0
    done = library.sync(folder)
    assert done.counts["failed"] == 0 and {d.status for d in library.documents()} == {"ready"}
    assert counted(library, folder) == {"unchanged": 5}


def test_a_dry_run_changes_nothing(library: Library, folder: Path) -> None:
    assert counted(library, folder, dry_run=True) == {"added": 5}
    assert library.documents() == []
    library.sync(folder)
    (folder / "file0.txt").rename(folder / "renamed.txt")
    (folder / "file1.txt").unlink()
    write(folder / "file2.txt", 2, changed=0)
    before = ids(library)
    planned = library.sync(folder, dry_run=True)
    assert planned.dry_run and ids(library) == before
    assert planned.counts == library.sync(folder).counts


def test_a_document_that_was_deleted_comes_back_with_its_file(library: Library, folder: Path) -> None:
    library.sync(folder)
    library.delete(library.documents()[0].id)
    assert counted(library, folder) == {"added": 1, "unchanged": 4}


def test_another_chunker_is_followed(library: Library, folder: Path) -> None:
    library.sync(folder)
    assert counted(library, folder, chunker="window") == {"changed": 5}
    assert counted(library, folder, chunker="window") == {"unchanged": 5}


# ── archives in the folder


def test_members_of_an_archive_follow_it(library: Library, folder: Path, embedder: HashingEmbedder) -> None:
    def pack(**members: str) -> None:
        with zipfile.ZipFile(folder / "letters.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(f"{name}.txt", text)

    pack(may=words(900), june=words(901), july=words(902))
    assert counted(library, folder) == {"added": 8}
    assert counted(library, folder) == {"unchanged": 8}
    before, made = ids(library), embedder.texts
    pack(may=words(900), june=words(901) + " changed")
    assert counted(library, folder) == {"changed": 1, "deleted": 1, "unchanged": 6}
    (folder / "letters.zip").rename(folder / "mail.zip")
    made = embedder.texts
    library.sync(folder)
    after = ids(library)
    assert after[f"{folder}/mail.zip!/may.txt"] == before[f"{folder}/letters.zip!/may.txt"]
    assert embedder.texts == made
    (folder / "mail.zip").write_bytes(b"PK\x03\x04 broken")
    done = library.sync(folder)
    assert done.counts["failed"] == 1 and done.counts["deleted"] == 0
    (folder / "mail.zip").unlink()
    assert counted(library, folder) == {"deleted": 2, "unchanged": 5}
    assert len(library.documents()) == 5 and library.verify().ok
