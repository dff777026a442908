"""Syncs a folder whenever it changes: every burst of changes is one pass of a sync, which scans the folder.

File system events only trigger the scan. So nothing is missed when the system drops an event, and a regular pass
covers file systems without events.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from footnotes.errors import FootnotesError, Interrupted, SourceUnreadable
from footnotes.ingest.sync import check_root
from footnotes.types import Synced

DEBOUNCE_MS = 400
TICK_MS = 500
AGAIN_AFTER_ERROR, AGAIN_ANYWAY = 5.0, 300.0
_CHANGES = ("added", "changed", "renamed", "deleted")

Pass = Callable[[], Synced]


def watch_folder(once: Pass, folder: Path, *, avoid: Path, stop: threading.Event) -> Iterator[Synced | FootnotesError]:
    """Yield the report of each pass: the first one always, later ones if anything changed; or why a pass failed.

    A folder that is missing at the start is an error. If it disappears later, passes wait for it.
    """
    root, first = check_root(folder), True
    while not stop.is_set():
        try:
            root = check_root(folder)
        except SourceUnreadable as error:
            if not first:
                yield error
            stop.wait(AGAIN_AFTER_ERROR)
            continue
        for result in _passes(once, root, avoid.resolve(), stop):
            if first or isinstance(result, FootnotesError) or _has_changes(result):
                yield result
            first = False


def watch_source(once: Pass, *, every: float, stop: threading.Event) -> Iterator[Synced | FootnotesError]:
    """Like `watch_folder`, for a source without events: synced at intervals. A lasting error is reported once."""
    first, failing = True, ""
    while not stop.is_set():
        try:
            result = once()
            if first or failing or _has_changes(result):
                yield result
            failing = ""
        except Interrupted:
            raise
        except FootnotesError as error:
            if first and not error.retryable:
                raise
            if error.message != failing:
                failing = error.message
                yield error
        first = False
        stop.wait(every)


def _passes(once: Pass, root: Path, avoid: Path, stop: threading.Event) -> Iterator[Synced | FootnotesError]:
    """Yield passes over a folder as long as it is the same folder. Watching begins before the first scan."""
    identity, due, failing = _identity(root), 0.0, ""
    for reported in _reports(root, avoid, stop):
        if not reported and time.monotonic() < due:
            continue
        if _identity(root) != identity:
            return
        try:
            result: Synced | FootnotesError = once()
            due, failing = time.monotonic() + AGAIN_ANYWAY, ""
            yield result
        except Interrupted:
            raise
        except FootnotesError as error:
            due = time.monotonic() + AGAIN_AFTER_ERROR
            if error.message != failing:  # reported once, even if it lasts
                failing = error.message
                yield error


def _reports(root: Path, avoid: Path, stop: threading.Event) -> Iterator[bool]:
    """Yield whether anything changed, every half second; after a burst of changes has ended."""
    from watchfiles import Change, watch

    def matters(_: Change, path: str) -> bool:
        changed = Path(path)
        if changed.is_relative_to(avoid):
            return False
        below = changed.relative_to(root).parts if changed.is_relative_to(root) else ()
        return not any(part.startswith(".") and part != ".gitignore" for part in below)

    try:
        for changes in watch(
            root,
            watch_filter=matters,
            debounce=DEBOUNCE_MS,
            rust_timeout=TICK_MS,
            yield_on_timeout=True,
            stop_event=stop,
            ignore_permission_denied=True,
        ):
            yield bool(changes)
    except OSError as error:
        remedy = "Raise the limit of watched folders of your system, or run `footnotes sync` now and then."
        raise SourceUnreadable(f"{root} cannot be watched ({error})", remedy=remedy) from error


def _identity(root: Path) -> tuple[int, int] | None:
    try:
        found = root.stat()
        return found.st_dev, found.st_ino
    except OSError:
        return None


def _has_changes(result: Synced) -> bool:
    new_failures = any(file.status == "failed" and not file.warnings for file in result.files)
    return new_failures or any(result.counts.get(name) for name in _CHANGES)  # type: ignore[call-overload]
