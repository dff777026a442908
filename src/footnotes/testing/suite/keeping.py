"""Documents are added, read, replaced and removed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from footnotes.embed import Matrix
from footnotes.errors import EmbedderUnavailable, InvalidVector, NotFound
from footnotes.library import Library
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.strings import HANDBOOK, TRAVEL, long_text, numbered
from footnotes.types import Role


class Keeping:
    """Stored documents are returned unchanged, and deleted on request."""

    def test_a_document_comes_out_as_it_went_in(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            added = library.add_text(HANDBOOK, filename="handbook.md", metadata={"year": 2020, "tags": ["a", "b"]})
            assert added.status == "ready" and added.document_id
            text = library.text(added.document_id)
            (document,) = library.documents()
            assert document == library.document(added.document_id)
            assert document.status == "ready" and document.version == 1 and document.characters == len(text)
            assert document.metadata["year"] == 2020 and document.metadata["tags"] == ["a", "b"]
            chunks = library.chunks(added.document_id)
            assert len(chunks) == added.chunks == document.chunks
            assert all(text[chunk.start : chunk.end] == chunk.text for chunk in chunks)
            assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
            assert library.text(added.document_id, 3, 20) == text[3:20]
            assert library.verify().ok and library.verify().checked["chunks"] == len(chunks)

    def test_every_chunk_says_the_type_checksum_and_time_of_its_file(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            added = library.add_text(HANDBOOK, filename="handbook.md", metadata={"year": 2020})
            document = library.document(str(added.document_id))
            expected = {"mime": "text/markdown", "checksum": document.file_hash}
            entries = [chunk.metadata for chunk in library.chunks(document.id)]
            entries += [hit.metadata for hit in library.search("paid leave").hits]
            assert {document.created_at <= str(each["ingested_at"]) <= document.updated_at for each in entries} == {
                True
            }
            assert len(entries) > 1 and all(expected.items() <= dict(metadata).items() for metadata in entries), entries
            assert library.documents(where={"checksum": document.file_hash}) == [document]
            own = library.add_text(TRAVEL, filename="travel.md", metadata={"checksum": "of another tool"})
            (hit, *_) = library.search("travel", where={"filename": "travel.md"}).hits
            assert hit.document_id == own.document_id and hit.metadata["checksum"] == "of another tool"

    def test_many_texts_come_in_one_call(self, harness: StoreHarness) -> None:
        texts = [HANDBOOK, TRAVEL, "Herons nest in March.", "", "<html><body>Swifts come in May.</body></html>"]
        names = [f"{number}.txt" for number in range(len(texts))]
        with harness.open() as library:
            added = library.add_texts(
                texts,
                filenames=names,
                sources=[f"s{number}" for number in range(5)],
                metadata=[{"n": n} for n in range(5)],
            )
            assert [each.path for each in added] == ["s0", "s1", "s2", "s3", "s4"]
            assert [each.status for each in added] == ["ready", "ready", "ready", "failed", "ready"]
            assert library.text(str(added[0].document_id)) == HANDBOOK
            assert library.text(str(added[4].document_id)) == "Swifts come in May."
            (hit,) = library.search("herons", where={"n": 2}).hits
            assert hit.document_id == added[2].document_id and hit.filename == "2.txt"
            (again,) = library.add_texts(["Herons nest in April."], sources=["s2"])
            assert (again.status, again.document_id) == ("replaced", added[2].document_id)
            unnamed = library.add_texts(["Two alike.", "Two alike.", "Another one."])
            assert unnamed[0] == unnamed[1] and unnamed[2].document_id != unnamed[0].document_id
            assert library.verify().ok

    def test_what_is_kept_outlives_the_library_being_closed(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            added = library.add_text(HANDBOOK, filename="handbook.md")
            before = library.document(str(added.document_id)), library.chunks(str(added.document_id))
        with harness.open() as library:
            assert (library.document(str(added.document_id)), library.chunks(str(added.document_id))) == before
            assert library.search("paid leave").hits[0].document_id == added.document_id

    def test_the_same_source_again_is_the_next_version(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            first = library.add_text("The old zebra text.", filename="a.txt", source="s")
            second = library.add_text("A new giraffe text.", filename="a.txt", source="s")
            assert (second.status, second.document_id) == ("replaced", first.document_id)
            (document,) = library.documents()
            assert document.version == 2 and library.text(document.id) == "A new giraffe text."
            assert not library.search("zebra", mode="lexical").hits
            assert library.search("giraffe", mode="lexical").hits and library.verify().ok

    def test_content_that_comes_back_after_an_edit_is_a_document_of_its_own(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            first = library.add_text("The first text.", filename="a.txt", source="s")
            library.add_text("The second text.", filename="a.txt", source="s")
            again = library.add_text("The first text.", filename="a.txt", source="other")
            assert again.status == "ready" and again.document_id != first.document_id
            assert len(library.documents()) == 2 and library.verify().ok

    def test_the_same_bytes_are_one_document_with_two_sources(self, harness: StoreHarness) -> None:
        embedder = HashingEmbedder()
        with harness.open(embedder=embedder) as library:
            first = library.add_text(TRAVEL, filename="a.txt", source="one")
            done = embedder.texts
            second = library.add_text(TRAVEL, filename="b.txt", source="two", metadata={"seen": "twice"})
            assert (second.status, second.document_id) == ("deduplicated", first.document_id)
            assert embedder.texts == done
            assert library.documents(where="seen=twice")[0].id == first.document_id
            library.delete(source="two")
            assert library.documents() == []

    def test_documents_are_listed_in_the_order_they_came(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            names = [f"{number}.txt" for number in (3, 1, 2, 0)]
            for number, name in enumerate(names):
                library.add_text(numbered(number), filename=name)
            assert [document.filename for document in library.documents()] == names
            assert [document.filename for document in library.documents(limit=2, offset=1)] == names[1:3]

    def test_deleting_is_all_or_nothing(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            added = library.add_text(TRAVEL, filename="a.txt")
            with pytest.raises(NotFound):
                library.delete(str(added.document_id), "d0123456789abcdef")
            assert library.documents()
            assert library.delete(str(added.document_id)) == [added.document_id]
            assert not library.documents() and not library.search("train").hits
            for call in (library.document, library.text, library.chunks, library.delete):
                with pytest.raises(NotFound):
                    call(str(added.document_id))
            assert library.verify().ok

    def test_every_span_of_a_long_text_is_read_back_exactly(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            text = long_text(1_000)
            assert len(text) > 250_000
            document = str(library.add_text(text, filename="long.txt").document_id)
            assert library.text(document) == text
            for start in (0, 3_999, 4_000, 249_990, 250_001, len(text) - 10):
                for length in (1, 5_000):
                    assert library.text(document, start, start + length) == text[start : start + length]
            parts = list(library._store.documents.parts("local", document))
            assert "".join(part.text for part in parts) == text
            assert all(text[chunk.start : chunk.end] == chunk.text for chunk in library.chunks(document))
            assert library.verify().ok
            library.add_text("Short now.", filename="long.txt", source="text:long.txt")
            assert library.text(document) == "Short now." and library.verify().ok

    def test_documents_that_nearly_equal_each_other_are_told(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            text = " ".join(f"word{n * 7919 % 1009}" for n in range(400))
            first = library.add_text(text, filename="first.txt")
            second = library.add_text(f"{text} and a little more", filename="second.txt")
            assert second.near_duplicate_of and second.near_duplicate_of.document_id == first.document_id
            assert set(library.near_duplicates()) == {second.document_id}
            assert library.status()["near_duplicates"] == 1
            library.delete(str(first.document_id))
            assert library.near_duplicates() == {}

    def test_originals_are_kept_and_go_with_their_document(self, harness: StoreHarness, tmp_path: Path) -> None:
        file = tmp_path / "note.txt"
        file.write_text("The original of a note.")
        with harness.open(keep_originals=True) as library:
            (added,) = library.add(file)
            original = library.original(str(added.document_id))
            assert original.read_bytes() == file.read_bytes() and original.name != file.name
            assert library.verify().checked["originals"] == 1
            file.write_text("Another text in the same file.")
            library.add(file)
            assert library.original(str(added.document_id)).read_bytes() == file.read_bytes()
            assert not original.exists()
            library.delete(str(added.document_id))
            assert not list((harness.folder / "files").rglob("*")) and library.verify().ok

    def test_a_folder_is_followed(self, harness: StoreHarness, tmp_path: Path) -> None:
        folder = tmp_path / "documents"
        folder.mkdir()
        (folder / "first.txt").write_text(numbered(1))
        (folder / "second.txt").write_text(numbered(2))
        with harness.open() as library:
            assert library.sync(folder).counts["added"] == 2
            assert library.sync(folder).counts["unchanged"] == 2
            (folder / "first.txt").rename(folder / "quokka.txt")
            (folder / "second.txt").write_text(numbered(3))
            counts = library.sync(folder).counts
            assert counts["renamed"] == 1 and counts["changed"] == 1
            (hit,) = library.search("quokka", mode="lexical").hits
            assert hit.filename == "quokka.txt" and hit.title == "quokka"
            assert library.documents(where="filename=quokka.txt") and not library.documents(where="filename=first.txt")
            assert library.verify().ok
            (folder / "quokka.txt").unlink()
            assert library.sync(folder).counts["deleted"] == 1
            assert [Path(document.source).name for document in library.documents()] == ["second.txt"]
            assert library.verify().ok

    def test_collections_carry_choices(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.set_collection("notes", chunker="window", system_prompt="Be brief.")
            library.set_collection("notes", chunker_options={"size": 640})
            library.add_text(TRAVEL, filename="a.txt", collection="notes")
            (found,) = [row for row in library.collections() if row["name"] == "notes"]
            assert found["chunker"] == "window" and found["system_prompt"] == "Be brief." and found["documents"] == 1
            assert found["chunker_options"] == {"size": 640}


# Promise F: after delete returns, a document is never found or cited; after compaction no byte of it remains.


CANARY = "zebrafinchquagga"


def _fill(library: Library, folder: Path) -> str:
    for number in range(5):
        library.add_text(f"An ordinary text number {number} that stays.", filename=f"{number}.txt")
    file = folder / f"{CANARY}.md"
    file.write_text(f"# {CANARY} title\n\nThe {CANARY} lives here. " + "More words follow. " * 50)
    (added,) = library.add(file, metadata={"note": CANARY}, collection=CANARY)
    return str(added.document_id)


class Removal:
    """Rows, both legs, statistics, journal, stored files."""

    def test_nothing_is_left_after_delete_and_compaction(self, harness: StoreHarness, tmp_path: Path) -> None:
        with harness.open(keep_originals=True) as library:
            document = _fill(library, tmp_path)
            assert harness.residue(CANARY), "the canary must be there to begin with"
            library.delete(document)
            for mode in ("lexical", "dense", "hybrid"):
                assert all(CANARY not in hit.text for hit in library.search(CANARY, mode=mode).hits)
            assert not library.ask(f"Where does the {CANARY} live?").citations
            assert not library.documents(where={"note": CANARY})
        with harness.open() as library:
            # The name of a collection and the path of a run stay: they are not document text.
            library.compact(scrub=True)
            assert library.verify().ok
            assert library.search("ordinary").hits

    def test_nothing_is_left_of_a_replaced_version(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.add_text(f"The {CANARY} lives here.", filename="quiet.md", source="s", metadata={"note": CANARY})
            library.add_text("A quiet text that stays.", filename="quiet.md", source="s", metadata={"note": "none"})
            assert not library.search(CANARY, mode="lexical").hits
            library.compact(scrub=True)
        assert harness.residue(CANARY) == []

    def test_a_tenant_that_is_erased_leaves_nothing(self, harness: StoreHarness) -> None:
        with harness.open("stays") as library:
            library.add_text("Somebody else's text.", filename="other.txt")
        with harness.open("goes", keep_originals=True) as library:
            for number in range(3):
                text = f"The {CANARY} lives here, number {number}."
                library.add_text(text, filename=f"{number}.txt", source=f"{CANARY}{number}", keep_original=True)
            library.reindex(keep=True)
            assert harness.residue(CANARY)
            library.delete(*[document.id for document in library.documents()], compact=True, scrub=True)
        assert harness.residue(CANARY) == []
        with harness.open("stays") as library:
            assert library.search("somebody").hits and library.verify().ok


# ── work that fails, waits, is interrupted and is continued ───────────────────────────────────────────────────


class BrokenEmbedder(HashingEmbedder):
    """Works only when allowed to."""

    broken = True

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        if self.broken:
            raise EmbedderUnavailable("it is broken for a test")
        return super().embed(texts, role=role)


class Working:
    """Work that cannot be done now is reported, waits, and is done later."""

    def test_a_page_that_cannot_be_fetched_is_reported(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            (added,) = library.add("http://127.0.0.1:1/none.html")
            assert added.status == "failed" and added.error
            assert [job.stage for job in library.jobs() if job.run] == ["failed"]
            assert all(not job.holder for job in library.jobs())

    def test_a_file_that_cannot_be_read_stops_nobody(self, harness: StoreHarness, tmp_path: Path) -> None:
        (tmp_path / "empty.txt").write_text("")
        (tmp_path / "broken.pdf").write_bytes(b"%PDF-1.7 and nothing more")
        (tmp_path / "good.txt").write_text(TRAVEL)
        with harness.open() as library:
            added = {Path(item.path).name: item for item in library.add(tmp_path)}
            assert added["good.txt"].status == "ready"
            assert added["broken.pdf"].status == "failed" and added["broken.pdf"].error
            failed = [document for document in library.documents() if document.status == "failed"]
            assert [document.filename for document in failed] == ["broken.pdf"] and failed[0].error
            with pytest.raises(NotFound):
                library.text(failed[0].id)
            jobs = {Path(job.source).name: job.stage for job in library.jobs() if job.run}
            assert jobs == {"good.txt": "ready", "broken.pdf": "failed", "empty.txt": "failed"}
            assert all(not job.holder for job in library.jobs())
            (tmp_path / "broken.pdf").write_text("Not a PDF at all, but a text.")
            library.add(tmp_path / "broken.pdf")
            assert library.verify().ok

    def test_texts_are_found_while_their_vectors_wait(self, harness: StoreHarness) -> None:
        embedder = BrokenEmbedder()
        with harness.open(embedder=embedder) as library:
            added = library.add_text(TRAVEL, filename="a.txt")
            assert added.status == "failed" and added.error and added.error.code == "embedder_unavailable"
            (document,) = library.documents()
            assert document.status == "queued" and document.error and library.status()["waiting"] == 1
            assert library.search("train", mode="lexical").hits
        embedder.broken = False
        with harness.open(embedder=embedder) as library:
            library.resume()
            assert [document.status for document in library.documents()] == ["ready"]
            assert library.search("train", mode="dense").hits and library.verify().ok

    def test_nothing_is_embedded_twice(self, harness: StoreHarness) -> None:
        embedder = HashingEmbedder()
        with harness.open(embedder=embedder, chunker="window", chunker_options={"size": 200, "overlap": 0}) as library:
            paragraphs = [numbered(n, 30) for n in range(8)]
            library.add_text("\n\n".join(paragraphs), filename="a.txt", source="s")
            before = embedder.texts
            library.add_text("\n\n".join(paragraphs), filename="a.txt", collection="other", source="o")
            assert embedder.texts == before
            before = embedder.texts
            library.add_text("\n\n".join([*paragraphs, numbered(99, 30)]), filename="a.txt", source="s")
            assert embedder.texts - before <= 3
            assert library.verify().ok

    def test_vectors_that_are_none_are_refused(self, harness: StoreHarness) -> None:
        class Wrong(HashingEmbedder):
            def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
                return np.full((len(texts), self.dimensions), np.nan, dtype=np.float32)

        with harness.open(embedder=Wrong()) as library:
            added = library.add_text(TRAVEL, filename="a.txt")
            assert added.error is not None and added.error.code == InvalidVector.code
            assert library.status()["waiting"] == 1 and library.search("train").degraded
