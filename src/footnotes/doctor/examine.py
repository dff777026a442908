"""All checks in the order in which one builds on another."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import shutil
import stat
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from footnotes import __version__
from footnotes.doctor import Check, Checks, guard
from footnotes.doctor.models import check_chat_model, check_embedder, check_reranker
from footnotes.errors import AddressRefused, ConfigError, NotALibrary
from footnotes.library import Library
from footnotes.settings import Settings, load

if TYPE_CHECKING:
    from footnotes.server.overview import Queue

LEAST_PYTHON = (3, 11)
LEAST_SQLITE = (3, 51, 3)
LEAST_FREE_BYTES = 1 << 30
LEAST_FREE_SHARE = 0.5
"""Share of the library's size: `compact` and a reindex write a second copy."""
LEAST_DESCRIPTORS = 1024
EARLIEST_YEAR = 2026
SKEW_SECONDS = 5.0
_NATIVE = ("apsw", "tantivy", "usearch", "onnxruntime", "tokenizers", "pypdfium2")
_EXTRAS = {
    "server": "fastapi",
    "postgres": "asyncpg",
    "qdrant": "qdrant-client",
    "chroma": "chromadb",
    "code": "tree-sitter",
    "office": "python-pptx",
    "ocr": "rapidocr",
    "llama": "xllamacpp",
    "remote": "httpx",
}


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


def _queue(folder: Path, settings: Settings) -> Queue | None:
    from footnotes.server.overview import queue_state

    return queue_state(folder, settings)


# ── checks of the library: database, indexes, vector database and queue ───────────────────────────────────────


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


def check_queue(queue: Queue | None) -> Checks:
    """Check the queue of all tenants and the workers of a server, if one ever ran."""
    from footnotes.server.overview import others_as_text

    if queue is None:
        yield Check("queue", "skipped", "no server has run on this library")
        return
    jobs = f"{queue['queued']} jobs wait, {queue['running']} run, {queue['failed']} failed"
    others = others_as_text(queue)
    waiting, failed = queue["queued"] + queue["others"]["queued"], queue["failed"] + queue["others"]["failed"]
    if queue["workers"] == 0:
        yield Check("workers", "problem" if waiting else "warning", "none is alive", "Start one: `footnotes worker`.")
    elif queue["workers"] is not None:
        yield Check("workers", "ok", f"{queue['workers']} alive")
    remedy = "See `footnotes jobs` for the reasons; retry or dismiss on the page or with /v1/jobs." if failed else ""
    yield Check("queue", "warning" if failed else "ok", jobs + (f"; other tenants: {others}" if others else ""), remedy)


# ── checks of the machine: versions, folders, permissions, disk, clock, limits, ports ─────────────────────────


def check_versions() -> Checks:
    found = platform.python_version()
    old = sys.version_info < LEAST_PYTHON
    yield Check("python", "problem" if old else "ok", found, "Use Python 3.11 or newer." if old else "")
    yield Check("footnotes", "ok", __version__)
    yield from _sqlite()
    missing = [name for name in _NATIVE if _version(name) is None]
    versions = ", ".join(f"{name} {_version(name)}" for name in _NATIVE if name not in missing)
    remedy = f"pip install {' '.join(missing)}" if missing else ""
    yield Check("packages", "problem" if missing else "ok", versions, remedy)
    installed = [extra for extra, package in _EXTRAS.items() if _version(package)]
    yield Check("extras", "ok", ", ".join(installed) or "none")


def _sqlite() -> Checks:
    import apsw

    found = apsw.sqlite_lib_version()
    old = tuple(int(part) for part in found.split(".")[:3]) < LEAST_SQLITE
    remedy = "pip install --upgrade apsw" if old else ""
    yield Check("sqlite", "problem" if old else "ok", found, remedy)


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def check_folder(folder: Path) -> Checks:
    """Whether the library's folder can be used, and by whom."""
    if not folder.exists():
        parent = next(above for above in folder.parents if above.exists())
        writable = os.access(parent, os.W_OK | os.X_OK)
        remedy = "" if writable else f"Get permission to write in {parent}, or choose another folder."
        yield Check("folder", "ok" if writable else "problem", f"{folder} does not exist yet", remedy)
        return
    for right, name in ((os.R_OK | os.X_OK, "read"), (os.W_OK, "written")):
        if not os.access(folder, right):
            yield Check("folder", "problem", f"{folder} cannot be {name}", f"Check who owns {folder}.")
            return
    yield Check("folder", "ok", str(folder))
    open_files = [path for path in (folder, *folder.glob("*.db")) if _others_may_read(path)]
    if open_files:
        names = ", ".join(path.name for path in open_files)
        remedy = f"chmod -R go-rwx {folder}"
        yield Check("permissions", "warning", f"other users of this machine can read {names}", remedy)
    else:
        yield Check("permissions", "ok", "only you can read the library")


def _others_may_read(path: Path) -> bool:
    return bool(path.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))


def check_disk(folder: Path) -> Checks:
    for name, place in (("disk", folder), ("temporary files", Path(tempfile.gettempdir()))):
        existing = next(path for path in (place, *place.parents) if path.exists())
        free = shutil.disk_usage(existing).free
        needed = LEAST_FREE_BYTES
        if name == "disk" and place.exists():
            needed = max(needed, int(_size(place) * LEAST_FREE_SHARE))
        found = f"{free / 2**30:.1f} GB free at {existing}"
        if free >= needed:
            yield Check(name, "ok", found)
        else:
            yield Check(name, "warning", found, f"Free some space: {needed / 2**30:.1f} GB are advised.")


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def check_clock(folder: Path) -> Checks:
    """Whether the clock makes sense, and whether the disk's file server agrees with it."""
    if time.gmtime().tm_year < EARLIEST_YEAR:
        yield Check("clock", "problem", time.strftime("it is %Y here", time.gmtime()), "Set the clock of this machine.")
        return
    place = folder if folder.is_dir() and os.access(folder, os.W_OK) else Path(tempfile.gettempdir())
    with tempfile.NamedTemporaryFile(dir=place, prefix=".doctor-") as file:
        skew = os.fstat(file.fileno()).st_mtime - time.time()
    if abs(skew) <= SKEW_SECONDS:
        yield Check("clock", "ok", f"agrees with the file system of {place}")
        return
    remedy = "Synchronise the clocks of both machines (chrony, systemd-timesyncd)."
    yield Check("clock", "warning", f"{abs(skew):.0f} s apart from the file system of {place}", remedy)


def check_limits() -> Checks:
    try:
        import resource
    except ImportError:
        yield Check("open files", "skipped", "this system has no such limit")
        return
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    few = soft < LEAST_DESCRIPTORS
    remedy = f"Raise it: `ulimit -n {LEAST_DESCRIPTORS}`, or LimitNOFILE= of the service." if few else ""
    yield Check("open files", "warning" if few else "ok", f"at most {soft}", remedy)


def check_port(host: str, port: int) -> Checks:
    """Whether `footnotes serve` could listen."""
    from footnotes.server.run import check_port as check_server_port

    try:
        check_server_port(host, port)
    except AddressRefused as error:
        yield Check("port", "warning", error.message, error.remedy)
    else:
        yield Check("port", "ok", f"{host}:{port} is free")
