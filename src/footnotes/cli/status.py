"""`footnotes status`: show the contents and the state of a library."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from footnotes.cli.languages import language_state, language_text
from footnotes.cli.options import common_options, other_tenants, others_named
from footnotes.cli.printing import count, print_json
from footnotes.errors import FootnotesError
from footnotes.render import dense_index_as_text, index_state_as_text, one_line

if TYPE_CHECKING:
    from footnotes.library import Library
    from footnotes.server.overview import Queue

MODEL_SECONDS = 5.0


@click.command("status")
@common_options
def status_command(library: str | None, collection: str | None, as_json: bool) -> None:
    """Show the contents and the state of the library: documents, models, pending work, failures."""
    from footnotes.library import Library

    with Library(library, create=False) as open_library:
        found = library_state(open_library)
    if collection is not None:
        found["collections"] = [item for item in found["collections"] if item["name"] == collection]
    if as_json:
        print_json(found)
        return
    for name, text in _lines(found):
        click.echo(f"{name:12} {one_line(text)}")


def library_state(library: Library) -> dict[str, Any]:
    """Collect the library's status with its queue, disk and chat model."""
    from footnotes.server.overview import queue_state

    return {
        **library.status(),
        "other_tenants": other_tenants(library),
        "outdated": len(library.outdated()),
        "languages": language_state(library),
        "queue": queue_state(library.folder, library.settings),
        "disk_free": _free_bytes(library.folder),
        "chat_model": chat_model_state(library),
    }


def chat_model_state(library: Library) -> dict[str, object]:
    """Ask the chat model for one word, with a short timeout."""
    from footnotes.doctor.models import ask_model
    from footnotes.server.overview import default_model

    found = default_model(library.folder, library.settings)
    if found is None:
        return {"model": library.settings.model, "answers": None, "error": None}
    name, open_model = found
    try:
        ask_model(name, open_model(), seconds=MODEL_SECONDS)
    except FootnotesError as error:
        return {"model": name, "answers": False, "error": error.message}
    return {"model": name, "answers": True, "error": None}


def _free_bytes(folder: Path) -> int:
    return shutil.disk_usage(next(path for path in (folder, *folder.parents) if path.exists())).free


def _lines(found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return the name and the text of every line."""
    sizes = f"{found['disk_bytes'] / 2**20:.1f} MB, {found['disk_free'] / 2**30:.1f} GB free"
    yield "library", f"{found['library']}  ({sizes})"
    if found["other_tenants"]:
        yield "tenant", f"{found['user']}; {others_named(found['other_tenants'])}"
    if found["store"] != "sqlite":
        yield "database", f"{found['store']} at {found['address']}"
    states = ", ".join(f"{count} {state}" for state, count in found["by_status"].items()) or "none"
    alike = f"; {count(found['near_duplicates'], 'near-duplicate')}" if found["near_duplicates"] else ""
    yield "documents", f"{states}{alike}"
    if found["waiting"]:
        text = f"{count(found['waiting'], 'document')} searchable only by words until vectors exist: `footnotes resume`"
        yield "waiting", text
    if found["outdated"]:
        yield "out of date", f"{count(found['outdated'], 'document')}: run `footnotes reindex --outdated` to rebuild"
    yield "chunks", f"{found['chunks']:,}"
    yield "embedder", _embedder(found)
    if found["languages"]["documents"]:
        yield "languages", language_text(found["languages"])
    yield "chat model", _chat_model(found["chat_model"])
    yield "generation", str(found["generation"] or "none yet")
    if found["index"]:
        yield "index", index_state_as_text(found["index"])
    if found["dense_index"]:
        yield "dense index", dense_index_as_text(found["dense_index"])
    yield from _queue(found["queue"])
    for item in found["collections"]:
        chunker = f", chunker {item['chunker']}" if item["chunker"] else ""
        yield "collection", f"{one_line(item['name'])}  {count(item['documents'], 'document')}{chunker}"


def _embedder(found: Mapping[str, Any]) -> str:
    configured, used = found["configured_embedder"], found["embedder"]
    if configured.partition(":")[0] == used.partition(":")[0]:
        return str(used)
    return f"{used}  (the settings name {configured}: run `footnotes reindex` to switch)"


def _chat_model(state: Mapping[str, object]) -> str:
    if state["answers"] is None:
        return "none: answers are quotations"
    return f"{state['model']}: {'answers' if state['answers'] else state['error']}"


def _queue(queue: Queue | None) -> Iterator[tuple[str, str]]:
    from footnotes.server.overview import others_as_text

    if queue is None:
        return
    others = f"; other tenants: {text}" if (text := others_as_text(queue)) else ""
    yield "queue", f"{queue['queued']} queued, {queue['running']} running, {queue['failed']} failed{others}"
    if queue["workers"] is not None:
        yield "workers", f"{queue['workers']} alive"
