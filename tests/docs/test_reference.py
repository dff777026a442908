"""The documentation is complete and true: reference pages are what the code says, commands in the docs run."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGES = [*sorted(ROOT.glob("*.md"), reverse=True), *sorted((ROOT / "docs").rglob("*.md"))]


def reference() -> dict[str, str]:
    spec = importlib.util.spec_from_file_location("make_reference", ROOT / "scripts" / "make_reference.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    pages: dict[str, str] = module.pages()
    return pages


def test_reference_pages_are_what_the_code_says() -> None:
    stale = [
        name
        for name, content in reference().items()
        if (ROOT / "docs" / "reference" / name).read_text(encoding="utf-8") != content
    ]
    assert not stale, "run: python scripts/make_reference.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), target


def commands(page: Path) -> list[str]:
    """Lines that begin with `$ footnotes` inside ```console blocks."""
    found = []
    for block in re.findall(r"```console\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        found += [line[2:] for line in block.splitlines() if line.startswith("$ footnotes")]
    return found


@pytest.mark.slow
def test_commands_in_the_docs_run(tmp_path: Path) -> None:
    """In one library and in the order of the pages, beside the samples and the examples of the docs."""
    environment = {**os.environ, "FOOTNOTES_LIBRARY": str(tmp_path / "library"), "FOOTNOTES_EMBEDDER": "hashing"}
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "examples").symlink_to(ROOT / "docs" / "examples")
    ran = 0
    for page in PAGES:
        for command in commands(page):
            words = [sys.executable, "-m", "footnotes", *shlex.split(command, comments=True)[1:]]
            done = subprocess.run(words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{page.name}: {command}\n{done.stderr}"
            ran += 1
    assert ran >= 10


def test_python_in_the_readme_runs(tmp_path: Path) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    environment = {**os.environ, "HOME": str(tmp_path), "FOOTNOTES_EMBEDDER": "hashing"}
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    for block in blocks:
        subprocess.run([sys.executable, "-c", block], cwd=tmp_path, env=environment, check=True, capture_output=True)
