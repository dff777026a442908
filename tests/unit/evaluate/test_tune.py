from __future__ import annotations

from pathlib import Path
from statistics import fmean

import numpy as np
import pytest

from footnotes.embed.embedders import learn_matrix, load_adapter
from footnotes.errors import ConfigError, GoldenError
from footnotes.evaluate.golden import Question
from footnotes.evaluate.run import evaluate
from footnotes.evaluate.tune import chunker_variants, held_out_scores, tune
from footnotes.library import Library
from footnotes.settings import Settings, change_file, load
from golden_sample import MANY


def test_held_out_questions_never_choose_their_own_variant() -> None:
    """One variant is right on every question but one: that one must be scored by the others' choice."""
    good = [1.0] * 24 + [0.0]
    lucky = [0.0] * 24 + [1.0]
    assert held_out_scores([lucky, good]) == good


def test_noise_gains_nothing_when_held_out() -> None:
    first = [float(at % 2) for at in range(40)]
    second = [1 - value for value in first]
    assert sum(held_out_scores([first, second])) <= 25


def test_too_few_questions_are_refused(library: Library) -> None:
    with pytest.raises(GoldenError, match="too few"):
        tune(library, MANY[:5])


def test_every_way_to_search_is_tried(library: Library) -> None:
    said: list[str] = []
    found = tune(library, MANY, on_variant=said.append)
    assert said[0] == "as it is"
    assert {"rrf", "mode lexical", "alpha 0.7"} <= set(said)
    assert [run.name for run in found.runs] == said
    assert not found.worth_it  # everything finds everything here


def test_chunkers_are_tried_in_copies(library: Library) -> None:
    before = library.status()["chunks"]
    found = tune(library, MANY, chunkers=True)
    assert {variant.name for variant in chunker_variants()} <= {run.name for run in found.runs}
    assert library.status()["chunks"] == before


def test_settings_are_written_beside_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "footnotes.toml"
    path.write_text('limit = 5\nfusion = "alpha"\n')
    change_file(path, {"fusion": "rrf", "chunker": "rules", "chunker_options": {"tokens": 256}})
    settings = load(tmp_path, environ={})
    assert (settings.limit, settings.fusion, settings.chunker) == (5, "rrf", "rules")
    assert settings.chunker_options == {"tokens": 256}


WORDS = {
    "feline": "cat", "canine": "dog", "equine": "horse", "bovine": "cow", "ovine": "sheep", "vulpine": "fox",
    "lupine": "wolf", "ursine": "bear", "leonine": "lion", "porcine": "pig",
}  # fmt: skip
"""What people ask for, and how the documents say it: no leg knows that."""


def _animals(folder: Path) -> list[Question]:
    folder.mkdir()
    for plain in WORDS.values():
        (folder / f"{plain}.txt").write_text(f"{plain} {plain}s")
    return [
        Question(f"{latin} {what}", f"{latin} {what}?", {f"{plain}.txt": 1})
        for latin, plain in WORDS.items()
        for what in ("diet", "illness", "shelter")
    ]


def test_questions_are_adapted_where_that_helps_on_questions_held_out(tmp_path: Path) -> None:
    questions = _animals(tmp_path / "documents")
    folder = tmp_path / "library"
    with Library(folder, settings=Settings(embedder="hashing")) as library:
        library.add(tmp_path / "documents")
        found = tune(library, questions)
        before = fmean(found.runs[0].values(found.measure))
        adapted = {run.name: run for run in found.runs if run.name.startswith("questions adapted")}
        assert max(fmean(run.values(found.measure)) for run in adapted.values()) > before + 0.1
        assert [each.id for each in adapted["questions adapted, 0.1"].outcomes] == [each.id for each in questions]
        assert found.worth_it and found.adapter is not None
        change_file(folder / "footnotes.toml", found.written(folder))
    with Library(folder, settings=load(folder, environ={}, embedder="hashing")) as library:
        assert library.settings.question_adapter
        assert fmean(evaluate(library, questions).values(found.measure)) > before + 0.1
    with Library(folder, settings=load(folder, environ={}, embedder="hashing:32")) as library:
        library.reindex()
        result = library.search("feline diet?")
        assert result.degraded and "another model" in str(result.legs["dense"].reason)


def test_a_file_that_is_no_map_is_said(tmp_path: Path) -> None:
    (tmp_path / "broken.npz").write_bytes(b"PK\x03\x04 nothing")
    for name in ("broken.npz", "missing.npz"):
        with pytest.raises(ConfigError, match="names no map"):
            load_adapter(str(tmp_path / name), "hashing")


def test_a_strong_pull_to_the_identity_leaves_questions_as_they_are() -> None:
    random = np.random.default_rng(1)
    asked, answers = random.normal(size=(2, 30, 8)).astype(np.float32)
    np.testing.assert_allclose(learn_matrix(asked, answers, strength=1e9), np.eye(8), atol=1e-4)
    turned = asked @ learn_matrix(asked, answers, strength=1e-9).T
    expected = asked @ np.linalg.lstsq(asked, answers, rcond=None)[0]
    np.testing.assert_allclose(turned, expected, atol=1e-3)
