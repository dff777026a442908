"""Archives of documents: what comes out, and what is refused with a reason while the rest goes on."""

from __future__ import annotations

import io
import struct
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from footnotes.library import Library
from format_samples import as_docx
from libraries import HANDBOOK, TRAVEL, quick_library


def packed(path: Path, members: dict[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, method)
    return path


def outcome(library: Library, path: Path) -> dict[str, str]:
    """The part of each member after the archive → its status, or the code of its error."""
    found = library.add(path)
    return {
        added.path.removeprefix(f"{path}").removeprefix("!/"): added.error.code if added.error else added.status
        for added in found
    }


def test_every_member_is_a_document(library: Library, tmp_path: Path) -> None:
    path = packed(tmp_path / "docs.zip", {"handbook.md": HANDBOOK, "deep/er/travel.txt": TRAVEL})
    assert outcome(library, path) == {"handbook.md": "ready", "deep/er/travel.txt": "ready"}
    sources = {document.source: document.filename for document in library.documents()}
    assert sources[f"{path}!/deep/er/travel.txt"] == "travel.txt"
    assert library.ask("How many days of paid leave does every employee have?").citations
    assert outcome(library, path) == {"handbook.md": "deduplicated", "deep/er/travel.txt": "deduplicated"}


@pytest.mark.parametrize("ending", ["tar", "tar.gz", "tgz", "tar.bz2", "tar.xz"])
def test_a_tar_is_an_archive_too(library: Library, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"docs.{ending}"
    mode = {"tar": "w", "tgz": "w:gz"}.get(ending, f"w:{ending.rpartition('.')[2]}")
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        for name, text in {"handbook.md": HANDBOOK, "../out.txt": "No."}.items():
            info = tarfile.TarInfo(name)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
        link = tarfile.TarInfo("link.txt")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    expected = {"handbook.md": "ready", "../out.txt": "archive_member", "link.txt": "skipped"}
    assert outcome(library, path) == expected


def test_an_office_file_is_not_taken_apart(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "letter.docx"
    path.write_bytes(as_docx())
    (added,) = library.add(path)
    assert (added.path, added.status) == (str(path), "ready")


def test_names_that_lead_out_are_refused(library: Library, tmp_path: Path) -> None:
    names = ["../up.txt", "/etc/passwd", "C:\\windows.txt", "..\\back.txt", "a/../../b.txt", "fine/../no.txt"]
    members: dict[str, bytes | str] = {**dict.fromkeys(names, "Some text here."), "good.txt": "A good text."}
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    found = outcome(library, packed(tmp_path / "docs.zip", members))
    assert found.pop("good.txt") == "ready"
    assert set(found.values()) == {"archive_member"} and len(found) == len(names)
    inside = {path for path in tmp_path.rglob("*") if "library" not in path.parts and path.is_file()}
    assert inside - set(before) == {tmp_path / "docs.zip"}


def test_an_archive_in_an_archive_is_refused(library: Library, tmp_path: Path) -> None:
    inner = packed(tmp_path / "inner.zip", {"a.txt": "Inside of it."}).read_bytes()
    found = outcome(library, packed(tmp_path / "outer.zip", {"inner.zip": inner, "b.txt": "Beside it."}))
    assert found == {"inner.zip": "archive_member", "b.txt": "ready"}


def test_hidden_and_repeated_members(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "docs.zip"
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "w") as archive:
        for name, text in (("a.txt", "First."), ("a.txt", "Second."), ("__MACOSX/a.txt", "x"), (".DS_Store", "x")):
            archive.writestr(name, text)
    found = library.add(path)
    statuses = [(added.status, added.error.code if added.error else None) for added in found]
    assert sorted(map(str, statuses)) == sorted(
        map(str, [("ready", None), ("failed", "archive_member"), ("skipped", None), ("skipped", None)])
    )
    assert library.text(library.documents()[0].id).startswith("First")


def encrypted(content: bytes) -> bytes:
    """The same archive with every entry marked as encrypted."""
    data = bytearray(content)
    for signature, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        start = -1
        while (start := data.find(signature, start + 1)) >= 0:
            data[start + at] |= 1
    return bytes(data)


def test_an_encrypted_archive_says_so(library: Library, tmp_path: Path) -> None:
    path = packed(tmp_path / "docs.zip", {"a.txt": "Secret.", "b.txt": "More."})
    path.write_bytes(encrypted(path.read_bytes()))
    assert outcome(library, path) == {"a.txt": "encrypted_document", "b.txt": "encrypted_document"}


def test_a_bomb_is_cut_off_and_what_came_before_stays(tmp_path: Path) -> None:
    path = packed(tmp_path / "bomb.zip", {"a.txt": "A good text.", "bomb.txt": b"0" * 40_000_000, "c.txt": "After."})
    with quick_library(tmp_path / "library", archive_max_bytes=20_000_000) as library:
        assert outcome(library, path) == {"a.txt": "ready", "bomb.txt": "archive_limit", "c.txt": "archive_limit"}
    with quick_library(tmp_path / "other", max_file_bytes=1_000_000) as library:
        found = outcome(library, path)
        assert found == {"a.txt": "ready", "bomb.txt": "archive_limit", "c.txt": "archive_limit"}, "the ratio"


def test_one_member_that_is_too_large(tmp_path: Path) -> None:
    members: dict[str, bytes | str] = {"large.txt": b"word " * 300_000, "small.txt": "A small text."}
    path = packed(tmp_path / "docs.zip", members, zipfile.ZIP_STORED)
    with quick_library(tmp_path / "library", max_file_bytes=1_000_000) as library:
        assert outcome(library, path) == {"large.txt": "document_too_large", "small.txt": "ready"}


def test_a_size_that_is_a_lie(library: Library, tmp_path: Path) -> None:
    """The directory says 10 bytes, the stream holds forty million: no more than was said is ever read."""
    path = packed(tmp_path / "docs.zip", {"a.txt": b"0" * 40_000_000})
    data = bytearray(path.read_bytes())
    entry = data.find(b"PK\x01\x02")
    struct.pack_into("<I", data, entry + 24, 10)
    path.write_bytes(bytes(data))
    (status,) = outcome(library, path).values()
    assert status in ("parse_error", "archive_limit")


def test_too_many_members(tmp_path: Path) -> None:
    path = packed(tmp_path / "docs.zip", {f"{number}.txt": f"Text {number}" for number in range(30)})
    with quick_library(tmp_path / "library", archive_max_members=20) as library:
        assert outcome(library, path) == {"": "archive_limit"}
    with quick_library(tmp_path / "other", archive_max_members=30) as library:
        assert set(outcome(library, path).values()) == {"ready"}


def test_a_tar_whose_headers_have_no_end(library: Library, tmp_path: Path) -> None:
    """A header of attributes is read into memory whole; one of fifty megabytes of zeros packs into almost nothing."""
    path = tmp_path / "docs.tar.gz"
    huge = tarfile.TarInfo("header")
    huge.type, huge.size = tarfile.XHDTYPE, 50_000_000
    with tarfile.open(path, "w:gz") as archive:
        archive.addfile(huge, io.BytesIO(bytes(huge.size)))
    assert outcome(library, path) == {"": "archive_limit"}


@pytest.mark.parametrize("cut", [0.3, 0.7, 0.95])
@pytest.mark.parametrize("kind", ["zip", "tar.gz"])
def test_a_damaged_archive_fails_with_a_code(library: Library, tmp_path: Path, cut: float, kind: str) -> None:
    path = tmp_path / f"docs.{kind}"
    texts: dict[str, Any] = {f"{number}.txt": f"Text {number} " * 50 for number in range(20)}
    if kind == "zip":
        packed(path, texts)
    else:
        with tarfile.open(path, "w:gz") as archive:
            for name, text in texts.items():
                info = tarfile.TarInfo(name)
                info.size = len(text)
                archive.addfile(info, io.BytesIO(text.encode()))
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * cut)])
    found = outcome(library, path)
    assert "parse_error" in found.values() and set(found.values()) <= {"parse_error", "ready"}


def test_a_name_that_lies_is_no_archive(library: Library, tmp_path: Path) -> None:
    path = tmp_path / "notes.zip"
    path.write_text("Only a text with a strange name.")
    (added,) = library.add(path)
    assert added.status == "ready" and added.path == str(path)
