"""All checks in the order in which one builds on another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from footnotes.doctor import Check, Checks, guard
from footnotes.doctor.library import check_database, check_queue, check_search
from footnotes.doctor.machine import check_clock, check_disk, check_folder, check_limits, check_port, check_versions
from footnotes.doctor.models import check_chat_model, check_embedder, check_reranker
from footnotes.errors import ConfigError, NotALibrary
from footnotes.library import Library
from footnotes.settings import Settings, load

Queue = Mapping[str, object] | None


def examine(folder: Path | None, *, host: str, port: int) -> Checks:
    """Check the machine, the settings, the models and the library."""
    yield from guard("versions", check_versions)
    try:
        settings = load(folder)
    except ConfigError as error:
        yield Check("settings", "problem", error.message, error.remedy)
        return
    yield Check("settings", "ok", "all values are valid")
    place = folder or Path(settings.library).expanduser()
    yield from guard("folder", lambda: check_folder(place))
    yield from guard("disk", lambda: check_disk(place))
    yield from guard("clock", lambda: check_clock(place))
    yield from guard("limits", check_limits)
    yield from guard("port", lambda: check_port(host, port))
    yield from guard("embedder", lambda: check_embedder(settings))
    yield from guard("chat model", lambda: _check_chat_model(place, settings))
    yield from guard("database", lambda: _check_library(place, settings))


def _check_library(folder: Path, settings: Settings) -> Checks:
    try:
        library = Library(folder, settings=settings, create=False)
    except NotALibrary:
        yield Check("database", "skipped", "no library yet: create one with `footnotes add`")
        return
    with library:
        yield from guard("database", lambda: check_database(library))
        yield from guard("search", lambda: check_search(library))
        yield from guard("reranker", lambda: check_reranker(library))
        yield from guard("queue", lambda: check_queue(_queue(folder, settings)))


def _check_chat_model(folder: Path, settings: Settings) -> Checks:
    from footnotes.server.overview import default_model

    yield from check_chat_model(default_model(folder, settings))


def _queue(folder: Path, settings: Settings) -> Queue:
    from footnotes.server.overview import queue_state

    return queue_state(folder, settings)
