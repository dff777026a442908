"""Progress of long work: a live line on a terminal, plain lines elsewhere, nothing for short work."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, Any

from footnotes.ingest.work import Progress

SHOWN_AFTER = 1.0
PLAIN_EVERY = 5.0
STALLED_AFTER = 30.0
LEAST_SECONDS = 5.0
"""The time left is hidden before this, and before a tenth is done."""
_UNITS = {
    "importing": "records",
    "reading": "files",
    "parsing": "characters",
    "embedding": "chunks",
    "indexing": "documents",
    "graph": "vectors",
}


class ProgressLine:
    """A callable for `on_progress`. Use it as a context manager, to remove the live line at the end."""

    def __init__(self, stream: IO[str], *, live: bool) -> None:
        self._stream = stream
        self._live = live
        self._began = time.monotonic()
        self._printed = self._began
        self._stage = ""
        self._stages: dict[str, tuple[float, int, int]] = {}
        self._moved, self._stalls, self._ended = self._began, 0, threading.Event()
        self._files = (0, 0)
        self._bar: Any = None
        self._task: object = None

    def __enter__(self) -> ProgressLine:
        threading.Thread(target=self._watch, name="footnotes-stall", daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if self._bar is not None:
            self._bar.stop()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hide the bar while something is printed."""
        shows = self._bar is not None and sys.stdout.isatty()
        if shows:
            self._bar.stop()
        try:
            yield
        finally:
            if shows:
                self._bar.start()

    def _watch(self) -> None:
        """Print a line if there is no progress for long."""
        while not self._ended.wait(1.0):
            seconds = time.monotonic() - self._moved
            if self._stage and seconds >= STALLED_AFTER * (self._stalls + 1):
                self._stalls += 1
                text = f"no progress in {self._stage} for {_duration(seconds)}"
                (self._bar.console.print if self._bar is not None else self._print)(text)

    def _print(self, text: str) -> None:
        self._stream.write(text + "\n")
        self._stream.flush()

    def __call__(self, progress: Progress) -> None:
        now = self._moved = time.monotonic()
        self._stalls = 0
        self._note_stage(progress, now)
        if progress.stage == "reading":
            self._files = (progress.done, progress.total)
        if now - self._began < SHOWN_AFTER:
            return
        if self._live:
            self._draw(progress, now)
        elif now - self._printed >= PLAIN_EVERY:
            self._printed = now
            self._print(self.line(progress, now))

    def _note_stage(self, progress: Progress, now: float) -> None:
        """Keep when a stage began, and where. Batches of documents are embedded and indexed in turns."""
        _, _, last = self._stages.get(progress.stage, (0.0, 0, progress.done + 1))
        begins = progress.done < last or (progress.stage != self._stage and not progress.total)
        began, first = (now, progress.done) if begins else self._stages[progress.stage][:2]
        self._stages[progress.stage] = began, first, progress.done
        self._stage = progress.stage

    def line(self, progress: Progress, now: float) -> str:
        """Format progress: `embedding 128 of 640 chunks, 43/s (file 3 of 155), 12 s left`."""
        parts: list[str] = [progress.stage]
        if progress.done:
            amount = f"{progress.done:,}" + (f" of {progress.total:,}" if progress.total else "")
            parts[0] += f" {amount} {_UNITS[progress.stage]}"
            began, first, _ = self._stages.get(progress.stage, (now, 0, 0))
            if now - began >= 1 and progress.done > first:
                parts.append(f"{(progress.done - first) / (now - began):,.0f}/s")
        text = ", ".join(parts)
        done, total = self._files
        text += f" (file {done + 1:,} of {total:,})" if total else ""
        left = self._seconds_left(progress, now)
        return text if left is None else f"{text}, {_duration(left)} left"

    def _seconds_left(self, progress: Progress, now: float) -> float | None:
        """Estimate the time left, of all files, or of the stage after the last one; None while it would be a guess."""
        done, total = self._files
        start, first = self._began, 0
        if progress.stage == "graph" or done + 1 >= total:
            done, total = progress.done, progress.total
            start, first, _ = self._stages.get(progress.stage, (now, 0, 0))
        elapsed = now - start
        if done <= first or done >= total or (elapsed < LEAST_SECONDS and done < total / 10):
            return None
        return elapsed / (done - first) * (total - done)

    def _draw(self, progress: Progress, now: float) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(bar_width=20),
                TextColumn("{task.description}"),
                console=Console(file=self._stream),
                transient=True,
                redirect_stdout=False,  # click writes past it; code that prints results pauses the bar
                redirect_stderr=False,
            )
            self._task = self._bar.add_task("", total=None)
            self._bar.start()
        done, total = self._files if self._files[1] else (progress.done, progress.total)
        if progress.stage == "graph":
            done, total = progress.done, progress.total
        from rich.markup import escape

        description = escape(self.line(progress, now))
        self._bar.update(self._task, description=description, completed=done, total=total or None)


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
