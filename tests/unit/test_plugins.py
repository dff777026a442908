"""Parts of another package: one of each kind, installed as a distribution and used through the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

MODULE = '''
from footnotes.answer.models import Piece
from footnotes.parse.builder import Builder
from footnotes.store.sqlite import SqliteStore
from footnotes.testing.embedder import HashingEmbedder
from footnotes.types import Piece as ChunkPiece, Report


class TapeParser:
    """Reads a binary format that nobody here knows: a magic number, then lines with their bits turned around."""

    name, version, isolated = "tape", 1, True
    mimes = ("application/x-tape",)
    suffixes = {".tape": "application/x-tape"}
    signatures = ((b"\\x00TAPE\\xff", "application/x-tape"),)

    def parse(self, source):
        builder = Builder()
        lines = bytes(byte ^ 0xFF for byte in source.path.read_bytes()[6:]).decode().splitlines()
        for line in lines:
            builder.add("paragraph", line)
        yield from builder.finish()
        yield Report(self.name, source.mime, builder.position)


class LineChunker:
    name, version = "lines", 1

    def __init__(self, *, least: int = 1):
        self.options = {"least": least}

    def split(self, part):
        at = 0
        for line in part.text.splitlines(keepends=True):
            if len(line.strip()) >= self.options["least"]:
                yield ChunkPiece(part.start + at, part.start + at + len(line.rstrip("\\n")))
            at += len(line)


class ShortEmbedder(HashingEmbedder):
    def __init__(self, model=""):
        super().__init__(model or "24")

    name = property(lambda self: f"short:{self.dimensions}")
    fingerprint = property(lambda self: f"short/1/{self.dimensions}")


class ReverseReranker:
    name = "reverse"

    def score(self, question, hits, *, deadline):
        return [float(rank) for rank, _ in enumerate(hits)]


def reverse(model, parts):
    return ReverseReranker()


class ParrotChat:
    """Says the first passage again, with its number."""

    context_tokens, calls_tools = 8_000, False

    def __init__(self, name):
        self.name = name

    @classmethod
    def from_settings(cls, name, settings):
        return cls(name)

    def chat(self, request, *, deadline):
        yield Piece("Gulls nest on the harbour wall. [1]", finish="stop")


class DrawerStore(SqliteStore):
    kind = "drawer"

    @classmethod
    def opened(cls, settings, folder):
        return super().opened(settings, folder / "drawer")
'''
ENTRY_POINTS = """
[footnotes.parsers]
tape = acme_parts:TapeParser
[footnotes.chunkers]
lines = acme_parts:LineChunker
[footnotes.embedders]
short = acme_parts:ShortEmbedder
[footnotes.rerankers]
reverse = acme_parts:reverse
[footnotes.chat_models]
parrot = acme_parts:ParrotChat
[footnotes.stores]
drawer = acme_parts:DrawerStore
"""
TAPE = b"\x00TAPE\xff" + bytes(
    byte ^ 0xFF for byte in b"Gulls nest on the harbour wall.\nThe ferry leaves at noon for the harbour.\n"
)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder as pip would leave it: the module and the metadata of its distribution."""
    folder = tmp_path / "site"
    metadata = folder / "acme_parts-1.0.dist-info"
    metadata.mkdir(parents=True)
    (folder / "acme_parts.py").write_text(MODULE)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: acme-parts\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def footnotes(site: Path, *arguments: object, **settings: str) -> str:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FOOTNOTES_")}
    environment |= {"PYTHONPATH": os.pathsep.join([str(site), environment.get("PYTHONPATH", "")])}
    environment |= {f"FOOTNOTES_{name.upper()}": value for name, value in settings.items()}
    command = [sys.executable, "-m", "footnotes", *map(str, arguments)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


def test_one_part_of_each_kind_serves_through_the_command_line(site: Path, tmp_path: Path) -> None:
    (tmp_path / "log.tape").write_bytes(TAPE)
    library = tmp_path / "library"
    chosen = {
        "store": "drawer://here",
        "embedder": "short:24",
        "chunker": "lines",
        "reranker": "reverse",
        "model": "parrot:any",
    }
    added = json.loads(footnotes(site, "add", tmp_path / "log.tape", "-l", library, "--json", **chosen))
    (document,) = added["documents"]
    assert document["status"] == "ready" and document["chunks"] == 2
    assert (library / "drawer" / "footnotes.db").is_file()

    status = json.loads(footnotes(site, "status", "-l", library, "--json", **chosen))
    assert (status["embedder"], status["dimensions"]) == ("short:24", 24)

    search = ("search", "gulls on the harbour wall", "-l", library, "--json", "--per-document", "2")
    plain = json.loads(footnotes(site, *search, **{**chosen, "reranker": ""}))
    turned = json.loads(footnotes(site, *search, **chosen))
    assert [hit["text"] for hit in turned["hits"]] == [hit["text"] for hit in plain["hits"]][::-1]
    assert len(plain["hits"]) == 2 and plain["legs"]["dense"]["status"] == "ok"

    answer = json.loads(footnotes(site, "ask", "Where do gulls nest?", "-l", library, "--json", **chosen))
    assert answer["answer"].startswith("Gulls nest on the harbour wall") and answer["model"] == "parrot:any"
    assert answer["citations"][0]["quote"] == "Gulls nest on the harbour wall."


@pytest.mark.parametrize("name", ["log.tape", "log.bin", "log"])
def test_a_parser_of_another_package_is_found_by_signature_whatever_the_name(
    site: Path, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(TAPE)
    out = footnotes(site, "add", tmp_path / name, "-l", tmp_path / "library", "--json", embedder="hashing")
    assert '"ready"' in out


@pytest.mark.parametrize("broken", ["raise RuntimeError('made for another version')", "raise SystemExit(7)"])
def test_a_plug_in_that_cannot_be_loaded_is_an_error_of_its_own_and_stops_no_other(
    site: Path, tmp_path: Path, broken: str
) -> None:
    (site / "acme_parts.py").write_text(broken + "\n")
    (tmp_path / "a.txt").write_text("Gulls nest on the harbour wall.\n")
    out = footnotes(site, "add", tmp_path / "a.txt", "-l", tmp_path / "library", "--json", embedder="hashing")
    assert '"ready"' in out
    with pytest.raises(AssertionError, match=r"plugin_broken.*(made for another version|SystemExit: 7)"):
        footnotes(site, "add", tmp_path / "a.txt", "-l", tmp_path / "library", "--json", embedder="short")
