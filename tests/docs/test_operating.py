"""docs/operating.md, executed; and what `deploy/` asks of the metrics, compared with what is exported."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from clusters import Clusters, programs
from libraries import HANDBOOK, quick_library

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]


def commands() -> list[str]:
    """The lines of all `sh` blocks, in order."""
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    return [line for block in re.findall(r"```sh\n(.*?)```", page, re.DOTALL) for line in block.splitlines() if line]


def test_every_command_of_the_operating_page_runs(clusters: Clusters, tmp_path: Path) -> None:
    first, second = clusters.make(), clusters.make()
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{programs()}:{os.environ['PATH']}",
        "FOOTNOTES_EMBEDDER": "hashing",
        "FOOTNOTES_LIBRARY": str(tmp_path / "library"),
        "ADMIN": first.address("postgres"),
        "ADMIN_FOOTNOTES": first.address(),
        **{name.upper(): first.address(user=f"fn_{name}") for name in ("owner", "server", "reader")},
        "OTHER_ADMIN": second.address("postgres"),
        "OTHER_FOOTNOTES": second.address(),
    }
    lines, last = commands(), ""
    assert len(lines) >= 15
    for line in lines:
        if line.startswith("pg_dumpall"):
            with quick_library(tmp_path / "library", store=first.address(user="fn_owner")) as library:
                library.add_text(HANDBOOK, filename="handbook.md")
        done = subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
        last = done.stdout if "search" in line else last
    assert json.loads(last)["hits"][0]["filename"] == "handbook.md", "found in what was restored"
