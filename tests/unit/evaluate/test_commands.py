from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from footnotes.cli.evaluate import EXIT_WORSE, eval_command, tune_command
from footnotes.errors import OptionError
from footnotes.evaluate.golden import read_golden, write_golden
from footnotes.library import Library
from golden_sample import MANY, QUESTIONS


def invoke(command: object, *arguments: object) -> Result:
    return CliRunner().invoke(command, [str(each) for each in arguments], catch_exceptions=False)  # type: ignore[arg-type]


@pytest.fixture
def golden(tmp_path: Path) -> Path:
    path = tmp_path / "golden.jsonl"
    write_golden(path, QUESTIONS)
    return path


@pytest.fixture(autouse=True)
def _hashing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing:64")


def test_eval_prints_figures(library: Library, golden: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    result = invoke(eval_command, golden, "-l", library.folder, "--json", "--report", report)
    shape = json.loads(result.stdout)
    assert shape["questions"] == 4
    assert shape["measures"]["mrr@10"] == 1
    assert report.read_text().startswith("<!doctype html>")
    assert "ndcg@10" in invoke(eval_command, golden, "-l", library.folder).stdout


def test_eval_compares_saved_runs_and_fails_when_it_got_worse(library: Library, golden: Path, tmp_path: Path) -> None:
    write_golden(golden, MANY)
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    invoke(eval_command, golden, "-l", library.folder, "--save", good)
    content = json.loads(good.read_text())
    for outcome in content["outcomes"]:
        outcome["measures"]["ndcg@10"] *= 0.5
    bad.write_text(json.dumps(content))
    assert invoke(eval_command, "--compare", good, good).exit_code == 0
    worse = invoke(eval_command, "--compare", good, bad)
    assert worse.exit_code == EXIT_WORSE
    assert "worse" in worse.stdout
    assert json.loads(invoke(eval_command, "--compare", bad, good, "--json").stdout)["verdict"] == "better"


def test_eval_makes_questions_and_never_overwrites(library: Library, golden: Path, tmp_path: Path) -> None:
    made = tmp_path / "made.jsonl"
    assert json.loads(invoke(eval_command, made, "-l", library.folder, "--make", 3, "--json").stdout)["questions"] == 3
    assert len(read_golden(made)) == 3
    with pytest.raises(OptionError, match="already exists"):
        invoke(eval_command, golden, "-l", library.folder, "--make", 3)


def test_eval_needs_a_golden_set(library: Library) -> None:
    with pytest.raises(OptionError, match="no golden set"):
        invoke(eval_command, "-l", library.folder)


def test_tune_says_what_it_found_and_writes_only_gains(library: Library, golden: Path) -> None:
    write_golden(golden, MANY)
    result = invoke(tune_command, golden, "-l", library.folder, "--write")
    assert "nothing was changed" in result.stdout
    assert not (library.folder / "footnotes.toml").exists()
    assert "rrf" in json.loads(invoke(tune_command, golden, "-l", library.folder, "--json").stdout)["variants"]
