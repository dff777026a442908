"""Checks of the library: database, indexes, vector database and queue."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from footnotes.doctor import Check, Checks

if TYPE_CHECKING:
    from footnotes.library import Library


def check_database(library: Library) -> Checks:
    began = time.perf_counter()
    status = library.status()
    took = (time.perf_counter() - began) * 1000
    counts = f"{status['ready']} documents, {status['chunks']} chunks"
    yield Check("database", "ok", f"{status['store']} at {status['address']}: {counts}, answered in {took:.0f} ms")
    wanted, used = status["configured_embedder"], status["embedder"]
    if status["generation"] is not None and wanted.partition(":")[0] != used.partition(":")[0]:
        remedy = f"Run `footnotes reindex` to switch to {wanted}, or set embedder to {used}."
        yield Check("vectors", "warning", f"made by {used}, the settings name {wanted}", remedy)
    if status["waiting"]:
        yield Check("vectors", "warning", f"{status['waiting']} documents wait for vectors", "Run `footnotes resume`.")
    if outdated := library.outdated():
        remedy = "Run `footnotes reindex`, or add the files again."
        yield Check("documents", "warning", f"{len(outdated)} were made by an older parser, chunker or model", remedy)
    failed = status["by_status"].get("failed", 0)
    if failed:
        yield Check("documents", "warning", f"{failed} failed", "See `footnotes list` for the reasons.")


def check_search(library: Library) -> Checks:
    """Search once with both legs: an index that cannot be read fails here."""
    found = library.search("Do both legs answer?", limit=1, reranker="")
    for name, leg in found.legs.items():
        if leg.status == "failed":
            yield Check(f"{name} index", "problem", leg.reason or "failed", "Run `footnotes verify --repair`.")
        elif leg.status == "pending":
            yield Check(f"{name} index", "warning", leg.reason or "pending", "Run `footnotes resume`.")
        else:
            yield Check(f"{name} index", "ok", f"answered in {leg.ms:.1f} ms" if leg.status == "ok" else leg.status)
    if index := library.status()["index"]:
        behind = f"{index['behind']} documents behind"
        if index["error"]:
            yield Check("vector database", "problem", index["error"]["message"], index["error"]["remedy"])
        else:
            yield Check("vector database", "ok", f"{index['address']}: {behind if index['behind'] else 'up to date'}")


def check_queue(queue: Mapping[str, object] | None) -> Checks:
    """Check the queue and workers of a server, if one ever ran."""
    if queue is None:
        yield Check("queue", "skipped", "no server has run on this library")
        return
    jobs = f"{queue['queued']} jobs wait, {queue['running']} run, {queue['failed']} failed"
    if queue["workers"] == 0:
        yield Check(
            "workers", "problem" if queue["queued"] else "warning", "none is alive", "Start one: `footnotes worker`."
        )
    elif queue["workers"] is not None:
        yield Check("workers", "ok", f"{queue['workers']} alive")
    failed = bool(queue["failed"])
    remedy = "See /v1/jobs or the page for the reasons; retry or dismiss them there." if failed else ""
    yield Check("queue", "warning" if failed else "ok", jobs, remedy)
