"""What a library must be after a process that wrote to it came to a sudden end."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from footnotes.errors import FootnotesError
from libraries import quick_library
from oracle import Oracle
from serving import serving
from torture import Row

TESTS = Path(__file__).parent.parent
SECONDS = 120.0


def command(folder: Path, action: str, seed: int, *more: object) -> list[str]:
    """A victim's command line."""
    return [sys.executable, "-m", "torture.victim", str(folder), action, str(seed), *map(str, more)]


def environment(**more: str) -> dict[str, str]:
    """Processes import what this one does."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)]), **more}


def judge(folder: Path, oracle: Oracle, number: int, **settings: str) -> None:
    """All that was acknowledged is found, nothing is half visible, and the next writer works."""
    if (folder / "server.db").exists():
        finish_jobs(folder)
    with quick_library(folder, **settings) as library:
        oracle.check(library)
        oracle.check_resumed(library)
        added = library.add_text(f"zebra{number} was here", filename="zebra.txt", source=f"zebra{number}")
        assert added.status == "ready", f"the next document is {added.status}"
        assert library.search(f"zebra{number}", mode="lexical").hits, "the next document is not found"
        library.delete(str(added.document_id))


def finish_jobs(folder: Path) -> None:
    """A server that starts again ends the work of the one that was killed."""
    with serving(folder) as running:
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            jobs = running.client.get("/v1/jobs?limit=1000").json()["jobs"]
            if all(job["state"] in ("ready", "failed") for job in jobs):
                failed = [job["error"] for job in jobs if job["state"] == "failed"]
                assert not failed, f"jobs failed: {failed}"
                return
            time.sleep(0.05)
    raise TimeoutError(f"jobs are {[job['state'] for job in jobs]}")


@contextmanager
def noted(row: Row, case: str, folder: Path | None = None) -> Iterator[None]:
    """What a trial raises becomes a case of the row; its folder is kept to be looked at."""
    try:
        yield
    except (TimeoutError, subprocess.TimeoutExpired) as error:
        row.note("stuck", f"{case}: {error}{_kept(folder)}")
    except AssertionError as error:
        lost = "acknowledged was" in str(error) or "not found" in str(error)
        row.note("lost" if lost else "wrong", f"{case}: {str(error)[:200] or _place(error)}{_kept(folder)}")
    except FootnotesError as error:
        row.note("wrong", f"{case}: {error.code} {error.message[:150]}{_kept(folder)}")
    except Exception as error:  # not of the tree: nobody foresaw it
        row.note("crashed", f"{case}: {error!r:.150} at {_place(error)}{_kept(folder)}")


def _place(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(last.filename).name}:{last.lineno} {last.line}"


def _kept(folder: Path | None) -> str:
    if folder is None or not folder.exists():
        return ""
    kept = Path(tempfile.mkdtemp(prefix="torture-kept-"))
    shutil.copytree(folder, kept / folder.name, dirs_exist_ok=True)
    return f" (kept in {kept})"
