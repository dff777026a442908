"""The journal, lexical-first visibility, and the gate of a reindex."""

from __future__ import annotations

import io
import json
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import footnotes.cli.progress as progress_module
from footnotes.cli import main
from footnotes.cli.progress import ProgressLine
from footnotes.embed import Matrix
from footnotes.errors import DimensionMismatch, FootnotesError, ProviderUnavailable, ReindexRefused
from footnotes.evaluate.report import golden_gate
from footnotes.ingest.journal import unfinished_runs
from footnotes.ingest.work import Progress
from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Role


class Slow(HashingEmbedder):
    """An embedder that waits until it is let go, and can be out of order."""

    def __init__(self) -> None:
        super().__init__()
        self.free, self.began, self.broken, self.embedded = threading.Event(), threading.Event(), False, 0

    def embed(self, texts: Any, *, role: Role) -> Matrix:
        if role == "passage":
            self.began.set()
            assert self.free.wait(20)
            if self.broken:
                raise ProviderUnavailable("the provider is away")
            self.embedded += len(texts)
        return super().embed(texts, role=role)


@pytest.fixture
def slow() -> Slow:
    return Slow()


@pytest.fixture
def library(tmp_path: Path, slow: Slow) -> Any:
    with Library(tmp_path / "library", settings=Settings(), embedder=slow) as opened:
        yield opened
        slow.free.set()


def write(folder: Path, **texts: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.txt").write_text(text)
    return folder


def test_words_find_a_document_while_its_vectors_are_made(tmp_path: Path, library: Library, slow: Slow) -> None:
    folder = write(tmp_path / "in", zebra="The zebra has stripes.", quokka="The quokka smiles.")
    adding = threading.Thread(target=library.add, args=(folder,))
    adding.start()
    assert slow.began.wait(10)
    found = library.search("quokka")
    assert [hit.filename for hit in found.hits][:1] == ["quokka.txt"]
    assert (
        found.degraded and found.legs["dense"].status == "pending" and "2 documents" in str(found.legs["dense"].reason)
    )
    assert found.hits[0].scores.dense is None
    assert {d.status for d in library.documents()} == {"embedding"}
    assert {job.holder for job in library.jobs()} != {""}
    slow.free.set()
    adding.join()
    found = library.search("quokka")
    assert not found.degraded and found.hits[0].scores.dense is not None
    assert [(job.kind, job.stage) for job in library.jobs()] == [("add", "ready"), ("file", "ready"), ("file", "ready")]
    assert library.verify().ok


@pytest.mark.slow
def test_a_provider_that_fails_pauses_and_resume_goes_on(tmp_path: Path, library: Library, slow: Slow) -> None:
    slow.broken = True
    slow.free.set()
    (added,) = library.add(write(tmp_path / "in", zebra="The zebra has stripes."))
    assert added.status == "failed" and added.error is not None and added.error.code == "provider_unavailable"
    (document,) = library.documents()
    assert document.status == "queued" and document.error is not None and document.error.code == "provider_unavailable"
    run, file = library.jobs()
    assert (file.stage, file.retryable, file.attempts) == ("failed", True, 1) and not run.holder
    assert library.status()["waiting"] == 1 and library.verify().ok
    slow.broken = False
    library.resume()
    assert library.documents()[0].status == "ready"
    run, file = library.jobs()
    assert (file.stage, file.attempts, file.error) == ("ready", 2, None)
    assert slow.embedded == 1


def test_deleting_a_document_takes_it_out_of_the_journal(tmp_path: Path, library: Library, slow: Slow) -> None:
    slow.free.set()
    (added,) = library.add(write(tmp_path / "in", secretname="The zebra has stripes."))
    library.delete(str(added.document_id))
    assert not [job for job in library.jobs() if job.kind == "file"]


def test_one_changed_paragraph_embeds_what_it_touches(tmp_path: Path, library: Library, slow: Slow) -> None:
    slow.free.set()
    paragraphs = [f"# Part {n}\n\nIn part {n} " + f"word{n} " * 60 for n in range(12)]
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.md").write_text("\n\n".join(paragraphs))
    library.add(folder)
    before = slow.embedded
    paragraphs[5] += " and one thing more."
    (folder / "a.md").write_text("\n\n".join(paragraphs))
    library.add(folder)
    assert 0 < slow.embedded - before <= 2
    assert library.verify().ok


def test_the_gate_refuses_a_worse_generation(tmp_path: Path) -> None:
    folder = write(
        tmp_path / "in", zebra="The zebra has stripes and lives in Africa.", quokka="The quokka smiles a lot."
    )
    golden = tmp_path / "golden.jsonl"
    questions = [
        {"question": "zebra stripes", "documents": ["zebra.txt"]},
        {"question": "quokka", "documents": ["quokka.txt"]},
    ]
    golden.write_text("\n".join(map(json.dumps, questions)))
    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(folder)
        said: list[str] = []
        kept = library.collections()
        impossible = golden_gate(library, golden, 1.0, say=said.append)
        trial = library.at_generation
        serving = library.status()["generation"]

        def blind(generation: int) -> Library:
            tried = trial(generation)
            found = tried.search

            def nothing(*args: Any, **options: Any) -> Any:
                return replace(found(*args, **options), hits=())

            tried.search = nothing  # type: ignore[method-assign]
            return tried

        library.at_generation = blind  # type: ignore[method-assign]
        with pytest.raises(ReindexRefused, match="less than 1"):
            library.reindex(chunker="window", gate=impossible)
        assert said and library.status()["generation"] == serving and library.collections() == kept
        library.at_generation = trial  # type: ignore[method-assign]
        result = library.reindex(chunker="window", gate=impossible)
        assert result["golden"]["after"] == 1.0 and library.status()["generation"] != serving


def test_jobs_and_resume_on_the_command_line(tmp_path: Path) -> None:
    folder, home = write(tmp_path / "in", zebra="The zebra has stripes."), str(tmp_path / "l")
    (folder / "empty.txt").write_text("")
    run = CliRunner(env={"FOOTNOTES_EMBEDDER": "hashing"})
    assert run.invoke(main, ["add", str(folder), "-l", home]).exit_code == 3
    shown = run.invoke(main, ["jobs", "-l", home])
    assert "empty_document" in shown.output and "needs a change first" in shown.output
    jobs = json.loads(run.invoke(main, ["jobs", "-l", home, "--json", "--all"]).output)["jobs"]
    assert sorted(job["stage"] for job in jobs) == ["failed", "ready", "ready"]
    resumed = run.invoke(main, ["resume", "-l", home, "--json"])
    assert resumed.exit_code == 0 and json.loads(resumed.output)["documents"] == []


def test_a_stall_is_said_with_its_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_module, "STALLED_AFTER", 0.1)
    stream = io.StringIO()
    with ProgressLine(stream, live=False) as line:
        line(Progress("embedding", 1, 10))
        deadline = time.monotonic() + 10
        while "no progress in embedding" not in stream.getvalue():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def test_the_time_left_after_the_last_file_is_that_of_the_chunks_to_embed(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr(progress_module.time, "monotonic", lambda: now)
    stream = io.StringIO()
    line = ProgressLine(stream, live=False)
    line(Progress("reading", 335, 336))
    for seconds, done in ((10.0, 0), (20.0, 100), (30.0, 200)):
        now = seconds
        line(Progress("embedding", done, 1_000))
        now += 1
        line(Progress("indexing", 0, 30))
    shown = stream.getvalue().splitlines()
    assert "embedding 100 of 1,000 chunks, 10/s (file 336 of 336), 2 min left" in shown
    assert "embedding 200 of 1,000 chunks, 10/s (file 336 of 336), 80 s left" in shown
    assert not any(" 0 s left" in each for each in shown)


def test_a_run_that_cannot_be_done_has_failed_and_is_not_tried_again(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(write(tmp_path / "in", zebra="The zebra has stripes."))
    with Library(tmp_path / "library", settings=Settings(embedder="hashing:32")) as library:
        with pytest.raises(DimensionMismatch):
            library.add(write(tmp_path / "in", quokka="The quokka smiles."))
        run = [job for job in library.jobs() if job.kind == "add"][-1]
        assert run.stage == "failed" and run.error is not None and run.error.code == "dimension_mismatch"
        assert run not in unfinished_runs(library.jobs())
        assert library.search("zebra").hits[0].scores.dense is not None  # by the model the vectors were made with


def test_a_reindex_that_fails_changes_no_choice_and_a_rollback_goes_back_one(tmp_path: Path) -> None:
    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(write(tmp_path / "in", zebra="The zebra has stripes."))

        def chunker() -> str | None:
            return str(library.collections()[0]["chunker"])

        with pytest.raises(FootnotesError):
            library.reindex(chunker="section", embedder="nope:x")
        assert chunker() == "None"
        library.reindex(chunker="window", keep=True)
        library.reindex(chunker="section", keep=True)
        library.rollback()
        assert (chunker(), library.status()["generation"]) == ("window", 2)
        library.reindex(chunker="rules", keep=True)
        assert [each["state"] for each in library.status()["generations"]] == ["kept", "serving"]
        library.rollback()
        assert (chunker(), library.status()["generation"]) == ("window", 2)
        library.reindex(chunker="sentence")
        assert len(library.status()["generations"]) == 1
        assert library.verify().ok


def test_a_refused_reindex_is_not_resumed(tmp_path: Path) -> None:
    def refuse(generation: int) -> dict[str, Any]:
        raise ReindexRefused("not good enough")

    with Library(tmp_path / "library", settings=Settings(embedder="hashing")) as library:
        library.add(write(tmp_path / "in", zebra="The zebra has stripes."))
        with pytest.raises(ReindexRefused):
            library.reindex(chunker="window", gate=refuse)
        library.resume()
        assert library.status()["generation"] == 1 and library.collections()[0]["chunker"] is None
