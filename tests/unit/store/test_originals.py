"""Originals: kept under no name of theirs, gone with their document, and nothing else in their folder."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import NotFound
from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library, write

CANARY = "zebrafinchquagga"


def kept(library: Library) -> list[Path]:
    return sorted(path for path in (library.folder / "files").rglob("*") if path.is_file())


@pytest.fixture
def keeping(tmp_path: Path) -> Any:
    with quick_library(tmp_path / "library", keep_originals=True) as library:
        yield library


def test_an_original_is_kept_for_its_owner_alone_and_under_no_name(keeping: Library, tmp_path: Path) -> None:
    documents = write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL)
    for added in keeping.add(documents):
        assert keeping.original(str(added.document_id)).read_bytes() == Path(added.path).read_bytes()
    assert len(kept(keeping)) == 2
    for path in kept(keeping):
        tenant, day, name = path.relative_to(keeping.folder / "files").parts
        assert len(tenant) == 16 and len(day) == 10 and len(name) == 36 and "." not in name
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert all(stat.S_IMODE(path.parents[level].stat().st_mode) == 0o700 for level in (0,))
    assert keeping.verify().ok and keeping.verify().checked["originals"] == 2


def test_a_local_library_keeps_none_unless_told(library: Library, tmp_path: Path) -> None:
    (added,) = library.add(write(tmp_path / "documents", handbook_md=HANDBOOK))
    assert not (library.folder / "files").exists()
    with pytest.raises(NotFound):
        library.original(str(added.document_id))


def test_what_is_uploaded_can_always_be_kept(library: Library) -> None:
    added = library.add_text(b"Some bytes.", filename="../../etc/name.txt", keep_original=True)
    assert library.original(str(added.document_id)).read_bytes() == b"Some bytes."
    (path,) = kept(library)
    assert "name" not in str(path.relative_to(library.folder))
    library.add_text("Some bytes.", filename="name.txt", keep_original=True)
    assert kept(library) == [path], "the same bytes are kept once"


def test_an_original_goes_with_its_version_and_its_document(keeping: Library, tmp_path: Path) -> None:
    file = tmp_path / "note.txt"
    file.write_text(f"The {CANARY} lives here.")
    (added,) = keeping.add(file)
    file.write_text("Nothing of the kind.")
    keeping.add(file)
    assert keeping.original(str(added.document_id)).read_text() == "Nothing of the kind."
    assert len(kept(keeping)) == 1
    keeping.delete(str(added.document_id), compact=True)
    assert not (keeping.folder / "files").exists()
    keeping.close()
    left = [path for path in keeping.folder.rglob("*") if path.is_file() and CANARY.encode() in path.read_bytes()]
    assert left == []


def test_members_of_archives_and_files_of_a_sync_are_kept_too(keeping: Library, tmp_path: Path) -> None:
    import zipfile

    folder = write(tmp_path / "documents", handbook_md=HANDBOOK)
    with zipfile.ZipFile(folder / "docs.zip", "w") as archive:
        archive.writestr("travel.txt", TRAVEL)
    keeping.sync(folder)
    texts = {document.filename: keeping.original(document.id).read_text() for document in keeping.documents()}
    assert texts == {"handbook.md": HANDBOOK, "travel.txt": TRAVEL}
    (folder / "docs.zip").unlink()
    keeping.sync(folder)
    assert len(kept(keeping)) == 1


def test_a_missing_damaged_or_stray_file_is_noticed(keeping: Library, tmp_path: Path) -> None:
    keeping.add(write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL))
    first, second = kept(keeping)
    stray = first.parent / "stray"
    stray.write_text("What is this?")
    (problem,) = keeping.verify().problems
    assert problem.mendable and "belongs to no document" in problem.what
    assert keeping.verify(repair=True).ok and not stray.exists()
    first.unlink()
    second.write_text("Something else.")
    problems = [problem.what for problem in keeping.verify().problems]
    assert len(problems) == 2 and "cannot be read" in " ".join(problems) and "hash" in " ".join(problems)


@pytest.mark.parametrize("moment", ["before", "copied", "attached"])
def test_a_kill_while_keeping_leaves_no_stray_file(tmp_path: Path, moment: str) -> None:
    code = """
import os, signal, sys, footnotes
from footnotes.store import files, originals
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
moment = sys.argv[3]
copied = files._copy
def copy_and_die(*args):
    copied(*args)
    die()
if moment == "before":
    files._copy = die
elif moment == "copied":
    files._copy = copy_and_die
else:
    originals.Originals.sweep = die
with footnotes.open(sys.argv[1], embedder="hashing", keep_originals=True) as library:
    library.add(sys.argv[2])
"""
    file = tmp_path / "note.txt"
    file.write_text(f"The {CANARY} lives here.")
    died = subprocess.run([sys.executable, "-c", code, str(tmp_path / "library"), str(file), moment], check=False)
    assert died.returncode == -9
    with quick_library(tmp_path / "library", keep_originals=True) as library:
        assert library.verify().ok
        (added,) = library.add(file)
        assert library.original(str(added.document_id)).read_bytes() == file.read_bytes()
        assert len(kept(library)) == 1 and library.verify().ok


def test_a_full_disk_is_said(keeping: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from footnotes.errors import StoreFull

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    documents = write(tmp_path / "documents", handbook_md=HANDBOOK)
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(StoreFull):
            keeping.add(documents)
    assert kept(keeping) == []
    (added,) = keeping.add(documents)
    assert keeping.original(str(added.document_id)).read_text() == HANDBOOK
