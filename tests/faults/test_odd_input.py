"""Odd names, metadata and imports: an error with a code for the one, and the others go on."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from footnotes.errors import ImportFormatError, InputError, OptionError
from footnotes.library import Library
from libraries import HANDBOOK, TRAVEL, quick_library, write

ROOT = Path(__file__).parent.parent.parent


def test_a_parser_that_is_not_installed_fails_its_file_alone(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    def missing(*_: object) -> object:
        from footnotes.errors import MissingExtra

        raise MissingExtra("this file needs a package that is not installed", remedy='pip install "footnotes[x]"')

    folder = write(tmp_path / "mixed", a_md=HANDBOOK, b_txt=TRAVEL, c_md=HANDBOOK + "More.")
    monkeypatch.setattr("footnotes.parse.text.TextParser.parse", missing)
    results = {Path(added.path).name: added for added in library.add(folder)}
    assert results["b.txt"].status == "failed" and results["b.txt"].error is not None
    assert results["b.txt"].error.code == "missing_extra"
    assert results["a.md"].status == results["c.md"].status == "ready"


@pytest.mark.skipif(sys.platform == "darwin", reason="file names there are always Unicode")
def test_file_names_that_are_no_unicode(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "odd", good_txt=TRAVEL)
    with open(os.fsencode(folder) + b"/bad\xff.txt", "w") as file:  # noqa: PTH123 - a name of bytes
        file.write("The oboe is black.")
    assert {added.status for added in library.add(folder)} == {"ready"}
    assert library.search("oboe").hits[0].filename == "bad\\xff.txt"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_read(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "odd", good_txt=TRAVEL)
    (folder / "closed").mkdir(mode=0o000)
    assert sorted(added.status for added in library.add(folder)) == ["ready", "skipped"]


def test_rules_that_may_not_be_read_do_not_stop_a_folder(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(tmp_path / "odd", good_txt=TRAVEL)
    original = Path.is_file

    def refusing(self: Path) -> bool:
        if self.name == ".gitignore":
            raise PermissionError(13, "Permission denied")
        return original(self)

    monkeypatch.setattr(Path, "is_file", refusing)
    assert [(Path(added.path).name, added.status) for added in library.add(folder)] == [("good.txt", "ready")]


def test_an_empty_path_is_not_this_folder(library: Library) -> None:
    with pytest.raises(OptionError):
        library.add("")


@pytest.mark.parametrize(
    "metadata",
    [{"a": float("nan")}, {"a": float("inf")}, {"a": b"bytes"}, {"a": object()}, {"a": "x" * 200_000}, {"a": "\ud800"}],
    ids=range(6),
)
def test_metadata_that_is_no_json(library: Library, metadata: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        library.add_text("Some text.", filename="a.txt", metadata=metadata)
    assert library.documents() == []


@pytest.mark.parametrize("call", ["where", "collection", "document", "user"])
def test_lone_surrogates_in_names_are_refused(filled: Library, tmp_path: Path, call: str) -> None:
    with pytest.raises(InputError):
        if call == "where":
            filled.search("leave", where="tag=\udcff")
        elif call == "collection":
            filled.documents(collection="\udcff")
        elif call == "document":
            filled.document("\udcff")
        else:
            quick_library(tmp_path / "other", user="\udcff").add_text("Text.", filename="a.txt")


def test_the_same_bytes_under_names_of_two_kinds_stay_one_document(library: Library, tmp_path: Path) -> None:
    folder = write(tmp_path / "dup", a_md="The oboe is black.\n", b_txt="The oboe is black.\n")
    assert sorted(added.status for added in library.add(folder)) == ["deduplicated", "ready"]
    assert [added.status for added in library.add(folder)] == ["deduplicated", "deduplicated"]
    library.delete(source=folder / "b.txt")
    assert library.documents() == []


def test_rolling_back_restores_the_chunker_too(filled: Library, tmp_path: Path) -> None:
    filled.reindex(chunker="window", chunker_options={"size": 100, "overlap": 0}, keep=True)
    filled.rollback()
    assert [added.status for added in filled.add(tmp_path / "documents")] == ["deduplicated", "deduplicated"]


def test_an_import_never_stands_in_for_a_file(filled: Library, tmp_path: Path) -> None:
    filled.export(tmp_path / "out.jsonl")
    forged = (tmp_path / "out.jsonl").read_text().replace("28 days", "99 days")
    (tmp_path / "forged.jsonl").write_text(forged)
    with quick_library(tmp_path / "victim") as victim:
        victim.import_(tmp_path / "forged.jsonl")
        assert "99 days" in victim.search("days of paid leave").hits[0].text
        victim.add(tmp_path / "documents")
        assert all("99 days" not in victim.text(document.id) for document in victim.documents())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("parts", 0, "blocks", 0, "page"), []),
        (("parts", 0, "blocks", 0, "page"), 10**30),
        (("parts", 0, "blocks", 0, "headings"), [{}]),
        (("parts", 0, "blocks", 0, "kind"), "script"),
        (("parts", 0, "blocks", 0, "start"), -5),
        (("bytes",), "x"),
        (("pages",), []),
        (("warnings",), 5),
        (("title",), "\ud800"),
        (("collection",), "\x00\x1b]0;x\x07"),
        (("metadata",), {"a": float("nan")}),
    ],
    ids=range(11),
)
def test_imports_are_not_trusted(filled: Library, tmp_path: Path, path: tuple[Any, ...], value: Any) -> None:
    filled.export(tmp_path / "out.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    target: Any = [line for line in lines if line["type"] == "document"][-1]
    for step in path[:-1]:
        target = target[step]
    target[path[-1]] = value
    (tmp_path / "wrong.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    with quick_library(tmp_path / "other") as other:
        with pytest.raises(ImportFormatError):
            other.import_(tmp_path / "wrong.jsonl")
        assert other.documents() == []


def test_a_library_is_its_owners_alone(filled: Library) -> None:
    assert filled.folder.stat().st_mode & 0o077 == 0
    assert (filled.folder / "footnotes.db").stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("name", "value"), [("EMBED_BATCH", "0"), ("LOCK_SECONDS", "nan"), ("LIMIT", "-1"), ("MODEL_TIMEOUT", "inf")]
)
def test_settings_nothing_could_be_done_with_are_refused(tmp_path: Path, name: str, value: str) -> None:
    from footnotes.errors import ConfigError
    from footnotes.settings import load

    with pytest.raises(ConfigError, match=name.lower()):
        load(tmp_path, environ={f"FOOTNOTES_{name}": value})


def test_arguments_of_the_wrong_type_are_clear_errors(tmp_path: Path) -> None:
    from footnotes.errors import OptionError

    with quick_library(tmp_path / "library") as library:
        library.add_text("Alpha.", filename="a.txt")
        for call in (
            lambda: library.search(None),  # type: ignore[arg-type]
            lambda: library.ask(3),  # type: ignore[arg-type]
            lambda: library.ask("x", passages=0),
            lambda: library.search("x", limit="many"),  # type: ignore[arg-type]
        ):
            with pytest.raises(OptionError):
                call()


def test_links_in_circles_are_left_out(tmp_path: Path) -> None:
    folder = write(tmp_path / "in", a_txt="Alpha beta.")
    (folder / "one").symlink_to("two")
    (folder / "two").symlink_to("one")
    with quick_library(tmp_path / "library") as library:
        added = {Path(item.path).name: item for item in library.add(folder)}
        assert added["a.txt"].status == "ready"
        assert added["one"].status == added["two"].status == "skipped" and added["one"].warnings


def test_links_in_archives_are_said(tmp_path: Path) -> None:
    import tarfile

    file = write(tmp_path / "in", a_txt="Alpha beta.") / "a.txt"
    with tarfile.open(tmp_path / "t.tar", "w") as archive:
        archive.add(file, "a.txt")
        for name, kind in (("hard.txt", tarfile.LNKTYPE), ("soft.txt", tarfile.SYMTYPE), ("pipe", tarfile.FIFOTYPE)):
            entry = tarfile.TarInfo(name)
            entry.type, entry.linkname = kind, "a.txt"
            archive.addfile(entry)
    with quick_library(tmp_path / "library") as library:
        added = {item.path.rpartition("!/")[2]: item.status for item in library.add(tmp_path / "t.tar")}
    assert added == {"a.txt": "ready", "hard.txt": "skipped", "soft.txt": "skipped", "pipe": "skipped"}


def test_a_password_in_an_address_is_kept_nowhere(tmp_path: Path) -> None:
    with quick_library(tmp_path / "library") as library:
        (added,) = library.add("http://user:s3cretpw@127.0.0.1:9/page")
        assert added.status == "failed" and "s3cretpw" not in str(added) + str(library.jobs())
    assert not any(b"s3cretpw" in path.read_bytes() for path in (tmp_path / "library").rglob("*") if path.is_file())


@pytest.mark.parametrize(("said", "meant"), [("1", True), ("yes", True), ("True", True), ("off", False), ("0", False)])
def test_yes_and_no_may_be_said_in_many_ways(tmp_path: Path, said: str, meant: bool) -> None:
    from footnotes.settings import load

    assert load(tmp_path, environ={"FOOTNOTES_FETCH_PRIVATE": said}).fetch_private is meant


def test_inspect_overwrites_no_document(tmp_path: Path) -> None:
    from click.testing import CliRunner

    from footnotes.cli import main

    file = write(tmp_path / "in", a_txt="Alpha beta.") / "a.txt"
    for target in (file, write(tmp_path / "in", b_txt="Other.") / "b.txt"):
        before = target.read_bytes()
        assert CliRunner().invoke(main, ["inspect", str(file), "--html", str(target)]).exit_code == 1
        assert target.read_bytes() == before


def test_metadata_nested_without_end_is_refused(library: Library) -> None:
    """What reads it later, an agent's protocol or a vector database, would stumble over every document beside it."""
    deep: dict[str, Any] = {}
    inner = deep
    for _ in range(80):
        inner["a"] = inner = {}
    with pytest.raises(OptionError, match="nested"):
        library.add_text("A text.", filename="deep.txt", metadata=deep)
    assert library.documents() == []
