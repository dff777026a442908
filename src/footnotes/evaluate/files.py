"""Runs on disk, written by `--save` and read by `--compare`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from footnotes.errors import GoldenError
from footnotes.evaluate.run import Outcome, Run

VERSION = 1


def save_run(path: Path, run: Run) -> None:
    path.write_text(json.dumps({"version": VERSION, **asdict(run)}, ensure_ascii=False, indent=1), encoding="utf-8")


def load_run(path: Path) -> Run:
    """Load a saved run."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        if content["version"] != VERSION:
            raise GoldenError(f"{path} was written by another version of Footnotes")
        outcomes = tuple(
            Outcome(**{**each, "found": tuple(each["found"]), "expected": tuple(each["expected"])})
            for each in content["outcomes"]
        )
        return Run(content["name"], outcomes, content["details"])
    except OSError as error:
        raise GoldenError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, KeyError, TypeError) as error:
        raise GoldenError(f"{path} is not a saved run", remedy="Write one with `footnotes eval --save`.") from error
