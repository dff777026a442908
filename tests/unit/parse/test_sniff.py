from __future__ import annotations

from pathlib import Path

import pytest

from footnotes.errors import EmptyDocument, SourceUnreadable, UnsupportedType
from footnotes.parse.sniff import Sniffed, sniff


@pytest.fixture
def sniffed(tmp_path: Path):
    def run(filename: str, content: bytes) -> Sniffed:
        path = tmp_path / "upload"
        path.write_bytes(content)
        return sniff(path, filename)

    return run


@pytest.mark.parametrize(
    ("filename", "content", "mime"),
    [
        ("a.txt", b"plain words", "text/plain"),
        ("a", b"plain words", "text/plain"),
        ("a.MD", b"# title", "text/markdown"),
        ("a.pdf", b"%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        ("a.pdf", b"junk line\n%PDF-1.7\n%\xe2\xe3", "application/pdf"),
        ("a.txt", "größe".encode("utf-16-le"), "text/plain"),
        ("a.txt", "größe und maß".encode("latin-1"), "text/plain"),
        ("a.txt", b"words with a\x00nul in them", "text/plain"),
    ],
)
def test_content_types(sniffed, filename: str, content: bytes, mime: str) -> None:
    assert sniffed(filename, content) == Sniffed(mime)


@pytest.mark.parametrize(
    ("filename", "content", "mime"),
    [("a.txt", b"%PDF-1.7\n", "application/pdf"), ("a.pdf", b"only words", "text/plain")],
)
def test_a_name_that_lies_is_recorded(sniffed, filename: str, content: bytes, mime: str) -> None:
    found = sniffed(filename, content)
    assert found.mime == mime
    assert filename[1:] in found.warnings[0]


def test_unknown_binary_is_refused(sniffed) -> None:
    with pytest.raises(UnsupportedType):
        sniffed("a.bin", bytes(range(256)) * 40)
    with pytest.raises(UnsupportedType):
        sniffed("a.txt", bytes(range(256)) * 40)


@pytest.mark.parametrize("content", [b"", b"\n \t\r\n", b"\xef\xbb\xbf", b"\xff\xfe", b"\xff\xfe \x00"])
def test_nothing_is_empty(sniffed, content: bytes) -> None:
    with pytest.raises(EmptyDocument):
        sniffed("a.pdf", content)


def test_a_missing_file_is_unreadable(tmp_path: Path) -> None:
    with pytest.raises(SourceUnreadable):
        sniff(tmp_path / "none", "none")


def test_a_model_tells_what_neither_bytes_nor_name_do(tmp_path) -> None:
    path = tmp_path / "data"
    path.write_bytes(b"name,days,place\n" + b"Anna,30,Rome\nBen,28,Paris\n" * 20)
    assert sniff(path, "data").mime == "text/csv"
