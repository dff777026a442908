"""Memory and time of very large documents: a PDF of 3,000 pages, a text of 100 MB, a CSV of 200 MB; each also at half.

    python benchmarks/scale.py [pdf] [text] [csv] [--share 1.0]

Each size is taken in by a process of its own, with an embedder that costs nothing, so that what is measured is ours.
Prints seconds, the highest resident memory of the process and of its parser process, and the ratio of the times.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from footnotes.embed import Matrix
from footnotes.types import Role

PAGES, TEXT_BYTES, CSV_BYTES = 3_000, 100_000_000, 200_000_000
_WORDS = [f"{first}{second}{third}" for first in "bdfglmnprst" for second in ("a", "e", "io", "u") for third in
          ("n", "r", "st", "l", "ming", "ter")]  # fmt: skip


class Free:
    """An embedder that costs next to nothing: a few numbers from the length of each text."""

    name, fingerprint, dimensions, max_tokens = "free", "free/1", 16, 0

    def embed(self, texts: Sequence[str], *, role: Role) -> Matrix:
        lengths = np.array([[len(text)] for text in texts], dtype=np.float32)
        vectors = np.cos(lengths * np.arange(1, 17, dtype=np.float32))
        unit: Matrix = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
        return unit


def sentence(number: int) -> str:
    """Fourteen words that are like no other fourteen."""
    return " ".join(_WORDS[(number * 31 + place * place * 7 + number // 97) % len(_WORDS)] for place in range(14)) + "."


def make_pdf(path: Path, share: float) -> None:
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    for number in range(int(PAGES * share)):
        pdf.add_page()
        pdf.multi_cell(0, 6, f"Section {number + 1}\n\n" + " ".join(sentence(number * 40 + each) for each in range(25)))
    pdf.output(str(path))


def make_text(path: Path, share: float) -> None:
    _fill(path, int(TEXT_BYTES * share), ("\n\n" * (number % 8 == 0) + sentence(number) + " " for number in _numbers()))


def make_csv(path: Path, share: float) -> None:
    rows = (
        f'{number},"{sentence(number)}",{number * 37 % 1000},2024-05-{number % 28 + 1:02}\n' for number in _numbers()
    )
    _fill(path, int(CSV_BYTES * share), rows, "id,remark,amount,day\n")


def _numbers() -> Iterator[int]:
    number = 0
    while True:
        yield number
        number += 1


def _fill(path: Path, size: int, lines: Iterator[str], head: str = "") -> None:
    with path.open("w", encoding="utf-8") as file:
        written = file.write(head)
        for line in lines:
            written += file.write(line)
            if written >= size:
                return


MAKERS = {"pdf": make_pdf, "text": make_text, "csv": make_csv}
NAMES = {"pdf": "large.pdf", "text": "large.txt", "csv": "large.csv"}


def take_in(path: Path, home: Path) -> None:
    """In a process of its own: add the file, and say what it cost."""
    from footnotes.library import Library
    from footnotes.parse.pool import POOL
    from footnotes.settings import Settings

    settings = Settings(parse_seconds=3_000, max_file_bytes=1 << 30)
    with Library(home, settings=settings, embedder=Free()) as library:
        began = time.perf_counter()
        (added,) = library.add(path)
        seconds = time.perf_counter() - began
    POOL.close()
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(json.dumps({"status": added.status, "error": added.error and added.error.code, "chunks": added.chunks,
                      "seconds": seconds, "mb": peaks[0], "parser_mb": peaks[1]}))  # fmt: skip


def measured(kind: str, share: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / NAMES[kind]
        MAKERS[kind](path, share)
        words = [sys.executable, __file__, "--take-in", str(path), str(Path(folder) / "library")]
        done = subprocess.run(words, capture_output=True, text=True, check=True, env=os.environ)
        found: dict[str, float] = json.loads(done.stdout)
        size = path.stat().st_size / 1e6
    print(f"{kind:5} {size:7.1f} MB  {found['status']}  {found['chunks']:,} chunks  {found['seconds']:.1f} s  "
          f"{found['mb']:.0f} MB, parser {found['parser_mb']:.0f} MB", flush=True)  # fmt: skip
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", default=list(MAKERS))
    parser.add_argument("--share", type=float, default=1.0, help="of the full size")
    parser.add_argument("--take-in", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.take_in:
        take_in(*given.take_in)
        return
    for kind in given.kinds:
        half, whole = measured(kind, given.share / 2), measured(kind, given.share)
        print(f"{kind:5} time at double the size: {whole['seconds'] / half['seconds']:.2f}")


if __name__ == "__main__":
    main()
