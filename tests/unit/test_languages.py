"""Texts in a language the embedder does not know: said once when they come, and by the status."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from footnotes.cli import main
from footnotes.settings import Settings

GERMAN = "Der Vertrag kann von beiden Seiten mit einer Frist von drei Monaten gekündigt werden und das ist nicht neu. "
ENGLISH = "Either side may end the contract with three months of notice, and this is not what it was before. "


def test_multilingual_is_one_setting() -> None:
    assert Settings(embedder="multilingual").embedder == "onnx:intfloat/multilingual-e5-small"


def test_several_new_languages_are_one_note(tmp_path: Path) -> None:
    french = "Le contrat peut être résilié par les deux parties avec un préavis de trois mois, ce n'est pas nouveau. "
    for name, text in (("miete.txt", GERMAN), ("bail.txt", french)):
        (tmp_path / name).write_text(text * 3, encoding="utf-8")
    added = [str(tmp_path / "miete.txt"), str(tmp_path / "bail.txt")]
    said = CliRunner().invoke(main, ["add", *added, "--library", str(tmp_path / "library")]).stderr
    assert said.count("note:") == 1 and "first texts in the languages 'de', 'fr', which the embedder" in said


def test_the_first_texts_in_a_language_are_noted_and_status_tells(tmp_path: Path) -> None:
    run, library = CliRunner(), ["--library", str(tmp_path / "library")]

    def add(name: str, text: str) -> str:
        (tmp_path / name).write_text(text * 3, encoding="utf-8")
        done = run.invoke(main, ["add", str(tmp_path / name), *library])
        assert done.exit_code == 0, done.output
        return done.stderr

    assert "language" not in add("notice.txt", ENGLISH)
    assert "first texts in the language 'de'" in add("miete.txt", GERMAN)
    assert "language" not in add("mehr.txt", GERMAN + "Mehr. ")
    told = json.loads(run.invoke(main, ["status", "--json", *library]).stdout)["languages"]
    assert told == {"documents": {"de": 2, "en": 1}, "embedder_knows": ["en"], "unknown_to_embedder": ["de"]}
    lines = run.invoke(main, ["status", *library]).stdout
    assert "de 2, en 1; the embedder does not support de" in lines
