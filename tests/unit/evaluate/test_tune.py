from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.config import change_file, load
from footnotes.engine import Library
from footnotes.errors import GoldenError
from footnotes.evaluate.tune import chunker_variants, held_out_scores, tune
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
