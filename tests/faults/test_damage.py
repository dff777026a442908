"""Promise C: any one damaged file is detected; indexes are rebuilt without embedding; the truth is never guessed."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from footnotes.errors import FootnotesError, SchemaTooNew, StoreCorrupt, StoreError
from footnotes.library import Library
from libraries import quick_library, words

DATABASE = "footnotes.db"
DOCUMENTS = 240


@pytest.fixture(scope="module", autouse=True)
def graphs_of_few() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("footnotes.index.dense.SCANNED_ROWS", 2_000)
        yield


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory, graphs_of_few: None) -> Path:
    """A library large enough to have a graph."""
    folder = tmp_path_factory.mktemp("pristine") / "library"
    with quick_library(folder, chunker="window", chunker_options={"size": 100, "overlap": 20}) as library:
        texts = tmp_path_factory.mktemp("texts")
        for number in range(DOCUMENTS):
            (texts / f"{number}.txt").write_text(words(number, 130))
        library.add(texts)
        library.settle()
        library._store.database.checkpoint()
    assert list(folder.rglob("*.usearch")), "there must be a graph to damage"
    return folder


def truncate(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randrange(len(content))]


def zero_a_page(content: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(max(len(content) - 4096, 1))
    return content[:at] + bytes(min(4096, len(content) - at)) + content[at + 4096 :]


def flip_bits(content: bytes, rng: random.Random) -> bytes:
    changed = bytearray(content)
    for _ in range(8):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def swap_for_rubbish(content: bytes, rng: random.Random) -> bytes:
    return rng.randbytes(len(content))


DAMAGES: list[Callable[[bytes, random.Random], bytes]] = [truncate, zero_a_page, flip_bits, swap_for_rubbish]


def changed(damage: Callable[[bytes, random.Random], bytes], content: bytes, rng: random.Random) -> bytes:
    """Damage until a byte differs: norms of fields that no chunk has are pages of zeros already."""
    while (damaged := damage(content, rng)) == content:
        pass
    return damaged


def index_files(folder: Path) -> list[Path]:
    return [
        p for p in sorted((folder / "index").rglob("*")) if p.is_file() and p.stat().st_size and "lock" not in p.name
    ]


def one_of_each_kind(folder: Path) -> list[Path]:
    """The largest file of every kind: segments differ in nothing but size."""
    kinds: dict[str, Path] = {}
    for path in sorted(index_files(folder), key=lambda path: path.stat().st_size):
        kinds[path.suffix if path.suffix != ".json" else str(path.relative_to(folder))] = path.relative_to(folder)
    return list(kinds.values())


def check(library: Library) -> None:
    """Found by words and by meaning, as if nothing had happened."""
    for number in (0, 17, DOCUMENTS - 1):
        assert library.search(f"marker{number}", mode="lexical").hits[0].filename == f"{number}.txt"
        assert not library.search(f"marker{number}").degraded
    assert len(library.search("marker3 word5", mode="dense").hits) == 10
    assert library.verify().ok


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_index_file_is_rebuilt_without_embedding(
    pristine: Path, tmp_path: Path, damage: Callable[[bytes, random.Random], bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(damage.__name__)
    for name in one_of_each_kind(pristine):
        folder = tmp_path / "library"
        shutil.copytree(pristine, folder)
        path = folder / name
        before = path.read_bytes()
        path.write_bytes(changed(damage, before, rng))
        with quick_library(folder) as library:
            embedder = library.embedder()
            monkeypatch.setattr(type(embedder), "embed", _queries_only(type(embedder).embed))
            check(library)
            monkeypatch.undo()
            notes = library.verify().repaired
        if path.name.endswith((".vectors", ".keys", ".usearch", ".term", ".idx", ".fast", ".fieldnorm")):
            assert notes, f"{name}: damage was not noticed"
        shutil.rmtree(folder)


def _queries_only(original: Callable[..., object]) -> Callable[..., object]:
    def embed(self: object, texts: list[str], *, role: str) -> object:
        assert role == "query", "a rebuild must not embed"
        return original(self, texts, role=role)

    return embed


def test_missing_index_files(pristine: Path, tmp_path: Path) -> None:
    for name in one_of_each_kind(pristine):
        folder = tmp_path / "library"
        shutil.copytree(pristine, folder)
        (folder / name).unlink()
        with quick_library(folder) as library:
            check(library)
        shutil.rmtree(folder)
    folder = tmp_path / "bare"
    shutil.copytree(pristine, folder)
    shutil.rmtree(folder / "index")
    with quick_library(folder) as library:
        check(library)


def test_a_stale_index_catches_up(pristine: Path, tmp_path: Path) -> None:
    folder, old = tmp_path / "library", tmp_path / "old"
    shutil.copytree(pristine, folder)
    shutil.copytree(folder / "index", old)
    with quick_library(folder) as library:
        library.delete(next(d.id for d in library.documents() if d.filename == "5.txt"))
        library.add_text("A newcomer called marker9999.", filename="new.txt")
    shutil.rmtree(folder / "index")
    shutil.copytree(old, folder / "index")
    with quick_library(folder) as library:
        assert library.search("marker9999").hits[0].filename == "new.txt"
        assert all(hit.filename != "5.txt" for hit in library.search("marker5").hits)
        assert library.verify().ok


def test_an_index_of_another_library_is_not_believed(pristine: Path, tmp_path: Path) -> None:
    folder, other = tmp_path / "library", tmp_path / "other"
    with quick_library(other) as library:
        library.add_text("foreign secret", filename="foreign.txt")
    shutil.copytree(pristine, folder)
    shutil.rmtree(folder / "index")
    shutil.copytree(other / "index", folder / "index")
    with quick_library(folder) as library:
        check(library)
        assert all("foreign" not in hit.text for hit in library.search("foreign secret").hits)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_damaged_database_is_said_to_be_damaged(
    pristine: Path, tmp_path: Path, damage: Callable[[bytes, random.Random], bytes]
) -> None:
    """Every page carries a checksum: whatever is read is right, or an error says that it is not."""
    rng = random.Random(damage.__name__)
    noticed = 0
    for trial in range(6):
        folder = tmp_path / f"library{trial}"
        shutil.copytree(pristine, folder)
        path = folder / DATABASE
        path.write_bytes(damage(path.read_bytes(), rng))
        try:
            with quick_library(folder) as library:
                for document in library.documents():
                    assert library.text(document.id).strip() == words(int(document.filename[:-4]), 130)
                for number in range(0, DOCUMENTS, 13):
                    assert f"marker{number}" in library.search(f"marker{number}", mode="lexical").hits[0].text
                noticed += not library.verify().ok
        except FootnotesError as error:
            assert isinstance(error, StoreError) or "store_corrupt" in error.message, error
            noticed += 1
    assert noticed >= 4, "damage to a page that nothing uses is the only one that may go unnoticed"


def test_without_page_checksums_damage_would_pass(pristine: Path, tmp_path: Path) -> None:
    """The positive control: a flipped letter inside a text is seen by the checksum layer alone."""
    import apsw

    folder = tmp_path / "library"
    shutil.copytree(pristine, folder)
    path = folder / DATABASE
    content = bytearray(path.read_bytes())
    at = content.index(b"marker42 ")
    content[at] ^= 1
    path.write_bytes(bytes(content))
    plain = apsw.Connection(str(path), vfs="unix")
    assert any("larker42" in row[0] for row in plain.execute("SELECT content FROM texts")), "unseen without checksums"
    plain.close()
    with pytest.raises(StoreCorrupt), quick_library(folder) as library:
        document = next(d for d in library.documents() if d.filename == "42.txt")
        library.text(document.id)


def test_a_library_of_a_newer_version_is_refused_untouched(pristine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "library"
    shutil.copytree(pristine, folder)
    with quick_library(folder) as library:
        library._store.database.writer.execute("PRAGMA user_version = 999")  # type: ignore[attr-defined]
    before = (folder / DATABASE).read_bytes()
    with pytest.raises(SchemaTooNew):
        quick_library(folder)
    assert (folder / DATABASE).read_bytes() == before


def test_a_database_of_another_program_is_refused(tmp_path: Path) -> None:
    import apsw

    tmp_path.joinpath("library").mkdir()
    foreign = apsw.Connection(str(tmp_path / "library" / DATABASE), vfs="unix")
    foreign.execute("PRAGMA application_id = 12345; CREATE TABLE t (a)")
    foreign.close()
    with pytest.raises(StoreCorrupt):
        quick_library(tmp_path / "library")


def test_vectors_of_a_wrong_length_are_removed_by_repair_and_stop_no_reader(tmp_path: Path) -> None:
    """An import by an earlier release could store vectors of another model beside those of the library."""
    with quick_library(tmp_path / "library") as library:
        library.add_text("Cats sleep for most of the day.", filename="cats.txt")
        library.add_text("Dogs bark at night.", filename="dogs.txt")
        with library._store.database.transaction() as connection:
            connection.execute("UPDATE embeddings SET vector = zeroblob(20) WHERE rowid = 1")
            connection.execute("UPDATE documents SET status = 'indexing'")
    shutil.rmtree(tmp_path / "library" / "index")
    with quick_library(tmp_path / "library") as library:
        assert len(library.documents()) == 2
        assert library.search("bark at night", mode="lexical").hits
        assert not library.verify().ok
        mended = library.verify(repair=True)
        assert mended.ok and any("wrong length" in note for note in mended.repaired)
        library.resume()
        assert library.verify().ok and {d.status for d in library.documents()} == {"ready"}
        assert library.search("cats sleep", mode="dense").hits[0].filename == "cats.txt"
