"""The command line as a user meets it. `--json` shapes are a contract."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from footnotes.cli import main
from libraries import HANDBOOK, TRAVEL, quick_library, write

HIT = {
    "chunk_id", "document_id", "filename", "title", "collection", "text", "start", "end", "pages", "heading",
    "headings", "lines", "index", "total", "language", "metadata", "score", "scores",
}  # fmt: skip


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")


def run_json(*arguments: str) -> dict[str, Any]:
    result = run(*arguments, "--json")
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


@pytest.fixture
def documents(tmp_path: Path) -> Path:
    return write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL)


@pytest.fixture
def library(tmp_path: Path, documents: Path) -> str:
    folder = str(tmp_path / "library")
    assert run("add", str(documents), "--library", folder).exit_code == 0
    return folder


def test_add_prints_its_contract(tmp_path: Path, documents: Path) -> None:
    (documents / "empty.txt").write_text("")
    result = run("add", str(documents), "--library", str(tmp_path / "l"), "--json")
    shape = json.loads(result.stdout)
    assert result.exit_code == 3, "some failed"
    assert set(shape) == {"documents", "took_ms"}
    by_name = {Path(one["path"]).name: one for one in shape["documents"]}
    assert {"path", "document_id", "status", "chunks", "error"} <= set(by_name["handbook.md"])
    assert by_name["handbook.md"]["status"] == "ready" and by_name["handbook.md"]["error"] is None
    assert set(by_name["empty.txt"]["error"]) == {"code", "message", "remedy"}
    again = run_json("add", str(documents / "handbook.md"), "--library", str(tmp_path / "l"))
    assert again["documents"][0]["status"] == "deduplicated"


def test_search_prints_its_contract(library: str) -> None:
    shape = run_json("search", "paid leave", "--library", library)
    assert set(shape) == {"query", "hits", "legs", "degraded", "expanded", "took_ms"}
    assert set(shape["legs"]) == {"lexical", "dense"}
    assert set(shape["legs"]["lexical"]) == {"status", "reason", "ms"}
    hit = shape["hits"][0]
    assert set(hit) == HIT
    assert set(hit["scores"]) == {"lexical", "dense", "fused", "rerank", "boost", "reason"}
    assert set(hit["scores"]["lexical"]) == {"rank", "score"}
    text = run_json("show", hit["document_id"], "--text", "--library", library)["text"]
    assert text[hit["start"] : hit["end"]] == hit["text"]


def test_ask_prints_its_contract(library: str) -> None:
    shape = run_json("ask", "How many days of paid leave does every employee have?", "--library", library)
    expected = {"question", "answer", "abstained", "citations", "hits", "model", "usage", "steps", "legs", "degraded"}
    assert expected <= set(shape)
    assert not shape["abstained"] and shape["citations"]
    for citation in shape["citations"]:
        keys = {"marker", "answer_span", "document_id", "filename", "page", "start", "end", "quote"}
        assert keys <= set(citation)
        text = run_json("show", citation["document_id"], "--text", "--library", library)["text"]
        assert text[citation["start"] : citation["end"]] == citation["quote"]
        start, end = citation["answer_span"]
        assert shape["answer"][start:end]


def test_people_get_words(library: str) -> None:
    assert "handbook.md" in run("search", "paid leave", "-l", library).output
    answer = run("ask", "How many days of paid leave does every employee have?", "-l", library).output
    assert "28 days" in answer and "[1] handbook.md" in answer
    assert "2 ready" in run("status", "-l", library).output
    assert "No problems" in run("verify", "-l", library).output


def test_documents_can_be_listed_shown_and_deleted(library: str) -> None:
    listed = run_json("list", "-l", library)["documents"]
    assert [one["filename"] for one in listed] == ["handbook.md", "travel.txt"]
    chunks = run_json("show", listed[0]["id"], "--chunks", "-l", library)["chunks"]
    assert [chunk["index"] for chunk in chunks] == list(range(len(chunks)))
    assert "# Employee handbook" in run("show", listed[0]["id"], "--text", "-l", library).output
    assert run_json("delete", listed[0]["id"], "-l", library) == {"deleted": [listed[0]["id"]]}
    assert len(run_json("list", "-l", library)["documents"]) == 1


def test_delete_by_collection_needs_to_be_meant(library: str) -> None:
    assert run("delete", "-l", library).exit_code == 2
    assert run("delete", "-c", "default", "-l", library).exit_code == 2
    assert run("delete", "-c", "default", "--all-of-collection", "-l", library).exit_code == 0
    assert run_json("list", "-l", library)["documents"] == []


def test_reindex_export_import_compact(library: str, tmp_path: Path) -> None:
    arguments = ("--chunker", "window", "--chunker-option", "size=200", "--chunker-option", "overlap=20")
    shape = run_json("reindex", *arguments, "--keep", "-l", library)
    assert shape["documents"] == 2 and shape["kept"]
    assert run_json("reindex", "--rollback", "-l", library)["generation"] == shape["replaced"]
    out = str(tmp_path / "out.jsonl")
    assert run_json("export", out, "-l", library)["documents"] == 2
    assert run_json("import", out, "-l", str(tmp_path / "other")) == {"added": 2, "skipped": 0}
    assert run("compact", "-l", library).exit_code == 0
    assert run("verify", "-l", library).exit_code == 0


def test_filters_on_the_command_line(library: str) -> None:
    assert [
        h["filename"] for h in run_json("search", "leave hotels", "-w", "mime=text/markdown", "-l", library)["hits"]
    ] == ["handbook.md"]
    assert run_json("list", "-w", "filename~t*", "-l", library)["documents"][0]["filename"] == "travel.txt"


def test_errors_have_code_cause_and_remedy(tmp_path: Path) -> None:
    result = run("search", "x", "--library", str(tmp_path / "none"), "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["error"]["code"] == "not_a_library"
    spoken = run("search", "x", "--library", str(tmp_path / "none"))
    assert "error: there is no library" in spoken.stderr and "[not_a_library]" in spoken.stderr
    assert not (tmp_path / "none").exists()


def test_unknown_chunkers_and_options_are_named(tmp_path: Path, documents: Path) -> None:
    result = run("add", str(documents), "-l", str(tmp_path / "l"), "--chunker", "magic")
    assert result.exit_code == 1 and "unknown_plugin" in result.stderr and "rules" in result.stderr
    result = run(
        "add", str(documents), "-l", str(tmp_path / "l"), "--chunker", "rules", "--chunker-option", "colour=red"
    )
    assert result.exit_code == 1 and "option_invalid" in result.stderr


def test_control_characters_of_documents_never_reach_the_terminal(tmp_path: Path) -> None:
    folder = write(tmp_path / "bad", x_txt="The secret code is \x1b[31mred\x1b[0m and nothing else at all.")
    run("add", str(folder), "-l", str(tmp_path / "l"))
    for arguments in (("search", "secret code"), ("ask", "What is the secret code?")):
        assert "\x1b[31m" not in run(*arguments, "-l", str(tmp_path / "l")).output


def test_every_command_has_help_and_the_common_options() -> None:
    for name, command in main.commands.items():
        assert command.help, name
        assert run(name, "--help").exit_code == 0


def test_interrupting_leaves_a_library_that_resumes(tmp_path: Path) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for number in range(3000):
        (texts / f"{number}.txt").write_text(f"Document {number} " + f"word{number} " * 200)
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing", "FOOTNOTES_LIBRARY": str(tmp_path / "l")}
    command = [sys.executable, "-m", "footnotes", "add", str(texts)]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored where the tests run behind a shell
    )
    assert process.stdout is not None
    acknowledged = [process.stdout.readline().split()[1] for _ in range(3)]
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130 and "Stopped" in errors
    with quick_library(tmp_path / "l") as library:
        sources = {document.source for document in library.documents()}
        assert set(acknowledged) <= sources
        assert library.verify().ok
        waiting = [d for d in library.documents() if d.status != "ready"]  # what was begun; the job knows the rest
        assert len(sources) < 3000 and {d.status for d in waiting} <= {"queued"}
        assert not {d.source for d in waiting} & set(acknowledged)
        assert {d.error.code for d in waiting if d.error} <= {"interrupted"}
        library.resume()
        assert len(library.documents()) == 3000 and {d.status for d in library.documents()} == {"ready"}


def test_a_documents_text_is_written_exactly(tmp_path: Path) -> None:
    text = "The zither \x1b]52;c;cHdu\x07 is old.\nNo newline at the end"
    folder = write(tmp_path / "bad", x_txt=text)
    run("add", str(folder), "-l", str(tmp_path / "l"))
    document = run_json("list", "-l", str(tmp_path / "l"))["documents"][0]
    with quick_library(tmp_path / "l") as library:
        assert run("show", document["id"], "--text", "-l", str(tmp_path / "l")).stdout == library.text(document["id"])


def test_json_stays_json_whatever_is_asked(library: str) -> None:
    environment = {**os.environ, "FOOTNOTES_EMBEDDER": "hashing"}
    command = [os.fsencode(word) for word in (sys.executable, "-m", "footnotes", "search", "-l", library, "--json")]
    done = subprocess.run([*command, b"leave \xff"], env=environment, capture_output=True, check=False)
    assert isinstance(json.loads(done.stdout.decode("utf-8")), dict)


def test_many_problems_are_summed_up(tmp_path: Path) -> None:
    folder = tmp_path / "library"
    with quick_library(folder, keep_originals=True) as library:
        library.add_texts([f"Note {number} on the rain." for number in range(25)])
        for document in library.documents():
            library.original(document.id).unlink()
    done = run("verify", "-l", str(folder))
    assert done.exit_code == 1 and done.output.count("problem: ") == 20
    assert "… and 5 more problems; --json lists all" in done.output
    assert len(json.loads(run("verify", "-l", str(folder), "--json").output)["problems"]) == 25
