"""What the pages of other programs tell people to write can be read, and names what there is."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml

from footnotes.cli.serve import mcp_command
from source_files import ZoteroPlace

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "programs").glob("*.md"))
READ = {"json": json.loads, "yaml": yaml.safe_load}


def blocks(page: Path) -> Iterator[Any]:
    for language, block in re.findall(r"```(\w+)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        if language in READ:
            yield READ[language](block)


def servers(block: Any) -> Iterator[dict[str, Any]]:
    for name in ("mcpServers", "servers"):
        yield from (block.get(name) or {}).values()


@pytest.mark.parametrize("page", [page for page in PAGES if page.stem != "index"], ids=lambda page: page.stem)
def test_configurations_can_be_read_and_name_what_there_is(page: Path) -> None:
    found = list(blocks(page))
    assert found
    for server in (server for block in found for server in servers(block)):
        if "command" in server:
            assert server["command"] == "footnotes" and server["args"][0] == "mcp"
            known = {name for option in mcp_command.params for name in option.opts}
            assert {word for word in server["args"] if word.startswith("--")} <= known
        else:
            assert server["url"].endswith("/mcp") and server["headers"]["Authorization"].startswith("Bearer ")


def commands(page: str) -> list[str]:
    """What a page tells people to type, but for the installation."""
    text = (ROOT / "docs" / "programs" / page).read_text(encoding="utf-8")
    lines = [line for block in re.findall(r"```sh\n(.*?)```", text, re.DOTALL) for line in block.splitlines()]
    return [line for line in lines if line.startswith("footnotes ")]


def typed(line: str, home: Path) -> str:
    """What a new user gets for it."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "HOME": str(home), "FOOTNOTES_EMBEDDER": "hashing"}
    done = subprocess.run(["bash", "-c", line], cwd=home, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return done.stdout


def test_the_recipe_for_obsidian(tmp_path: Path) -> None:
    people = tmp_path / "Vault" / "people"
    people.mkdir(parents=True)
    (people / "Ann Lee.md").write_text("Ann Lee keeps the hive at the pond. She inspects it every nine days.\n")
    (people.parent / "Bees.md").write_text(
        "---\ntags: [bees]\n---\n# Bees\n\nSee [[Ann Lee]]. The hive gave twenty pounds of honey.\n"
    )
    said = {line: typed(line, tmp_path) for line in commands("obsidian.md")}
    words = (" ask ", "tags", "backlinks")
    asked, tagged, linked = (next(text for line, text in said.items() if word in line) for word in words)
    assert "every nine days" in asked and "[1] Ann Lee.md" in asked
    assert "Bees.md" in tagged and "Ann Lee.md" in linked
    assert "obsidian:" in said["footnotes sources"]


def test_the_recipe_for_zotero(tmp_path: Path) -> None:
    place = ZoteroPlace(tmp_path)
    place.path.rename(tmp_path / "Zotero")
    place.path = tmp_path / "Zotero"
    place.put("paper", "Honey is stored in wax.")
    with closing(sqlite3.connect(place.path / "zotero.sqlite")) as database, database:
        database.executescript(
            """
            INSERT INTO items VALUES (10, 1, '2026-01-01', 'ARTICLE1');
            UPDATE itemAttachments SET parentItemID = 10;
            INSERT INTO itemDataValues VALUES (1, 'On Wax'), (2, '1999-05-00');
            INSERT INTO itemData VALUES (10, 1, 1), (10, 3, 2);
            INSERT INTO creators VALUES (1, 'Ann', 'Lee');
            INSERT INTO itemCreators VALUES (10, 1, 1, 0);
            INSERT INTO tags VALUES (1, 'bees');
            INSERT INTO itemTags VALUES (10, 1);
            """
        )
    said = {line: typed(line, tmp_path) for line in commands("zotero.md")}
    found = [text for line, text in said.items() if " search " in line]
    assert len(found) == 3 and all("paper.txt" in text for text in found)
    assert "zotero:" in said["footnotes sources"]
