"""A library moves from store to store and back, and is the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import CopyMismatch, CopyTargetInUse
from footnotes.ingest.copying import copy_between
from footnotes.ingest.work import Progress, quiet
from footnotes.library import Library
from footnotes.settings import load
from footnotes.store.conversations import NewTurn, TurnUpdate
from postgres import PostgresServer

LONG = "\n\n".join(f"Paragraph {n} speaks of harbours, ledgers and the number {n * 37}." for n in range(4_200))


def filled(folder: Path) -> Library:
    texts = folder.parent / "texts"
    texts.mkdir()
    (texts / "a.md").write_text("# One\n\nThe amber lantern hangs in the harbour.\n\n## Two\n\nIt is lit at dusk.\n")
    (texts / "same.md").write_text("# One\n\nThe amber lantern hangs in the harbour.\n\n## Two\n\nIt is lit at dusk.\n")
    (texts / "b.csv").write_text("name,price\npear,3\nplum,4\n")
    (texts / "long.txt").write_text(LONG)
    (texts / "odd.txt").write_text("Ünïcode — 日本語の文書 — emoji 👩‍👩‍👧 and 'quotes' \\ backslashes.")
    (texts / "broken.pdf").write_bytes(b"%PDF-1.7 not really")
    library = Library(folder, settings=load(folder, embedder="hashing", keep_originals=True))
    library.add(texts, metadata={"year": 2026, "tags": ["a", "b"]})
    library.set_collection("default", system_prompt="Answer briefly.")
    library.reindex(chunker="sentence", keep=True)
    document = library.documents()[0]
    library.conversations.ask("local", "talk", NewTurn("Where is the lantern?", {}, "h", most=9), begins=True)
    end = TurnUpdate("done", "In the harbour.", {"citations": []}, None, [document.id])
    library.conversations.update("local", ("talk", 1), end, holder="h")
    library.conversations.rate("local", "talk", 1, "up", "right")
    return library


def settings_for(store: str, folder: Path) -> object:
    return load(folder, embedder="hashing", store=store, library=str(folder))


def test_to_postgresql_and_back(postgres: PostgresServer, tmp_path: Path) -> None:
    here = tmp_path / "here"
    with filled(here) as library:
        before = {document.id: document for document in library.documents()}
        talks = list(library._store.copy_side("local").conversations())
        assert talks and talks[0][1][0].rating == "up" and talks[0][2] == [[library.documents()[0].id]]
        found = library.search("amber lantern at dusk").hits
    there = settings_for(postgres.fresh(), tmp_path / "machine")
    done = copy_between(settings_for("", here), there, on_progress=quiet)  # type: ignore[arg-type]
    assert (done.documents, done.generations, done.originals) == (5, 2, 4)
    with Library(tmp_path / "machine", settings=there) as moved:  # type: ignore[arg-type]
        assert {document.id: document for document in moved.documents()} == before
        assert [hit.chunk_id for hit in moved.search("amber lantern at dusk").hits][:2] == [
            hit.chunk_id for hit in found
        ][:2]
        assert not moved.verify().problems
        long = next(document for document in before.values() if document.filename == "long.txt")
        assert moved.text(long.id) == LONG
        moved.rollback()
    back = settings_for("", tmp_path / "back")
    again = copy_between(there, back, on_progress=quiet)  # type: ignore[arg-type]
    assert again.documents == 5
    with Library(tmp_path / "back", settings=back) as returned:  # type: ignore[arg-type]
        assert {document.id for document in returned.documents()} == set(before)
        assert list(returned._store.copy_side("local").conversations()) == talks
        assert not returned.verify().problems
        assert returned.collections()[0]["system_prompt"] == "Answer briefly."


def test_a_copy_that_was_cut_off_goes_on(postgres: PostgresServer, tmp_path: Path) -> None:
    here = tmp_path / "here"
    filled(here).close()
    there = settings_for(postgres.fresh(), tmp_path / "machine")

    def cut(progress: Progress) -> None:
        if progress.done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_between(settings_for("", here), there, on_progress=cut)  # type: ignore[arg-type]
    done = copy_between(settings_for("", here), there, on_progress=quiet)  # type: ignore[arg-type]
    assert (done.documents, done.already_there) == (2, 3)


def test_a_library_in_use_is_not_written_over(postgres: PostgresServer, tmp_path: Path) -> None:
    here = tmp_path / "here"
    filled(here).close()
    there = settings_for(postgres.fresh(), tmp_path / "machine")
    with Library(tmp_path / "machine", settings=there) as other:  # type: ignore[arg-type]
        other.add_text("Something of its own.", filename="own.txt")
    with pytest.raises(CopyTargetInUse):
        copy_between(settings_for("", here), there, on_progress=quiet)  # type: ignore[arg-type]


def test_a_difference_is_noticed(postgres: PostgresServer, tmp_path: Path) -> None:
    here = tmp_path / "here"
    filled(here).close()
    address = postgres.fresh()
    there = settings_for(address, tmp_path / "machine")
    copy_between(settings_for("", here), there, on_progress=quiet)  # type: ignore[arg-type]
    postgres.execute("UPDATE documents SET content = replace(content, 'amber', 'ember')", address=address)
    with pytest.raises(CopyMismatch):
        copy_between(settings_for("", here), there, on_progress=quiet)  # type: ignore[arg-type]
