"""Checks of the machine: versions, folders, permissions, disk, clock, limits, ports."""

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

from footnotes import __version__
from footnotes.doctor import Check, Checks
from footnotes.errors import AddressRefused

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
