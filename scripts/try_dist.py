"""Install the built wheel in an empty environment, as a new user would, and go through the quickstart there.

python scripts/try_dist.py dist/footnotes-0.1.0-py3-none-any.whl [python3.12 …]
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
QUESTION = "How long is the notice period after the probation period?"
PROGRAM = f"""
import footnotes
with footnotes.open("library") as library:
    answer = library.ask({QUESTION!r})
    assert answer.citations, answer
    quoted = answer.citations[0]
    assert library.text(quoted.document_id, quoted.start, quoted.end) == quoted.quote
print(footnotes.__version__, footnotes.__file__)
"""


def run(words: list[str | Path], folder: Path) -> str:
    """What a command printed. It sees nothing of this repository, and of the environment only what installers need."""
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_", "HTTP", "NO_PROXY"))}
    environment = {**kept, "PATH": os.environ["PATH"], "HOME": str(folder), "LANG": "C.UTF-8"}
    environment.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache/pip"))
    if "PIP_CONFIG_FILE" not in environment and (own := Path.home() / ".config/pip/pip.conf").is_file():
        environment["PIP_CONFIG_FILE"] = str(own)
    done = subprocess.run(words, cwd=folder, env=environment, text=True, capture_output=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))}\nended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def attempt(wheel: Path, python: str, folder: Path) -> None:
    version = run([python, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], folder).strip()
    environment = folder / "environment"
    run([python, "-m", "venv", environment], folder)
    run([environment / "bin/python", "-m", "pip", "install", "-q", wheel], folder)
    run([environment / "bin/python", "-m", "pip", "check"], folder)
    shutil.copytree(ROOT / "samples", folder / "samples")
    footnotes: list[str | Path] = [environment / "bin/footnotes"]
    run([*footnotes, "add", "samples", "--library", "library"], folder)
    answer = run([*footnotes, "ask", QUESTION, "--library", "library"], folder)
    if "[1]" not in answer:
        sys.exit(f"the answer has no footnote:\n{answer}")
    run([*footnotes, "search", "relative humidity", "--limit", "3", "--library", "library"], folder)
    for command in ("list", "status", "verify"):
        run([*footnotes, command, "--library", "library"], folder)
    told = run([environment / "bin/python", "-c", PROGRAM], folder).split()
    if not told[1].startswith(str(environment)):
        sys.exit(f"the package came from {told[1]}, not from the wheel")
    print(f"Python {version}: {wheel.name} installs and answers with footnotes")


def main() -> None:
    wheel = Path(sys.argv[1]).resolve()
    for python in sys.argv[2:] or [sys.executable]:
        with tempfile.TemporaryDirectory(prefix="footnotes-dist-") as folder:
            attempt(wheel, python, Path(folder))


if __name__ == "__main__":
    main()
