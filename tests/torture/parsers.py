"""Files mutated by libFuzzer through `atheris`, as any user may hand them over: each is read or refused, in time.

`parsers` starts this module as a process of its own: libFuzzer ends the process it runs in.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from footnotes.errors import FootnotesError
from torture import Budget, Row

LARGEST = 100_000
SECONDS = 20
_TOLD_EVERY = 50


def parsers(name: str, samples: Mapping[str, bytes], *, budget: Budget, seed: int) -> Row:
    """Mutations of samples (suffix → bytes), each parsed as an upload is: in a process with limits."""
    if importlib.util.find_spec("atheris") is None:
        return Row(name, skipped="atheris is not installed: pip install 'footnotes[torture]'")
    seconds = int(min(budget.seconds, budget.trials * SECONDS))
    with tempfile.TemporaryDirectory() as folder:
        corpus, result = Path(folder) / "corpus", Path(folder) / "result.json"
        corpus.mkdir()
        suffixes = sorted(samples)
        for number, suffix in enumerate(suffixes):
            (corpus / str(number)).write_bytes(bytes([number]) + samples[suffix][:LARGEST])
        words = [sys.executable, "-m", "torture.parsers", str(result), json.dumps(suffixes)]
        limits = [f"-runs={budget.trials}", f"-max_total_time={seconds}", f"-seed={seed}"]
        limits += [f"-max_len={LARGEST}", "-timeout=300", "-verbosity=0"]
        path = os.pathsep.join([str(Path(__file__).parent.parent), *filter(None, sys.path)])
        ended = subprocess.run(
            [*words, *limits, str(corpus)],
            env={**os.environ, "PYTHONPATH": path},
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=600 + seconds,
            check=False,
        )
        row = Row(name, **json.loads(result.read_text())) if result.exists() else Row(name)
        if ended.returncode or not row.trials:
            row.note("crashed", f"the fuzzer ended with {ended.returncode}: {ended.stderr[-300:]}")
        return row


def parse_one(path: Path, row: Row) -> None:
    """Read one file; what is read must be spans of its text, one after another."""
    from footnotes.parse import Source
    from footnotes.parse.limits import Limits
    from footnotes.parse.open import parse_document
    from footnotes.parse.sniff import sniff
    from footnotes.types import Report

    row.trials += 1
    try:
        source = Source(path, path.name, sniff(path, path.name).mime)
        position = 0
        for item in parse_document(source, limits=Limits(seconds=SECONDS, characters=10_000_000)):
            if isinstance(item, Report):
                continue
            if item.start < position or item.end < item.start:
                row.note("wrong", f"{path.name}: a part at {item.start} after {position}")
            position = item.end
    except FootnotesError:
        return
    except Exception as error:  # not of the tree: nobody foresaw it
        row.note("crashed", f"{path.name}: {error!r}")


def main(result: Path, suffixes: list[str], arguments: list[str]) -> None:
    import atheris

    row = Row("")
    trials = next(int(word.partition("=")[2]) for word in arguments if word.startswith("-runs="))
    folder = Path(tempfile.mkdtemp(dir=result.parent))

    def one(data: bytes) -> None:
        path = folder / f"mutated{suffixes[data[0] % len(suffixes)] if data else '.txt'}"
        path.write_bytes(data[1:])
        parse_one(path, row)
        if row.trials % _TOLD_EVERY == 0 or row.trials >= trials:
            kept = {key: value for key, value in vars(row).items() if key != "name"}
            result.write_text(json.dumps(kept))

    atheris.Setup([sys.argv[0], *arguments], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), sys.argv[3:])
