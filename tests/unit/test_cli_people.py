"""What a person at a terminal meets: help that fits, names in place of ids, settings, models, wrapped text."""

from __future__ import annotations

import json
import os
import pty
import select
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from command_line import run
from footnotes.cli import main
from footnotes.settings import load
from libraries import HANDBOOK, TRAVEL, write

FOOTNOTES = [sys.executable, "-m", "footnotes"]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FOOTNOTES_EMBEDDER", "hashing")


@pytest.fixture
def library(tmp_path: Path) -> str:
    documents = write(tmp_path / "documents", handbook_md=HANDBOOK, travel_txt=TRAVEL)
    folder = str(tmp_path / "library")
    assert run("add", str(documents), "--library", folder).exit_code == 0
    return folder


def run_with_input(text: str, *arguments: str) -> Result:
    return CliRunner().invoke(main, arguments, input=text)


def on_terminal(*arguments: str, answer: str = "", columns: int = 60) -> str:
    """What a command prints on a real terminal, with what is typed into it."""
    leader, follower = pty.openpty()
    environ = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    with subprocess.Popen([*FOOTNOTES, *arguments], stdin=follower, stdout=follower, stderr=follower, env=environ):
        os.close(follower)
        os.write(leader, answer.encode())
        shown = b""
        while True:
            ready, _, _ = select.select([leader], [], [], 60)
            assert ready, f"nothing more was printed after {shown!r}"
            try:
                piece = os.read(leader, 4096)
            except OSError:  # the end of a terminal
                break
            if not piece:
                break
            shown += piece
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def test_help_fits_a_screen_and_groups_commands() -> None:
    shown = run("--help").stdout
    assert len(shown.splitlines()) <= 24
    assert all(f"{topic}:" in shown for topic in ("Use", "Library", "Quality", "Server"))
    assert "..." not in shown.split("\n", 1)[1], "no description is cut"


def test_documents_are_named_by_a_prefix_or_a_name(library: str) -> None:
    listed = json.loads(run("list", "--json", "-l", library).stdout)["documents"]
    by_name = {one["filename"]: one["document_id"] for one in listed}
    shown = json.loads(run("show", by_name["handbook.md"][:6], "--json", "-l", library).stdout)
    assert shown["filename"] == "handbook.md"
    assert json.loads(run("show", "travel.txt", "--json", "-l", library).stdout)["filename"] == "travel.txt"
    assert json.loads(run("delete", "travel.txt", "--json", "-l", library).stdout)["deleted"] == [by_name["travel.txt"]]
    missing = run("show", "nothing.txt", "-l", library)
    assert missing.exit_code == 1 and "not_found" in missing.stderr


def test_a_name_that_two_documents_have_is_refused(library: str, tmp_path: Path) -> None:
    other = write(tmp_path / "other", travel_txt="Another text about travel by train.")
    assert run("add", str(other), "-l", library).exit_code == 0
    found = run("show", "travel.txt", "-l", library)
    assert found.exit_code == 1 and "matches 2 documents" in found.stderr


def test_standard_input_is_a_question_or_a_document(library: str) -> None:
    assert run_with_input("paid leave\n", "search", "-", "-l", library).stdout.startswith("1. handbook.md")
    assert "[1]" in run_with_input("How many days of paid leave are there?", "ask", "-", "-l", library).stdout
    added = run_with_input("The canteen opens at eleven.", "add", "-", "--name", "canteen.md", "-l", library)
    assert added.exit_code == 0, added.output
    assert "eleven" in run("show", "canteen.md", "--text", "-l", library).stdout


def test_a_collection_that_does_not_exist_is_an_error(library: str) -> None:
    for command in (["search", "leave"], ["ask", "leave?"], ["reindex"], ["list"], ["export", "-"]):
        found = run(*command, "-c", "defualt", "-l", library)
        assert found.exit_code == 1, command
        assert "did you mean 'default'" in found.stderr and "not_found" in found.stderr


def test_options_of_another_fusion_are_refused(library: str) -> None:
    found = run("search", "leave", "--alpha", "0.5", "-l", library)
    assert found.exit_code == 1 and "alpha has no meaning in the fusion 'adaptive'" in found.stderr
    assert run("search", "leave", "--alpha", "0.5", "--fusion", "alpha", "-l", library).exit_code == 0
    hits = json.loads(run("search", "leave", "--fusion", "rrf", "--weights", "0.5,0.5", "--json", "-l", library).stdout)
    assert 0 < hits["hits"][0]["score"] <= 1 / 61
    listed = json.loads(
        run("search", "leave", "--fusion", "rrf", "--missing-rank", "50", "--json", "-l", library).stdout
    )
    assert min(hit["score"] for hit in listed["hits"]) > 0


def test_options_of_a_chunker_follow_the_chosen_one(library: str) -> None:
    made = run("reindex", "--chunker-option", "characters=200", "-l", library)
    assert made.exit_code == 0, made.output
    assert "nothing is outdated" in run("reindex", "--outdated", "-l", library).stdout
    (listed,) = json.loads(run("collections", "--json", "-l", library).stdout)["collections"]
    assert listed["chunker"] == "passages"


def test_deleting_many_asks_first(library: str) -> None:
    refused = on_terminal("delete", "-c", "default", "--all-of-collection", "-l", library, answer="n\n")
    assert "Delete 2 documents" in refused
    assert len(json.loads(run("list", "--json", "-l", library).stdout)["documents"]) == 2
    on_terminal("delete", "-c", "default", "--all-of-collection", "-l", library, answer="y\n")
    assert json.loads(run("list", "--json", "-l", library).stdout)["documents"] == []


@pytest.mark.slow
def test_text_wraps_at_words_and_matches_are_marked(library: str) -> None:
    shown = on_terminal("search", "probation notice", "-l", library)
    assert "\x1b[1m\x1b[4m" in shown, "the words that were asked for are marked"
    assert "\x1b" not in on_terminal("--color", "never", "search", "probation", "-l", library)
    body = on_terminal("--color", "never", "search", "paid leave", "-l", library).split("\n")
    prose = [line for line in body if line.startswith("   ") and "(" not in line]
    assert prose and all(len(line) <= 60 for line in prose)


def test_no_color_is_obeyed(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in on_terminal("search", "probation", "-l", library)
    assert "\x1b" in on_terminal("--color", "always", "search", "probation", "-l", library)


def test_code_keeps_its_lines_and_tables_their_columns(tmp_path: Path) -> None:
    documents = tmp_path / "texts"
    documents.mkdir()
    (documents / "loan.py").write_text("def interest(principal, rate):\n    # yearly\n    return principal * rate\n")
    (documents / "rates.csv").write_text("region,rate\nNorth,4 percent\nSouth,11 percent\n")
    folder = str(tmp_path / "library")
    run("add", str(documents), "-l", folder)
    shown = run("search", "interest principal rate", "-l", folder).stdout
    assert "   def interest(principal, rate):\n       # yearly\n" in shown


RST = """Moving
======

.. _moving:

The :doc:`importer </importer>` moves files, see :meth:`~beets.Item.move`.

.. note::

   Moving is slow.

.. versionadded:: 1.4
.. image:: move.png
   :alt: A picture

Run it as this shows::

    beet move
"""
MYST = """# Moving

The {meth}`~beets.Item.move` method moves files.

```{note}
:class: dropdown
Moving is slow.
```

:::{warning}
Never stop it.
:::
"""


def test_hits_are_shown_without_the_marks_of_their_markup(tmp_path: Path) -> None:
    documents = write(tmp_path / "texts", moving_rst=RST, moving_md=MYST, moving_txt=RST)
    shown = {}
    for name in ("moving.rst", "moving.md", "moving.txt"):
        folder = str(tmp_path / name)
        run("add", str(documents / name), "-l", folder)
        shown[name] = " ".join(run("search", "moving slow", "-l", folder).stdout.split())
    said = "The importer moves files, see beets.Item.move. Moving is slow. Added in version 1.4 Run it as this shows:"
    assert said in shown["moving.rst"]
    assert "Moving The beets.Item.move method moves files. Moving is slow. Never stop it." in shown["moving.md"]
    assert ":doc:`importer </importer>`" in shown["moving.txt"], "plain text is shown as it is"


def test_many_files_are_summed_up(tmp_path: Path) -> None:
    documents = tmp_path / "many"
    documents.mkdir()
    for number in range(30):
        (documents / f"{number}.txt").write_text(f"Text number {number} speaks of thing {number}.")
    shown = run("add", str(documents), "-l", str(tmp_path / "library")).stdout
    assert "30 ready" in shown and "-v names every file" in shown
    assert len(shown.splitlines()) < 25
    again = run("add", str(documents), "-v", "-l", str(tmp_path / "other")).stdout
    assert len(again.splitlines()) > 30


@pytest.mark.slow
def test_progress_and_results_never_share_a_line(tmp_path: Path) -> None:
    documents = tmp_path / "many"
    documents.mkdir()
    for number in range(1500):
        (documents / f"{number}.txt").write_text(f"Text number {number} speaks of thing {number}. " * 40)
    shown = on_terminal("add", str(documents), "-v", "-l", str(tmp_path / "library"), columns=100)
    lines = [line for part in shown.split("\n") for line in part.split("\r")]
    ready = [line for line in lines if "ready  " in line]
    assert len(ready) == 1500
    assert not any("━" in line or " left" in line for line in ready), "a bar stands on a line of its own"


def test_settings_are_shown_with_their_origin_and_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "library"
    folder.mkdir()
    (folder / "footnotes.toml").write_text("# mine\nlimit = 7  # seven\n\n[chunker_options]\ncharacters = 300\n")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-canary")
    assert run("config", "path", "-l", str(folder)).stdout.strip() == str(folder / "footnotes.toml")
    shown = run("config", "show", "-l", str(folder)).stdout
    assert f"limit = 7  ({folder / 'footnotes.toml'})" in shown
    assert "embedder = hashing  (FOOTNOTES_EMBEDDER)" in shown
    assert "openai_api_key = (set, hidden)  (OPENAI_API_KEY)" in shown and "canary" not in shown
    assert run("config", "set", "fusion", "rrf", "-l", str(folder)).exit_code == 0
    written = (folder / "footnotes.toml").read_text()
    assert "# mine" in written and "# seven" in written and load(folder, environ={}).fusion == "rrf"
    assert load(folder, environ={}).chunker_options == {"characters": 300}
    for name, value, code in (("fusion", "magic", "cannot be 'magic'"), ("fusoin", "rrf", "did you mean 'fusion'")):
        refused = run("config", "set", name, value, "-l", str(folder))
        assert refused.exit_code == 1 and code in refused.stderr
    run("config", "unset", "fusion", "-l", str(folder))
    assert load(folder, environ={}).fusion == "adaptive"


def test_our_own_key_comes_before_the_common_one(tmp_path: Path) -> None:
    both = {"OPENAI_API_KEY": "common", "FOOTNOTES_OPENAI_API_KEY": "ours"}
    assert load(tmp_path, environ=both).openai_api_key == "ours"
    assert load(tmp_path, environ={"COHERE_API_KEY": "common"}).cohere_api_key == "common"
    (tmp_path / "footnotes.toml").write_text('gemini_api_key = "of the file"\n')
    assert load(tmp_path, environ={"GEMINI_API_KEY": "common"}).gemini_api_key == "of the file"


def test_models_say_what_they_lack(tmp_path: Path) -> None:
    found = json.loads(run("models", "--json", "-l", str(tmp_path)).stdout)["models"]
    by_name = {(one["kind"], one["provider"]): one for one in found}
    assert "no key" in by_name["chat", "openai"]["state"] and "OPENAI_API_KEY" in by_name["chat", "openai"]["state"]
    assert by_name["embedder", "local"]["state"] == "installed"
    failing = run("models", "--test", "--model", "openai:gpt-4o-mini", "-l", str(tmp_path))
    assert "no key" in failing.stdout


def test_completion_is_printed_and_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert "_FOOTNOTES_COMPLETE" in run("completion", "bash").stdout
    installed = run("completion", "fish", "--install")
    assert installed.exit_code == 0
    assert "footnotes" in (tmp_path / ".config/fish/completions/footnotes.fish").read_text()
    environ = {**os.environ, "_FOOTNOTES_COMPLETE": "bash_complete", "COMP_WORDS": "footnotes se", "COMP_CWORD": "1"}
    listed = subprocess.run([sys.executable, "-c", "from footnotes.cli import main; main(prog_name='footnotes')"],
                            env=environ, capture_output=True, text=True, check=False).stdout  # fmt: skip
    assert "plain,search" in listed and "plain,serve" in listed


def test_chat_says_how_to_leave(library: str) -> None:
    assert "Press Enter on an empty line, or Ctrl-D, to leave" in on_terminal("chat", "-l", library, answer="\n")


def test_synonyms_are_searched_for_on_request(tmp_path: Path) -> None:
    folder = str(tmp_path / "library")
    texts = write(tmp_path / "texts", security_md="Multi-factor authentication is mandatory for all staff.",
                  other_md="The cafeteria requires a badge.")  # fmt: skip
    run("add", str(texts), "-l", folder)
    found = json.loads(run("search", "Is MFA required?", "--expand", "--json", "-l", folder).stdout)
    assert "security.md" in [hit["filename"] for hit in found["hits"]]
    plain = json.loads(run("search", "MFA", "--mode", "lexical", "--json", "-l", folder).stdout)
    expanded = json.loads(run("search", "MFA", "--mode", "lexical", "--expand", "--json", "-l", folder).stdout)
    assert plain["hits"] == [] and expanded["hits"][0]["filename"] == "security.md"
    assert "mandatory" in found["expanded"][0]
