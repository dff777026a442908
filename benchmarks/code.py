"""What it costs to take in source code, and to follow it: a thousand files of real packages in a repository.

    python benchmarks/code.py [--files N] [--folder DIR]

Copies the Python files of an installation (the standard library, or --folder) into a repository of its own, takes it
in with an embedder that costs next to nothing, so that all but embedding is measured, then asks again with nothing
changed, and with one commit that changes ten files.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import footnotes
from footnotes.ingest.code.leave_out import reason_by_content, reason_by_name
from footnotes.ingest.work import Progress
from footnotes.library import Library


def git(folder: Path, *arguments: str) -> None:
    who = {f"GIT_{role}_{what}": "bench@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {**os.environ, **who, "GIT_CONFIG_GLOBAL": os.devnull}
    subprocess.run(["git", "-C", str(folder), *arguments], env=environment, check=True, capture_output=True)


def copied(origin: Path, target: Path, most: int) -> tuple[int, int]:
    """Copy source files nobody generated, spread over the whole of a folder; how many, and their bytes."""
    found = [path for path in sorted(origin.rglob("*.py")) if "site-packages" not in path.relative_to(origin).parts]
    found = [path for path in found if not reason_by_name(path.relative_to(origin).as_posix())]
    found = [path for path in found if reason_by_content(path) is None]
    step = max(1, len(found) // most)
    chosen = found[::step][:most]
    size = 0
    for path in chosen:
        place = target / path.relative_to(origin)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
        size += place.stat().st_size
    return len(chosen), size


def timed(library: Library, repository: Path) -> dict[str, object]:
    """Seconds until all is ready, and until all is found by its words, before the first vector is made."""
    began, used = time.perf_counter(), processor()
    by_words: dict[str, float] = {}

    def progress(now: Progress) -> None:
        if now.stage == "embedding" and not by_words:
            by_words["seconds_without_vectors"] = round(time.perf_counter() - began, 2)
            by_words["processor_without_vectors"] = round(processor() - used, 2)

    counts = Counter(file.status for file in library.adding_code(repository, on_progress=progress))
    seconds, busy = time.perf_counter() - began, processor() - used
    return {"seconds": round(seconds, 2), "processor": round(busy, 2), **by_words, **counts}


def processor() -> float:
    """Processor time of this process and of those it started: what the clock says depends on who else is at work."""
    spent = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = sum(each.ru_utime + each.ru_stime for each in spent)
    for children in Path("/proc/self/task").glob("*/children"):  # only Linux tells of those that still run
        for pid in children.read_text(encoding="utf-8").split():
            with suppress(OSError):
                fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def change(repository: Path, count: int) -> None:
    for path in sorted(repository.rglob("*.py"))[::7][:count]:
        path.write_text(path.read_text(encoding="utf-8", errors="replace") + "\n\ndef added_later():\n    return 1\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "a change")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=1_000)
    parser.add_argument("--folder", type=Path, default=Path(sysconfig.get_path("stdlib")))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        repository = Path(scratch) / "repository"
        repository.mkdir()
        files, size = copied(options.folder, repository, options.files)
        git(repository, "init", "-q", "-b", "main")
        git(repository, "add", "-A")
        git(repository, "commit", "-q", "-m", "all")
        with footnotes.open(Path(scratch) / "library", embedder="hashing") as library:
            result: dict[str, object] = {"files": files, "megabytes": round(size / 1e6, 1)}
            result["first"] = timed(library, repository)
            result["chunks"] = sum(document.chunks for document in library.documents())
            result["unchanged"] = timed(library, repository)
            change(repository, 10)
            result["ten_changed"] = timed(library, repository)
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
