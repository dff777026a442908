"""Write the description of the server's routes into clients/typescript, and the types that are made of it.

python scripts/make_typescript.py
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "clients" / "typescript"


def document() -> dict[str, Any]:
    """What a server answers at /openapi.json."""
    from footnotes.server.app import create_app

    with tempfile.TemporaryDirectory() as folder:
        server = create_app(folder)
        described = server.api.openapi()
        server.state.close()
        return described


def content() -> str:
    return json.dumps(document(), indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def main() -> None:
    (FOLDER / "openapi.json").write_text(content(), encoding="utf-8")
    subprocess.run(["npm", "run", "--silent", "generate"], cwd=FOLDER, check=True)


if __name__ == "__main__":
    main()
