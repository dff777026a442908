"""Layers by a map, and by guess."""

from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.analyse.layers import glob, guess_layer, layer_of
from footnotes.errors import ConfigError
from footnotes.settings import load


@pytest.mark.parametrize(
    ("path", "layer"),
    [
        ("src/routes/users.py", "api"),
        ("app/controllers/users.rb", "api"),
        ("shop/models/order.py", "domain"),
        ("src/db/session.py", "infrastructure"),
        ("pkg/cmd/root.go", "cli"),
        ("src/cli.py", "cli"),
        ("web/components/Button.tsx", "ui"),
        ("src/api/tests/users.py", "tests"),
        ("src/api/users.test.ts", "tests"),
        ("docs/conf.py", "docs"),
        ("src/thing.py", None),
    ],
)
def test_guesses_come_from_the_nearest_folder(path: str, layer: str | None) -> None:
    assert guess_layer(path) == layer


def test_the_first_glob_wins_before_any_guess() -> None:
    layers = {"src/api/internal/**": "domain", "src/**/api/**": "edge", "src/": "rest"}
    assert layer_of("src/api/internal/x.py", layers) == "domain"
    assert layer_of("src/api/x.py", layers) == "edge"
    assert layer_of("src/db/x.py", layers) == "rest"
    assert layer_of("lib/db/x.py", layers) == "infrastructure"
    assert layer_of("lib/x.py", layers) == "other"


def test_stars_stay_in_their_folder() -> None:
    assert glob("src/*.py").fullmatch("src/a.py") and not glob("src/*.py").fullmatch("src/a/b.py")
    assert glob("src/**/b.py").fullmatch("src/b.py") and glob("src/**/b.py").fullmatch("src/a/c/b.py")
    assert not glob("a.py").fullmatch("axpy")


def test_the_map_comes_from_the_settings_and_is_checked(tmp_path: Path) -> None:
    (tmp_path / "footnotes.toml").write_text('[layers]\n"src/web/**" = "api"\n"src/**" = "domain"\n', encoding="utf-8")
    assert list(load(tmp_path, environ={}).layers.items()) == [("src/web/**", "api"), ("src/**", "domain")]
    (tmp_path / "footnotes.toml").write_text('[layers]\n"src/**" = 3\n', encoding="utf-8")
    with pytest.raises(ConfigError, match="layer of 'src/"):
        load(tmp_path, environ={})
