"""Make and build the TypeScript client, and run its tests against a server that is started for them.

python scripts/try_typescript.py
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "tests")]

import make_typescript  # noqa: E402

from serving import serving  # noqa: E402


def npm(*words: str, **environment: str) -> None:
    command = ["npm", *words]
    subprocess.run(command, cwd=make_typescript.FOLDER, check=True, env={**os.environ, **environment})


def main() -> None:
    npm("ci", "--silent", "--no-audit", "--no-fund")
    make_typescript.main()
    npm("run", "--silent", "build")
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder) / "library") as running:
        npm("test", "--silent", FOOTNOTES_ADDRESS=running.address)


if __name__ == "__main__":
    main()
