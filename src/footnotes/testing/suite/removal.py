"""Promise F: after delete returns, never found and never cited; after compaction no byte of it anywhere."""

from __future__ import annotations

from pathlib import Path

from footnotes.library import Library
from footnotes.testing.suite.harness import StoreHarness

CANARY = "zebrafinchquagga"


def _filled(library: Library, folder: Path) -> str:
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
            document = _filled(library, tmp_path)
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
