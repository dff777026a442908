from __future__ import annotations

import asyncio
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import footnotes
from footnotes.errors import DimensionMismatch, NotALibrary, NotFound, OptionError, QueryEmpty, QueryTooLong
from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library, write


def statuses(results: list) -> list[str]:
    return [result.status for result in results]


def test_added_documents_are_found_with_exact_spans(filled: Library) -> None:
    result = filled.search("how many days of paid leave")
    best = result.hits[0]
    assert best.filename == "handbook.md"
    assert filled.text(best.document_id, best.start, best.end) == best.text
    assert not result.degraded
    assert {leg.status for leg in result.legs.values()} == {"ok"}


def test_every_hit_says_where_each_leg_ranked_it(filled: Library) -> None:
    hit = filled.search("hotel costs a night").hits[0]
    assert hit.filename == "travel.txt"
    assert hit.scores.lexical is not None and hit.scores.lexical.rank == 1
    assert hit.scores.dense is not None and hit.scores.dense.score > 0
    assert hit.score == hit.scores.fused


def test_same_bytes_again_are_deduplicated_and_nothing_is_embedded(
    filled: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(type(filled.embedder()), "embed", lambda *_, **__: pytest.fail("embedded again"))
    assert statuses(filled.add(tmp_path / "documents")) == ["deduplicated", "deduplicated"]


def test_same_bytes_again_take_over_new_metadata(filled: Library, tmp_path: Path) -> None:
    filled.add(tmp_path / "documents", metadata={"team": "people"})
    assert all(document.metadata["team"] == "people" for document in filled.documents())
    assert len(filled.search("leave", where="team=people").hits) == 2
    assert not filled.search("leave", where="team=other").hits


def test_a_changed_file_replaces_its_document_under_the_same_id(filled: Library, tmp_path: Path) -> None:
    before = next(d for d in filled.documents() if d.filename == "travel.txt")
    (tmp_path / "documents" / "travel.txt").write_text("Travel policy\n\nEverybody walks. Zeppelins are allowed.\n")
    assert statuses(filled.add(tmp_path / "documents" / "travel.txt")) == ["replaced"]
    after = filled.document(before.id)
    assert after.version == before.version + 1 and after.file_hash != before.file_hash
    assert filled.search("zeppelins").hits[0].document_id == before.id
    assert all("train" not in hit.text for hit in filled.search("trips by train").hits)
    assert filled.verify().ok


def test_one_edited_paragraph_embeds_one_chunk(library: Library, tmp_path: Path) -> None:
    paragraphs = [f"Paragraph {n} speaks of topic{n} " + f"filler{n} " * 60 for n in range(12)]
    path = tmp_path / "long.txt"
    options = {"chunker": "rules", "chunker_options": {"tokens": 150, "overlap": 0}}
    path.write_text("\n\n".join(paragraphs))
    library.add(path, **options)
    embedded: list[str] = []
    original = type(library.embedder()).embed

    def counted(self: object, texts: list[str], *, role: str) -> object:
        embedded.extend(texts)
        return original(self, texts, role=role)

    type(library.embedder()).embed = counted  # type: ignore[method-assign]
    try:
        paragraphs[5] = paragraphs[5].replace("topic5", "topicfive")
        path.write_text("\n\n".join(paragraphs))
        assert statuses(library.add(path, **options)) == ["replaced"]
    finally:
        type(library.embedder()).embed = original  # type: ignore[method-assign]
    assert len(embedded) == 1 and "topicfive" in embedded[0]


def test_two_paths_with_the_same_bytes_are_one_document(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "twins", a_txt=TRAVEL, b_txt=TRAVEL)
    assert statuses(library.add(folder)) == ["ready", "deduplicated"]
    (folder / "a.txt").write_text("Now something quite different stands here.")
    library.add(folder / "a.txt")
    assert len(library.documents()) == 2, "b.txt still has the old bytes"
    assert library.search("hotels euros a night").hits


def test_a_file_that_becomes_another_ones_copy_leaves_one_document(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "pair", a_txt=TRAVEL, b_txt="A text of its own about volcanoes.")
    library.add(folder)
    (folder / "b.txt").write_text(TRAVEL)
    assert statuses(library.add(folder / "b.txt")) == ["deduplicated"]
    assert [document.filename for document in library.documents()] == ["a.txt"]
    assert library.verify().ok


def test_collections_are_apart(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", travel_txt=TRAVEL)
    library.add(folder, collection="one")
    library.add(folder, collection="two")
    assert len(library.documents()) == 2
    assert [hit.collection for hit in library.search("hotels", collection="two").hits] == ["two"]
    library.delete(collection="one")
    assert [document.collection for document in library.documents()] == ["two"]
    assert library.search("hotels").hits


def test_another_chunker_cuts_the_same_bytes_anew(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", handbook_md=HANDBOOK)
    first = library.add(folder)
    second = library.add(folder, chunker="window", chunker_options={"size": 100, "overlap": 20})
    assert statuses(second) == ["replaced"] and second[0].chunks > first[0].chunks
    assert second[0].document_id == first[0].document_id


def test_a_collection_remembers_its_chunker(library: Library, tmp_path: Path) -> None:
    library.set_collection("cut", chunker="window", chunker_options={"size": 100, "overlap": 20})
    folder = write(tmp_path / "documents", handbook_md=HANDBOOK)
    assert library.add(folder, collection="cut")[0].chunks > 2


def test_deleted_documents_are_gone_everywhere(filled: Library) -> None:
    document = next(d for d in filled.documents() if d.filename == "handbook.md")
    assert filled.delete(document.id) == [document.id]
    assert all(hit.document_id != document.id for hit in filled.search("paid leave notice").hits)
    with pytest.raises(NotFound):
        filled.document(document.id)
    with pytest.raises(NotFound):
        filled.delete(document.id)
    assert filled.verify().ok


def test_delete_by_source(filled: Library, tmp_path: Path) -> None:
    filled.delete(source=tmp_path / "documents" / "travel.txt")
    assert [document.filename for document in filled.documents()] == ["handbook.md"]
    with pytest.raises(NotFound):
        filled.delete(source="/nowhere")


def test_deleting_several_is_all_or_nothing(filled: Library) -> None:
    ids = [document.id for document in filled.documents()]
    with pytest.raises(NotFound):
        filled.delete(ids[0], "d0000000000000000")
    assert [document.id for document in filled.documents()] == ids


def test_text_can_be_added_under_a_name(library: Library) -> None:
    added = library.add_text(
        "Jupiter has ninety-five known moons.", filename="../../moons.txt", metadata={"kind": "note"}
    )
    assert added.status == "ready"
    document = library.documents()[0]
    assert document.filename == "moons.txt" and document.metadata["kind"] == "note"
    assert library.search("moons of Jupiter").hits[0].text.startswith("Jupiter")


def test_one_bad_file_does_not_stop_the_others(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "mixed", good_txt=TRAVEL, empty_txt="", blank_txt="  \n\n ")
    (folder / "binary.bin").write_bytes(bytes(range(256)) * 8)
    results = {Path(added.path).name: added for added in library.add(folder)}
    assert results["good.txt"].status == "ready"
    assert results["empty.txt"].error is not None and results["empty.txt"].error.code == "empty_document"
    assert results["blank.txt"].error is not None and results["blank.txt"].error.code == "empty_document"
    assert results["binary.bin"].error is not None and results["binary.bin"].error.code == "unsupported_type"
    assert library.verify().ok


def test_questions_that_cannot_be_asked(filled: Library) -> None:
    with pytest.raises(QueryEmpty):
        filled.search("   ")
    with pytest.raises(QueryEmpty):
        filled.ask("?")
    with pytest.raises(QueryTooLong):
        filled.search("x" * 1_000_000)
    with pytest.raises(OptionError):
        filled.search("leave", limit=0)


def test_a_library_that_is_not_there_is_not_made_by_looking(tmp_path: Path) -> None:
    with pytest.raises(NotALibrary):
        Library(tmp_path / "none", create=False)
    assert not (tmp_path / "none").exists()


def test_an_empty_library_answers_with_nothing(library: Library) -> None:
    result = library.search("anything")
    assert result.hits == () and not result.degraded
    assert library.ask("anything").abstained
    assert library.verify().ok


def test_vectors_of_two_models_are_never_mixed(filled: Library, tmp_path: Path) -> None:
    filled.close()
    with quick_library(tmp_path / "library", embedder="hashing:32") as other:
        assert other.search("paid leave").hits, "searches go on with the model the vectors were made with"
        with pytest.raises(DimensionMismatch):
            other.add(write(tmp_path / "more", x_txt="Something new."))
        other.reindex(embedder="hashing:32")
        assert other.add(tmp_path / "more")[0].status == "ready"
        assert other.status()["dimensions"] == 32


def test_reindex_rolls_forward_and_back(filled: Library, tmp_path: Path) -> None:
    before = [hit.text for hit in filled.search("paid leave").hits]
    result = filled.reindex(chunker="window", chunker_options={"size": 100, "overlap": 10}, keep=True)
    assert result["documents"] == 2
    assert filled.search("paid leave").hits[0].text not in before
    filled.add(write(tmp_path / "late", late_txt="Late arrivals knock twice."))
    filled.rollback()
    assert [hit.text for hit in filled.search("paid leave").hits][:2] == before[:2]
    assert filled.search("late arrivals knock").hits[0].filename == "late.txt", "what came since is there too"
    assert filled.verify().ok


def test_reindex_without_keep_leaves_one_generation(filled: Library) -> None:
    filled.reindex(chunker="sentence")
    assert [generation["state"] for generation in filled.status()["generations"]] == ["serving"]
    with pytest.raises(NotFound):
        filled.rollback()


def test_export_and_import_give_the_same_library(filled: Library, tmp_path: Path) -> None:
    counts = filled.export(tmp_path / "out.jsonl")
    with quick_library(tmp_path / "copy") as copy:
        assert copy.import_(tmp_path / "out.jsonl").added == counts["documents"] == 2
        again = copy.import_(tmp_path / "out.jsonl")
        assert (again.added, again.skipped) == (0, 2)
        for document in filled.documents():
            assert copy.text(document.id) == filled.text(document.id)
            assert [c.id for c in copy.chunks(document.id)] == [c.id for c in filled.chunks(document.id)]
        assert copy.verify().ok


def test_the_async_twin_does_the_same(tmp_path: Path) -> None:
    async def use() -> str:
        async with footnotes.connect(tmp_path / "library", embedder="hashing") as library:
            await library.add(write(tmp_path / "documents", travel_txt=TRAVEL))
            result = await library.search("hotels")
            return result.hits[0].filename

    assert asyncio.run(use()) == "travel.txt"


def test_the_async_twin_is_written_from_the_facade() -> None:
    root = Path(__file__).parent.parent.parent
    script = runpy.run_path(str(root / "scripts" / "make_aio.py"))
    assert (root / "src/footnotes/aio.py").read_text() == script["written"](), "run scripts/make_aio.py"


def test_the_async_twin_gives_results_one_by_one(tmp_path: Path) -> None:
    async def use() -> list[str]:
        async with footnotes.connect(tmp_path / "library", embedder="hashing") as library:
            folder = write(tmp_path / "documents", travel_txt=TRAVEL, stays_txt="Hotels cost 90 euros.")
            added = [Path(each.path).name async for each in library.adding(folder)]
            events = [event.type async for event in library.ask_stream("What do hotels cost?")]
            assert events[-1] == "done" and await library.generation() == 1 and library.index_failure is None
            return sorted(added)

    assert asyncio.run(use()) == ["stays.txt", "travel.txt"]


def test_importing_loads_nothing_heavy() -> None:
    code = "import sys, footnotes; print([m for m in ('numpy', 'apsw', 'onnxruntime', 'tantivy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_footnote_names_the_page_even_where_a_chunk_spans_two(tmp_path: Path) -> None:
    samples = Path(__file__).parent.parent.parent / "samples"
    with quick_library(tmp_path / "library") as library:
        library.add(samples / "repairs.pdf")
        pages = {
            citation.quote: citation.page
            for question in ("What does an estimate cost?", "What does the warranty of five years cover?")
            for citation in library.ask(question).citations
        }
        assert pages, "both questions are answered in the document"
        for quote, page in pages.items():
            assert page == (2 if "estimate" in quote or "loan" in quote else 1), quote


def test_source_code_is_cut_by_function_unless_something_else_is_chosen(tmp_path: Path) -> None:
    body = "\n".join(f"    value = value * {n} + {n}" for n in range(40))
    code = "\n\n".join(f"def function_{n}(value):\n{body}\n    return value" for n in range(6)) + "\n"
    with quick_library(tmp_path / "library") as library:
        added = library.add(write(tmp_path / "code", module_py=code))[0]
        assert all(chunk.text.startswith("def function_") for chunk in library.chunks(str(added.document_id)))
        library.add(tmp_path / "code", chunker="window", chunker_options={"size": 300, "overlap": 0})
        assert not all(chunk.text.startswith("def ") for chunk in library.chunks(str(added.document_id)))


def test_a_document_that_failed_says_why_it_has_no_text(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        failed = library.add_text(b"%PDF-1.4 nothing of it can be read", filename="broken.pdf")
        assert failed.status == "failed" and failed.document_id and failed.error
        with pytest.raises(NotFound, match="could not be ingested") as raised:
            library.text(failed.document_id)
        assert failed.error.code in raised.value.message and raised.value.remedy == failed.error.remedy


def test_two_equal_files_that_both_change_leave_nothing_behind(tmp_path: Path) -> None:
    folder = write(tmp_path / "documents", a_txt="The same text.", b_txt="The same text.")
    with quick_library(tmp_path / "library") as library:
        library.add(folder)
        assert len(library.documents()) == 1
        write(folder, a_txt="Now about apples.", b_txt="Now about bears.")
        library.add(folder)
        assert sorted(library.text(document.id).strip() for document in library.documents()) == [
            "Now about apples.",
            "Now about bears.",
        ]
        assert library.verify().ok


def test_a_filter_asked_again_follows_what_was_added_and_deleted(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        for number in range(3):
            library.add_text(
                f"Letter of the harbour, number {number}.", filename=f"{number}.txt", metadata={"number": number}
            )
        names = lambda: {hit.filename for hit in library.search("harbour", where="number>=1").hits}  # noqa: E731
        assert names() == names() == {"1.txt", "2.txt"}
        library.add_text("Letter of the harbour, number 3.", filename="3.txt", metadata={"number": 3})
        assert names() == {"1.txt", "2.txt", "3.txt"}
        (gone,) = library.documents(where={"filename": "2.txt"})
        library.delete(gone.id)
        assert names() == {"1.txt", "3.txt"}
