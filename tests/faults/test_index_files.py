"""Files of an index that are not its own, that panic, or that the system does not let us open."""

from __future__ import annotations

import json
import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError
from footnotes.index import IndexDamaged, IndexUnreadable, damage_told_apart, manifest
from footnotes.index.lexical import segment_files
from footnotes.index.lexical_reader import LexicalReader
from footnotes.library import Library
from libraries import quick_library


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two documents, each in a segment of its own."""
    with quick_library(tmp_path / "library") as library:
        library.add_text("the walrus swims", filename="a.txt", source="a")
        library.add_text("the otter dives", filename="b.txt", source="b")
    return tmp_path / "library"


def lexical_of(folder: Path) -> Path:
    return next(folder.glob("index/*/*/lexical"))


def test_segments_that_were_swapped_are_noticed(folder: Path) -> None:
    lexical = lexical_of(folder)
    for part in (".term", ".idx", ".fast", ".fieldnorm"):
        one, other = sorted(lexical.glob(f"*{part}"))
        first, second = one.read_bytes(), other.read_bytes()
        one.write_bytes(second)
        other.write_bytes(first)
        with quick_library(folder) as library:
            found = library.search("walrus", mode="lexical")
            assert [hit.filename for hit in found.hits] == ["a.txt"] and not found.degraded
            noted = library.verify().repaired
        assert any("checksum" in note for note in noted) or first == second, f"{part} was swapped unseen"
        with quick_library(folder) as library:  # two segments again, for the next kind
            for name, text in (("a", "the walrus swims"), ("b", "the otter dives")):
                library.delete(next(d.id for d in library.documents() if d.source == name))
                library.add_text(text, filename=f"{name}.txt", source=name)


def test_swapped_segments_would_pass_tantivys_own_checksums(folder: Path) -> None:
    """The positive control: without the manifest's list the same swap is not noticed."""
    lexical = lexical_of(folder)
    content = manifest.read(lexical)
    assert content is not None and set(content.pop("files")) == set(segment_files(lexical))
    manifest.write(lexical, content)
    one, other = sorted(lexical.glob("*.fast"))
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    with quick_library(folder) as library:
        assert [hit.filename for hit in library.search("walrus", mode="lexical").hits] == ["b.txt"]


def test_an_index_that_panics_fails_its_leg_and_is_rebuilt(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The panic is tantivy's own: it does not expect to be asked for nothing."""
    run = LexicalReader._run
    with quick_library(folder) as library:
        assert library.search("walrus", mode="lexical").hits
        monkeypatch.setattr(LexicalReader, "_run", lambda index, query, _: run(index, query, 0))
        found = library.search("walrus")
        assert found.degraded and found.legs["lexical"].status == "failed" and found.legs["dense"].status == "ok"
        assert "greater than 0" in found.legs["lexical"].reason
        monkeypatch.undo()
        found = library.search("walrus")
        assert not found.degraded and found.hits[0].filename == "a.txt"
        assert any("cannot search" in note for note in library.verify().repaired)


def test_no_descriptors_left_is_no_damage(folder: Path) -> None:
    before = _contents(folder)
    with quick_library(folder) as library:
        assert library.documents()
        with no_descriptors(), pytest.raises(FootnotesError, match="Too many open files"):
            library.search("walrus", mode="lexical")
        assert _contents(folder) == before, "an index that could not be opened was thrown away"
        found = library.search("walrus")
        assert found.hits[0].filename == "a.txt" and not found.degraded
        assert not library.verify().repaired


@pytest.mark.parametrize("action", ["reindex", "compact", "add"])
def test_few_descriptors_left_is_an_error_with_a_code(folder: Path, action: str) -> None:
    """However far the work comes, what stops it is an error of the tree, and nothing is lost."""
    refused = 0
    with quick_library(folder) as library:
        steps = {"reindex": library.reindex, "compact": library.compact, "add": lambda: _add_and_delete(library)}
        steps[action]()
        for left in range(12):
            with no_descriptors(left=left):
                try:
                    steps[action]()
                except FootnotesError:
                    refused += 1
        steps[action]()
        assert library.verify().ok
        assert library.search("walrus").hits[0].filename == "a.txt"
    assert refused


def _add_and_delete(library: Library) -> None:
    added = library.add_text("the badger digs", filename="c.txt", source=f"c{len(library.documents())}")
    library.delete(str(added.document_id))


@pytest.mark.parametrize("number", [24, 13, 12, 5])
def test_errors_of_the_system_are_no_damage(number: int) -> None:
    with pytest.raises(IndexUnreadable), damage_told_apart("x"):
        raise OSError(number, os.strerror(number))
    with pytest.raises(IndexUnreadable), damage_told_apart("x"):
        raise ValueError(f"IoError(Custom {{ kind: Other, error: Os {{ code: {number} }} }})")
    with pytest.raises(IndexDamaged), damage_told_apart("x"):
        raise ValueError("FileAlreadyExists")


def _contents(folder: Path) -> dict[str, tuple[int, bytes]]:
    files = [path for path in (folder / "index").rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path): (path.stat().st_ino, path.read_bytes()) for path in files}


@contextmanager
def no_descriptors(*, left: int = 0) -> Iterator[None]:
    """No file can be opened, except those that are open and so many that are left."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    taken = [os.open("/dev/null", os.O_RDONLY) for _ in range(left + 1)]
    resource.setrlimit(
        resource.RLIMIT_NOFILE, (max(int(path.name) for path in Path("/proc/self/fd").iterdir()) + 1, hard)
    )
    try:
        while True:
            taken.append(os.open("/dev/null", os.O_RDONLY))
    except OSError:
        pass
    for _ in range(left):
        os.close(taken.pop())
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for file in taken:
            os.close(file)


def test_the_manifest_names_every_file(folder: Path) -> None:
    lexical = lexical_of(folder)
    content = manifest.read(lexical)
    assert content is not None
    assert content["files"] == {name: manifest.crc_of(lexical / name) for name in segment_files(lexical)}
    assert json.loads((lexical / "meta.json").read_text())["segments"]
