"""Addresses of stores, without their passwords."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from footnotes import plugins
from footnotes.errors import ConfigError, FootnotesError, MissingExtra, StoreUnavailable, UnknownPlugin
from footnotes.settings import load
from footnotes.store.make import open_store, redacted

SECRET = "hunter2secret"


@pytest.mark.parametrize(
    "address",
    [
        f"postgresql://ada:{SECRET}@127.0.0.1:1/library",
        f"postgresql://127.0.0.1:1/library?user=ada&password={SECRET}",
        f"postgres://ada:{SECRET}@127.0.0.1:1/",
        f"postgresql://ada:{SECRET}@127.0.0.1:port/library",
        f"postgresql://ada:{SECRET}@[::1/library",
        f"oracle://ada:{SECRET}@127.0.0.1/library",
    ],
)
def test_a_password_is_in_no_error(tmp_path: Path, address: str) -> None:
    settings = load(tmp_path, store=address)
    assert SECRET not in repr(settings) and SECRET not in redacted(address)
    with pytest.raises(FootnotesError) as failed:
        open_store(settings, tmp_path / "library")
    assert isinstance(failed.value, (StoreUnavailable, ConfigError, UnknownPlugin))
    said = "".join(traceback.format_exception(failed.value))
    assert SECRET not in said and SECRET not in failed.value.remedy


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    for name in [name for name in sys.modules if name.startswith("footnotes.store.postgres")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    plugins._load.cache_clear()
    with pytest.raises(MissingExtra) as missing:
        open_store(load(tmp_path, store="postgresql://localhost/library"), tmp_path / "library")
    assert 'pip install "footnotes[postgresql]"' in missing.value.remedy
