from __future__ import annotations

from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path

import pytest

from footnotes.errors import ConfigError
from footnotes.settings import Settings, load

ROOT = Path(__file__).parent.parent.parent


def test_later_sources_win(tmp_path: Path) -> None:
    (tmp_path / "footnotes.toml").write_text('limit = 3\nmode = "lexical"\nchunker = "window"\n')
    other = tmp_path / "other.toml"
    other.write_text("limit = 4\n")
    environ = {"FOOTNOTES_CONFIG": str(other), "FOOTNOTES_MODE": "dense", "FOOTNOTES_ALPHA": "0.25", "HOME": "/x"}
    settings = load(tmp_path, environ=environ, alpha=None, per_document=2)
    assert (settings.limit, settings.mode, settings.chunker, settings.alpha, settings.per_document) == (
        4,
        "dense",
        "window",
        0.25,
        2,
    )


def test_the_library_named_by_the_environment_brings_its_file(tmp_path: Path) -> None:
    (tmp_path / "footnotes.toml").write_text("limit = 7\n")
    assert load(environ={"FOOTNOTES_LIBRARY": str(tmp_path)}).limit == 7


def test_mappings_from_the_environment() -> None:
    environ = {"FOOTNOTES_CHUNKER_OPTIONS": "{tokens = 200, overlap = 0}", "FOOTNOTES_LIBRARY": "/nonexistent"}
    assert load(environ=environ).chunker_options == {"tokens": 200, "overlap": 0}


@pytest.mark.parametrize(
    "content",
    ["colour = 3", "limit = 'ten'", "limit = 2.5", "limit = true", "mode = 3", "limit =", "chunker_options = 3"],
)
def test_wrong_settings_are_named(tmp_path: Path, content: str) -> None:
    (tmp_path / "footnotes.toml").write_text(content + "\n")
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, environ={})
    assert content.split()[0] in str(caught.value) or "TOML" in str(caught.value)


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().limit = 3  # type: ignore[misc]


def test_nothing_else_reads_the_environment() -> None:
    offenders = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "src").rglob("*.py")
        if path.name != "settings.py" and ("os.environ" in path.read_text() or "getenv" in path.read_text())
    ]
    assert offenders == []


def test_every_setting_is_in_the_reference() -> None:
    reference = (ROOT / "docs" / "reference" / "settings.md").read_text()
    assert [field.name for field in fields(Settings) if f"`{field.name}`" not in reference] == []


def test_a_list_in_the_environment_may_be_written_with_commas() -> None:
    for written in ("dense,lexical", " dense , lexical ", '["dense", "lexical"]'):
        assert load(environ={"FOOTNOTES_INDEX_LEGS": written}).index_legs == ("dense", "lexical")
    assert load(environ={"FOOTNOTES_INDEX_LEGS": ""}).index_legs == ()


def test_an_unknown_variable_is_an_error_that_names_the_nearest_setting() -> None:
    with pytest.raises(ConfigError, match=r"FOOTNOTES_EMBEDER; did you mean 'embedder'\?"):
        load(environ={"FOOTNOTES_EMBEDER": "hashing"})
    with pytest.raises(ConfigError, match=r"FOOTNOTES_XYZZY$"):
        load(environ={"FOOTNOTES_XYZZY": "1"})


@pytest.mark.parametrize(
    "values",
    [
        {"temperature": 99},
        {"temperature": float("nan")},
        {"max_tokens": -3},
        {"alpha": 1.5},
        {"seed": -2},
        {"limit": 0},
        {"limit": "many"},
        {"fetch_seconds": -1.0},
        {"mode": "fuzzy"},
        {"fusion": "sum"},
        {"embedder_variant": "int4"},
        {"stop": 3},
        {"stop": [1]},
    ],
    ids=str,
)
def test_values_out_of_range_are_refused_however_settings_are_made(values: dict[str, object]) -> None:
    for make in (
        lambda: load(environ={}, **values),
        lambda: Settings(**values),  # type: ignore[arg-type]
        lambda: replace(Settings(), **values),  # type: ignore[arg-type]
    ):
        with pytest.raises(ConfigError, match=next(iter(values))):
            make()


def test_a_single_stop_sequence_is_one_sequence() -> None:
    assert load(environ={}, stop="END").stop == replace(Settings(), stop="END").stop == ("END",)  # type: ignore[arg-type]


def test_one_word_chooses_the_better_models_and_a_model_that_is_named_comes_first() -> None:
    assert Settings().embedder == "local:minilm-l6"
    assert Settings(quality="better").embedder == "pair:minilm-l6+bge-small"
    assert Settings(quality="better", embedder="hashing").embedder == "hashing"
    assert (Settings().reranker, Settings(quality="better").reranker) == ("", "colbert")
    assert replace(Settings(quality="better", reranker="none"), limit=3).reranker == "none"
    with pytest.raises(ConfigError, match="quality"):
        Settings(quality="best")
