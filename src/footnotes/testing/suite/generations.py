"""Generations: built beside the current one, switched to in one step, rolled back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from footnotes.errors import DimensionMismatch, NotFound, ReindexRefused
from footnotes.testing.embedder import HashingEmbedder
from footnotes.testing.suite.harness import StoreHarness
from footnotes.testing.suite.strings import HANDBOOK, numbered


class Generations:
    """Searches never see a mixture, and a kept generation can be restored."""

    def test_a_library_is_indexed_anew_and_back_again(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number in range(3):
                library.add_text(numbered(number, 200), filename=f"{number}.txt")
            before = {document.id: library.chunks(document.id) for document in library.documents()}
            done = library.reindex(chunker="window", chunker_options={"size": 300, "overlap": 0}, keep=True)
            assert done["documents"] == 3 and library.status()["generation"] == done["generation"]
            assert all(len(library.chunks(document)) != len(chunks) for document, chunks in before.items())
            assert library.search("marker1").hits[0].filename == "1.txt" and library.verify().ok
            library.add_text(numbered(7), filename="7.txt")
            library.rollback()
            after = {document: library.chunks(document) for document in before}
            assert after == before and library.search("marker7").hits[0].filename == "7.txt"
            assert library.verify().ok
            with pytest.raises(NotFound):
                library.reindex()
                library.rollback()

    def test_generations_of_other_dimensions_live_side_by_side(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.add_text(HANDBOOK, filename="handbook.md")
            before = library.search("paid leave", mode="dense").hits[0].text
            library.reindex(embedder="hashing:32", keep=True)
            assert library.status()["dimensions"] == 32 and library.verify().ok
        with harness.open(embedder=HashingEmbedder(dimensions=32)) as library:
            assert library.search("paid leave", mode="dense").hits[0].text == before
            library.rollback()
            assert library.status()["dimensions"] == 64 and library.verify().ok

    @pytest.mark.parametrize("dimensions, max_tokens", [(32, 256), (64, 100)])
    def test_no_way_in_takes_vectors_of_another_model(
        self, harness: StoreHarness, tmp_path: Path, dimensions: int, max_tokens: int
    ) -> None:
        with harness.open("elsewhere") as library:
            library.add_text("Cats sleep for most of the day.", filename="cats.txt")
            library.export(tmp_path / "cats.jsonl")
        (tmp_path / "records.json").write_text('[{"text": "Dogs bark at night.", "id": "1"}]')
        with harness.open() as library:
            library.add_text(HANDBOOK, filename="handbook.md")
        other = HashingEmbedder(dimensions=dimensions, max_tokens=max_tokens)
        with harness.open(embedder=other) as library:
            for way_in in (
                lambda: library.import_(tmp_path / "cats.jsonl"),
                lambda: library.import_from(f"json:{tmp_path / 'records.json'}"),
                lambda: library.add_text("Birds sing.", filename="birds.txt"),
            ):
                with pytest.raises(DimensionMismatch) as refusal:
                    way_in()
                assert "hashing:64" in refusal.value.message and other.name in refusal.value.message
            assert [document.filename for document in library.documents()] == ["handbook.md"]
        with harness.open() as library:
            assert library.import_(tmp_path / "cats.jsonl").added == 1
            assert library.search("cats").hits and library.verify().ok

    def test_nothing_is_embedded_again_where_the_text_stays(self, harness: StoreHarness) -> None:
        embedder = HashingEmbedder()
        with harness.open(embedder=embedder) as library:
            library.add_text(HANDBOOK, filename="handbook.md")
            done = embedder.texts
            assert library.reindex()["embedded"] == 0 and embedder.texts == done

    def test_a_gate_may_refuse(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            library.add_text(HANDBOOK, filename="handbook.md")
            serving = library.status()["generation"]
            seen: list[int] = []

            def gate(generation: int) -> dict[str, object]:
                seen.append(len(library.at_generation(generation).search("leave", limit=50).hits))
                raise ReindexRefused("not good enough")

            with pytest.raises(ReindexRefused):
                library.reindex(chunker="window", gate=gate)
            assert seen == [1] and library.status()["generation"] == serving
            assert library.search("leave").hits and library.verify().ok

    def test_documents_that_come_meanwhile_are_in_both(self, harness: StoreHarness) -> None:
        with harness.open() as library:
            for number in range(5):
                library.add_text(numbered(number, 100), filename=f"{number}.txt")
            failures: list[BaseException] = []

            def add() -> None:
                with harness.open() as other:
                    for number in range(5, 11):
                        try:
                            added = other.add_text(numbered(number, 100), filename=f"{number}.txt")
                            if added.status == "failed":
                                other.add_text(numbered(number, 100), filename=f"{number}.txt")
                        except Exception as error:
                            failures.append(error)

            adding = threading.Thread(target=add)
            adding.start()
            for _ in range(3):
                library.reindex()
            adding.join()
            assert not failures
            assert {document.filename for document in library.documents()} == {f"{n}.txt" for n in range(11)}
            for number in range(11):
                assert library.search(f"marker{number}", mode="lexical").hits[0].filename == f"{number}.txt"
            assert library.verify().ok
