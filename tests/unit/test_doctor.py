"""`footnotes doctor` and `footnotes status`: each fault on purpose is named, with a remedy."""

from __future__ import annotations

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from command_line import run
from libraries import quick_library
from provider import ScriptedProvider, says


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    with quick_library(tmp_path / "library") as library:
        library.add_text("Gulls nest on the harbour wall.", filename="gulls.txt")
    return tmp_path / "library"


def checks(folder: Path, *options: str) -> tuple[int, dict[str, dict[str, Any]]]:
    done = run("doctor", "-l", str(folder), "--json", "--port", "0", *options)
    found = json.loads(done.output)
    assert found["ok"] == (done.exit_code == 0)
    assert all(check["remedy"] for check in found["checks"] if check["state"] in ("warning", "problem"))
    return done.exit_code, {check["name"]: check for check in found["checks"]}


def status(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run("status", "-l", str(folder), "--json").output)
    return found


def test_a_healthy_library_has_no_problem(folder: Path) -> None:
    code, found = checks(folder)
    assert code == 0 and {check["state"] for check in found.values()} <= {"ok", "skipped"}
    assert found["lexical index"]["state"] == found["dense index"]["state"] == "ok"


def test_a_folder_without_a_library_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")
    code, found = checks(tmp_path / "none")
    assert code == 0 and found["database"]["state"] == "skipped" and not (tmp_path / "none").exists()


def test_a_wrong_setting_is_named(folder: Path) -> None:
    (folder / "footnotes.toml").write_text("limmit = 3\n")
    code, found = checks(folder)
    assert code == 1 and "'limit'" in found["settings"]["found"]


def test_a_database_that_is_no_database_is_a_problem(folder: Path) -> None:
    (folder / "footnotes.db").write_bytes(b"x" * 8192)
    shutil.rmtree(folder / "index")
    code, found = checks(folder)
    assert code == 1 and found["database"]["state"] == "problem"


def test_a_folder_that_others_can_read_is_a_warning(folder: Path) -> None:
    folder.chmod(0o755)
    code, found = checks(folder)
    assert code == 0 and found["permissions"]["state"] == "warning" and "chmod" in found["permissions"]["remedy"]


def test_a_port_that_is_taken_is_a_warning(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        code, found = checks(folder, "--port", str(taken.getsockname()[1]))
    assert code == 0 and found["port"]["state"] == "warning" and "--port" in found["port"]["remedy"]


def test_an_embedder_that_is_not_there_is_a_problem(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "nonesuch:1")
    code, found = checks(folder)
    assert code == 1 and "nonesuch" in found["embedder"]["found"]


def test_a_chat_model_is_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_MODEL", "openai:any")
    with ScriptedProvider(says("yes")) as fake:
        monkeypatch.setenv("FOOTNOTES_OPENAI_BASE_URL", fake.base_url)
        assert checks(folder)[1]["chat model"]["state"] == "ok"
        assert status(folder)["chat_model"]["answers"] is True
    code, found = checks(folder)
    assert code == 1 and found["chat model"]["state"] == "problem"
    assert status(folder)["chat_model"]["answers"] is False


def test_status_counts_documents_that_are_out_of_date(folder: Path) -> None:
    assert status(folder)["outdated"] == 0
    (folder / "footnotes.toml").write_text('chunker = "sentence"\n')
    assert status(folder)["outdated"] == 1
    assert "out of date  1 document" in run("status", "-l", str(folder)).output
    assert checks(folder)[1]["documents"]["state"] == "warning"
