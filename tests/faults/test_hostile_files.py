"""Promises P2 and P5 to P8: damaged and hostile files give text with a warning or a classified error."""

from __future__ import annotations

import io
import random
import socket
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from footnotes.errors import ArchiveLimit, DocumentError, EncryptedDocument, ParseLimit
from footnotes.parse import Source
from footnotes.parse.limits import Limits
from footnotes.parse.open import parse_document
from footnotes.parse.sniff import sniff
from footnotes.types import Part, Report
from format_samples import NEEDLE, SAMPLES, sample, zipped

LIMITS = Limits(memory_bytes=1024**3, seconds=20)
CODES = {"parse_error", "empty_document", "parse_limit", "archive_limit", "encrypted_document", "unsupported_type"}


def read(path: Path, filename: str) -> tuple[str, Report]:
    found = sniff(path, filename)
    items = list(parse_document(Source(path, filename, found.mime), limits=LIMITS, warnings=found.warnings))
    report = items[-1]
    assert isinstance(report, Report)
    return "".join(item.text for item in items if isinstance(item, Part)), report


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "upload"


@pytest.mark.parametrize("name", SAMPLES)
def test_truncated_anywhere_nothing_is_unclassified(file: Path, name: str) -> None:
    whole = sample(name)
    chance = random.Random(name)
    for _ in range(25):
        file.write_bytes(whole[: chance.randrange(1, len(whole))])
        try:
            read(file, name)
        except DocumentError as error:
            assert error.code in CODES, error


ODD = Path(__file__).parents[3] / "shared" / "data" / "odd"
FEW = 40


@pytest.mark.skipif(not ODD.is_dir(), reason="the odd files are not here")
def test_odd_files_truncated_are_never_unclassified(file: Path) -> None:
    """Some of them at one place each; `benchmarks/formats.py --truncated N` does all of them N times."""
    chance = random.Random(3)
    small = sorted(path for path in ODD.rglob("*") if path.is_file() and 1 < path.stat().st_size < 200_000)
    for path in chance.sample(small, min(FEW, len(small))):
        whole = path.read_bytes()
        file.write_bytes(whole[: chance.randrange(1, len(whole))])
        try:
            read(file, path.name)
        except DocumentError as error:
            assert error.code in CODES, (path, error)


@pytest.mark.parametrize("name", [name for name in SAMPLES if name not in ("a.txt", "a.md", "a.rst")])
def test_with_bytes_turned_over_nothing_is_unclassified(file: Path, name: str) -> None:
    whole = sample(name)
    chance = random.Random(name)
    for _ in range(25):
        damaged = bytearray(whole)
        for _ in range(chance.randrange(1, 6)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        file.write_bytes(damaged)
        try:
            read(file, name)
        except DocumentError as error:
            assert error.code in CODES, error


# ── archives


def with_entry(name: str, entry: str, content: bytes) -> bytes:
    """A good archive with one entry more."""
    buffer = io.BytesIO(sample(name))
    with zipfile.ZipFile(buffer, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(entry, content)
    return buffer.getvalue()


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx", "a.odt", "a.epub", "renamed.txt"])
def test_a_bomb_is_refused(file: Path, name: str) -> None:
    original = "a.docx" if name == "renamed.txt" else name
    file.write_bytes(with_entry(original, "media/bomb.bin", b"\x00" * 100_000_000))
    with pytest.raises(ArchiveLimit):
        read(file, name)


def test_a_bomb_that_lies_about_its_size_is_refused(file: Path) -> None:
    content = bytearray(with_entry("a.docx", "media/bomb.bin", b"\x00" * 100_000_000))
    size = (100_000_000).to_bytes(4, "little")
    assert content.count(size) == 2
    file.write_bytes(bytes(content).replace(size, (1000).to_bytes(4, "little")))
    with pytest.raises(ArchiveLimit):
        read(file, "a.docx")


def test_too_many_entries_are_refused(file: Path) -> None:
    files: dict[str, str | bytes] = {f"word/{number}": b"" for number in range(20_000)}
    file.write_bytes(zipped({"word/document.xml": b"<x/>", **files}))
    with pytest.raises(ArchiveLimit):
        read(file, "a.docx")


def test_a_password_is_named(file: Path) -> None:
    marker = "EncryptedPackage".encode("utf-16-le")
    file.write_bytes(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 500 + marker + b"\x00" * 500)
    with pytest.raises(EncryptedDocument):
        read(file, "a.docx")


# ── markup


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A listener nobody may call."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.2)
        yield server
        with pytest.raises(TimeoutError):
            server.accept()


def entities(port: int) -> str:
    return (
        f'<!DOCTYPE r [<!ENTITY file SYSTEM "file:///etc/passwd"><!ENTITY net SYSTEM "http://127.0.0.1:{port}/x">'
        f'<!ENTITY % more SYSTEM "http://127.0.0.1:{port}/y"> %more;]>'
    )


@pytest.mark.parametrize("name", ["a.xml", "a.svg", "a.html"])
def test_external_entities_are_inert(file: Path, canary: socket.socket, name: str) -> None:
    doctype = entities(canary.getsockname()[1])
    file.write_bytes(f"<?xml version='1.0'?>{doctype}<r><p>{NEEDLE}</p><p>&file; &net;</p></r>".encode())
    try:
        text, _ = read(file, name)
    except DocumentError as error:
        assert error.code in CODES
    else:
        assert "root:" not in text


@pytest.mark.parametrize(
    ("name", "entry", "before"),
    [
        ("a.docx", "word/document.xml", b"<w:document"),
        ("a.pptx", "ppt/slides/slide1.xml", b"<p:sld"),
        ("a.odt", "content.xml", b"<office:document-content"),
    ],
)
def test_external_entities_inside_office_files_are_inert(
    file: Path, canary: socket.socket, name: str, entry: str, before: bytes
) -> None:
    doctype = entities(canary.getsockname()[1]).encode()
    with zipfile.ZipFile(io.BytesIO(sample(name))) as archive:
        files: dict[str, str | bytes] = {each: archive.read(each) for each in archive.namelist()}
    content = bytes(files[entry]).replace(before, doctype + before, 1).replace(b"three months", b"&file; &net;")
    assert doctype in content
    file.write_bytes(zipped({**files, entry: content}))
    try:
        text, _ = read(file, name)
    except DocumentError as error:
        assert error.code in CODES
    else:
        assert "root:" not in text


def test_entities_do_not_explode(file: Path) -> None:
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    file.write_bytes(f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY l0 "lol">{laughs}]><r><p>&l9;</p></r>'.encode())
    try:
        text, _ = read(file, "a.xml")
    except DocumentError as error:
        assert error.code in CODES
    else:
        assert len(text) < 20_000_000


def test_a_million_nested_elements_are_read(file: Path) -> None:
    file.write_bytes(b"<html><body>" + b"<div>" * 1_000_000 + NEEDLE.encode())
    assert read(file, "a.html")[0] == NEEDLE


def test_nothing_a_page_names_is_fetched(file: Path, canary: socket.socket) -> None:
    address = f"http://127.0.0.1:{canary.getsockname()[1]}"
    page = f"<html><head><base href='{address}/'><link rel=stylesheet href=x.css><script src=x.js></script></head>"
    file.write_bytes(f"{page}<body><img src=x.png><iframe src=y></iframe><p>{NEEDLE}</p></body></html>".encode())
    assert read(file, "a.html")[0] == NEEDLE


def test_deep_json_is_refused(file: Path) -> None:
    file.write_bytes(b"[" * 100_000)
    with pytest.raises(ParseLimit):
        read(file, "a.json")


# ── tables


@pytest.mark.parametrize(
    "content",
    [
        b"a,b\n1\n1,2,3,4\n,,\n",
        b'a,b\n"never closed,2\n3,4\n',
        b"a,b\n=cmd|'/c calc'!A0,2\n",
        b"a,b\x00c\n1,2\n",
        b",".join(b"c%d" % number for number in range(100_000)) + b"\n" + b",".join([b"1"] * 100_000),
        b"a,b\n" + b'"' + b"x" * 2_000_000 + b"\n1,2\n",
        b"a,b\n" + b"x" * 4_000_000 + b",2\n",
    ],
    ids=["ragged", "unclosed", "formula", "nul", "wide", "unclosed-long", "long-cell"],
)
def test_odd_tables_are_read(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    text, _ = read(file, "a.csv")
    kept = sum(map(str.isalnum, content.decode().replace("\x00", "")))
    assert sum(map(str.isalnum, text)) == kept


def test_rows_after_a_quote_that_never_ends_are_kept_and_said_so(file: Path) -> None:
    rows = b"\n".join(b"%d,word" % number for number in range(200_000))
    file.write_bytes(b'number,text\n0,"open\n' + rows)
    text, report = read(file, "a.csv")
    assert "199999 | word" in text
    assert "never closed" in report.warnings[0]


# ── PDF


def pdf_of(objects: list[bytes], trailer: bytes = b"") -> bytes:
    """A PDF put together by hand, so that it can be wrong on purpose."""
    content = b"%PDF-1.7\n"
    places = []
    for number, body in enumerate(objects, start=1):
        places.append(len(content))
        content += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(content)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    content += b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
    return content + b"trailer\n<</Size %d/Root 1 0 R %s>>\nstartxref\n%d\n%%%%EOF" % (len(objects) + 1, trailer, start)


PAGE = b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R/Resources<</Font<</F 5 0 R>>>>>>"
FONT = b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"


def stream(data: bytes, extra: bytes = b"") -> bytes:
    return b"<</Length %d %s>>stream\n%s\nendstream" % (len(data), extra, data)


def simple_pdf(contents: bytes, catalog: bytes = b"", trailer: bytes = b"") -> bytes:
    root = b"<</Type/Catalog/Pages 2 0 R %s>>" % catalog
    return pdf_of([root, b"<</Type/Pages/Kids[3 0 R]/Count 1>>", PAGE, contents, FONT], trailer)


WRITTEN = stream(b"BT /F 12 Tf 50 700 Td (%s) Tj ET" % NEEDLE.encode())


def test_a_pdf_put_together_by_hand_is_read(file: Path) -> None:
    file.write_bytes(simple_pdf(WRITTEN))
    assert read(file, "a.pdf")[0] == NEEDLE


@pytest.mark.parametrize(
    "content",
    [
        simple_pdf(WRITTEN, trailer=b"/Prev 9"),
        simple_pdf(WRITTEN).replace(b"/Kids[3 0 R]", b"/Kids[2 0 R]"),
        simple_pdf(WRITTEN).replace(b"/Contents 4 0 R", b"/Contents 3 0 R"),
        simple_pdf(WRITTEN, catalog=b"/Outlines 1 0 R/First 1 0 R/Next 1 0 R"),
        simple_pdf(WRITTEN).replace(b"/Count 1>>", b"/Count 2147483647>>"),
        simple_pdf(stream(b"q " * 500_000)),
        simple_pdf(stream(b"[" * 200_000)),
    ],
    ids=["prev", "kids", "contents", "outline", "count", "deep-state", "deep-array"],
)
def test_cycles_and_lies_in_a_pdf_are_survived(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    try:
        read(file, "a.pdf")
    except DocumentError as error:
        assert error.code in CODES


def test_a_pdf_that_unpacks_without_end_stays_within_the_limits(file: Path) -> None:
    once = zlib.compress(b"BT /F 12 Tf 5 7 Td (x) Tj ET " * 8_000_000, 9)
    twice = zlib.compress(once, 9)
    file.write_bytes(simple_pdf(stream(twice, b"/Filter[/FlateDecode/FlateDecode]")))
    try:
        text, _ = read(file, "a.pdf")
    except DocumentError as error:
        assert error.code in ("parse_limit", "parse_error", "empty_document")
    else:
        assert len(text) < 100_000_000
