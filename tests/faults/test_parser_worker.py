"""A parser that dies, hangs or balloons fails one document and nothing else."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from fpdf import FPDF

from footnotes.errors import DocumentError, EmptyDocument, ParseError, ParseLimit
from footnotes.parse import Source
from footnotes.parse import worker as worker_module
from footnotes.parse.limits import Limits
from footnotes.parse.pool import Pool
from footnotes.parse.worker import Worker
from footnotes.types import Part, Report

MEMORY = 512 * 1024**2

BAD_PARSERS = """
import os, signal, socket, sys, time
from footnotes.errors import EmptyDocument
from footnotes.types import Part, Report


class Bad:
    def parse(self, source):
        yield Part(0, "first", ())
        what = source.path.read_text()
        if what == "crash": os.kill(os.getpid(), signal.SIGSEGV)
        if what == "exit": sys.exit(3)
        if what == "spin":
            while True: pass
        if what == "sleep": time.sleep(600)
        if what == "balloon": held = [bytearray(50_000_000) for _ in range(1000)]
        if what == "recurse": self.parse_deep()
        if what == "raise": raise KeyError("odd")
        if what == "empty": raise EmptyDocument("nothing", remedy="do")
        if what == "network": socket.create_connection(("127.0.0.1", 9))
        if what == "print": print("x" * 100_000)
        if what == "long":
            for index in range(200): yield Part(5 + index * 100_000, "y" * 100_000, ())
        yield Report("bad", "x/bad", 5)

    def parse_deep(self): self.parse_deep()
"""


@pytest.fixture
def bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Pool, Path]]:
    """A pool whose workers know a parser that misbehaves as its file says."""
    package = tmp_path / "plugin"
    package.mkdir()
    (package / "bad_parser.py").write_text(BAD_PARSERS)
    info = package / "bad_parser-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bad-parser\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[footnotes.parsers]\nbad = bad_parser:Bad\n")
    monkeypatch.setattr(sys, "path", [*sys.path, str(package)])
    pool = Pool()
    yield pool, tmp_path / "file"
    pool.close()


def run(bad: tuple[Pool, Path], what: str, limits: Limits | None = None) -> list[Part | Report]:
    pool, path = bad
    path.write_text(what)
    limits = limits or Limits(memory_bytes=MEMORY, seconds=20)
    return list(pool.parse("bad", Source(path, "file.bad", "x/bad"), limits))


@pytest.mark.parametrize(
    ("what", "error"),
    [
        ("crash", ParseError),
        ("exit", ParseError),
        ("balloon", ParseLimit),
        ("recurse", ParseLimit),
        ("raise", ParseError),
        ("empty", EmptyDocument),
        ("network", ParseError),
    ],
)
def test_a_failing_parser_fails_its_document_and_the_next_one_is_read(
    bad, what: str, error: type[DocumentError]
) -> None:
    with pytest.raises(error) as caught:
        run(bad, what)
    assert caught.type is error
    assert "file.bad" in str(caught.value) or what == "empty"
    assert isinstance(run(bad, "fine")[-1], Report)


def test_processor_time_is_limited(bad) -> None:
    with pytest.raises(ParseLimit, match="processor time"):
        run(bad, "spin", Limits(memory_bytes=MEMORY, seconds=1))


def test_waiting_is_limited(bad, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "GRACE_SECONDS", 0)
    with pytest.raises(ParseLimit, match="within 1 seconds"):
        run(bad, "sleep", Limits(memory_bytes=MEMORY, seconds=1))


def test_what_a_library_prints_does_not_garble_the_answer(bad) -> None:
    assert [type(item) for item in run(bad, "print")] == [Part, Report]


def test_a_worker_is_used_again_after_success_and_after_an_ordinary_error(bad) -> None:
    pool, _ = bad
    run(bad, "fine")
    [worker] = pool._idle
    with pytest.raises(ParseError):
        run(bad, "raise")
    run(bad, "long")
    assert pool._idle == [worker]
    assert worker.documents == 3


def test_a_reader_that_leaves_early_leaves_no_process(bad) -> None:
    run(bad, "fine")
    pool, path = bad
    [worker] = pool._idle
    path.write_text("long")
    items = pool.parse("bad", Source(path, "file.bad", "x/bad"), Limits(memory_bytes=MEMORY))
    next(items)
    items.close()
    assert pool._idle == []
    assert not worker.alive


def test_a_killed_worker_is_replaced(bad) -> None:
    pool, _ = bad
    run(bad, "fine")
    [worker] = pool._idle
    worker._process.send_signal(signal.SIGKILL)
    worker._process.wait()
    assert isinstance(run(bad, "fine")[-1], Report)


def test_random_damage_to_a_pdf_never_raises_anything_unclassified(tmp_path: Path) -> None:
    """Promise P2 for PDF: cut anywhere, or with bytes turned over."""
    import random

    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    for _ in range(3):
        pdf.add_page()
        pdf.multi_cell(0, 6, "Some words to find again in the text of this page. " * 20)
    whole = bytes(pdf.output())
    chance = random.Random(7)
    path = tmp_path / "a.pdf"
    worker_pool = Pool()
    for _ in range(60):
        damaged = bytearray(whole[: chance.randrange(10, len(whole))])
        for _ in range(chance.randrange(3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        path.write_bytes(damaged)
        try:
            list(
                worker_pool.parse(
                    "pdf", Source(path, "a.pdf", "application/pdf"), Limits(memory_bytes=MEMORY, seconds=10)
                )
            )
        except DocumentError as error:
            assert error.code in ("parse_error", "empty_document", "parse_limit", "encrypted_document")
    worker_pool.close()


def test_a_worker_says_why_it_cannot_begin(tmp_path: Path) -> None:
    worker = Worker(MEMORY)
    worker._process.kill()
    worker._process.wait()
    with pytest.raises(ParseError):
        list(worker.parse("pdf", Source(tmp_path / "x", "x.pdf", "application/pdf"), Limits()))
    worker.close()
