"""`footnotes add REPO --code` and `footnotes add DIR --wiki`: add a repository, and the pages about it."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, get_args

import click

from footnotes.cli.follow import build_printer, summary
from footnotes.cli.options import EXIT_SOME_FAILED
from footnotes.types import Followed, Synced, SyncStatus
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.cli.progress import ProgressLine
    from footnotes.library import Library


def add_repositories(
    library: Library,
    paths: Sequence[str],
    progress: ProgressLine,
    *,
    wiki: bool,
    as_json: bool,
    verbose: bool,
    options: dict[str, Any],
) -> None:
    """Add repositories, or with `wiki` folders of pages, and print the result of every file."""
    failed = False
    for path in paths:
        stream = library.adding_wiki(path, **options) if wiki else library.adding_code(path, **options)
        failed = _show_files(path, stream, build_printer(verbose, progress), as_json=as_json, verbose=verbose) or failed
    if failed:
        sys.exit(EXIT_SOME_FAILED)


def _show_files(
    path: str, stream: Iterable[Followed], show: Callable[[Followed], None], *, as_json: bool, verbose: bool
) -> bool:
    """Print files as they arrive, then the counts; return whether a file failed."""
    began = time.monotonic()
    files: list[Followed] = []
    counts: dict[SyncStatus, int] = dict.fromkeys(get_args(SyncStatus), 0)
    for file in stream:
        counts[file.status] += 1
        if file.status != "unchanged":
            files.append(file)
            if not as_json:
                show(file)
    done = Synced(path, tuple(files), counts, False, round((time.monotonic() - began) * 1000, 1))
    if as_json:
        click.echo(json.dumps(to_json(done), ensure_ascii=False))
    else:
        click.echo(summary(done))
        _show_left_out(files)
    return counts["failed"] > 0


def _show_left_out(files: list[Followed]) -> None:
    reasons = Counter(file.warnings[0] for file in files if file.status == "skipped" and file.warnings)
    if reasons:
        totals = "; ".join(f"{count:,} {reason}" for reason, count in reasons.most_common(6))
        click.echo(f"left out: {totals} (-v lists them)")
