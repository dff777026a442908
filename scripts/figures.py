"""Prints how large the code is and how much of it runs, as a Markdown table.

python scripts/figures.py                       # sizes, and what add, search, ask and delete run on both stores
python scripts/figures.py --store postgresql:…  # on this database; without it one of the tests is started
python scripts/figures.py --seconds             # how long `make quick` and `make test` take, too
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "footnotes"
PUBLIC = ("footnotes", *(f"footnotes.{name}" for name in (
    "aio", "cli", "client", "errors", "integrations", "library", "plugins", "settings", "testing", "types",
    "AsyncLibrary", "Client", "Library", "connect", "open",
)))  # fmt: skip
"""What a test may import, with all below it, and still speak to the program as its users do: the façade and its twins,
the command line, the types and errors they give, and what packages with plug-ins build and test with."""
GROUPS = ("collections", "conversations", "documents", "generations", "jobs", "vectors")
TEXT = "# {name}\n\nThe {name} is closed on public holidays. It opens at nine in the morning.\n"


@dataclass(slots=True)
class Ran:
    """Which files and functions of ours an operation ran, and how often it went from one file to another."""

    files: set[str] = field(default_factory=set)
    functions: set[tuple[str, int]] = field(default_factory=set)
    switches: int = 0

    def __str__(self) -> str:
        return f"{len(self.functions)} functions in {len(self.files)} files, {self.switches} switches"


@contextmanager
def counted(ran: Ran) -> Iterator[None]:
    """Count calls of our own functions, in all threads."""
    prefix = str(SOURCE) + "/"

    def called(frame: FrameType, event: str, _: Any) -> None:
        name = frame.f_code.co_filename
        if event != "call" or not name.startswith(prefix):
            return
        caller = frame.f_back.f_code.co_filename if frame.f_back is not None else ""
        ran.switches += caller != name
        ran.files.add(name)
        ran.functions.add((name, frame.f_code.co_firstlineno))

    threading.setprofile(called)
    sys.setprofile(called)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def operations(store: str = "") -> dict[str, Ran]:
    """What add, search, ask and delete run in a library that has done each of them once before."""
    import footnotes

    found: dict[str, Ran] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        settings: dict[str, Any] = {"embedder": "hashing", **({"store": store} if store else {})}
        with footnotes.open(folder / "library", **settings) as library:

            def measure(what: str, run: Callable[[], object]) -> None:
                with counted(found.setdefault(what, Ran())):
                    run()

            library.add(_written(folder / "first", "library", "museum", "archive"))
            library.search("When does the library open?")
            library.ask("When does the library open?")
            measure("add", lambda: library.add(_written(folder / "second", "office", "station", "school")))
            measure("search", lambda: library.search("When does the school open?"))
            measure("ask", lambda: library.ask("When is the museum closed?"))
            documents = [document.id for document in library.documents()]
            library.delete(documents[0])
            measure("delete", lambda: library.delete(documents[1]))
    return found


def _written(folder: Path, *names: str) -> Path:
    folder.mkdir()
    for name in names:
        (folder / f"{name}.md").write_text(TEXT.format(name=name), encoding="utf-8")
    return folder


@contextmanager
def started_database() -> Iterator[str]:
    """A PostgreSQL of the tests; empty where none can be started."""
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        from postgres import PostgresServer
    except ImportError as error:
        print(f"no PostgreSQL: {error}", file=sys.stderr)
        yield ""
        return
    with tempfile.TemporaryDirectory() as name:
        server = PostgresServer(Path(name) / "postgres")
        try:
            yield server.empty()
        finally:
            server.stop()


def sizes() -> dict[str, object]:
    files = sorted(SOURCE.rglob("*.py"))
    texts = [path.read_text("utf-8") for path in files]
    return {
        "lines of src/footnotes": sum(text.count("\n") for text in texts),
        "files of src/footnotes": len(files),
        "lines of SQL": sum(path.read_text("utf-8").count("\n") for path in SOURCE.rglob("*.sql")),
        "uses of Any": sum(map(uses_of_any, texts)),
        "methods of the store protocol": methods(SOURCE / "store" / "protocol.py"),
        "methods of its groups": sum(map(methods, (SOURCE / "store" / f"{name}.py" for name in GROUPS))),
    }


def uses_of_any(text: str) -> int:
    return len(re.findall(r"\bAny\b", text)) - len(re.findall(r"import.*\bAny\b", text))


def methods(path: Path) -> int:
    """Public methods and properties of the classes in a file; what a dialect adds (`Core`) is nobody else's."""
    classes = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.ClassDef)]
    named = [item for node in classes if node.name != "Core" for item in node.body if isinstance(item, ast.FunctionDef)]
    return sum(not item.name.startswith("_") for item in named)


def public_share() -> str:
    """How many tests import nothing of ours but the public surface."""
    public = every = 0
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        tree = ast.parse(path.read_text("utf-8"))
        tests = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]
        imported = {name for node in ast.walk(tree) for name in _imported(node)}
        every += len(tests)
        public += len(tests) if all(map(is_public, imported)) else 0
    return f"{100 * public / max(every, 1):.0f}% of {every}"


def is_public(module: str) -> bool:
    return module == "footnotes" or module.startswith(PUBLIC[1:])


def _imported(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "footnotes":
        whole = node.module == "footnotes"
        yield from (f"footnotes.{alias.name}" if whole else str(node.module) for alias in node.names)
    elif isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "footnotes")


def seconds_of(target: str) -> str:
    began = time.monotonic()
    done = subprocess.run(["make", "-s", target], cwd=ROOT, capture_output=True, check=False)
    return f"{time.monotonic() - began:.0f} s" + ("" if done.returncode == 0 else f" (failed: {done.returncode})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", default="", help="a PostgreSQL to measure on; without it one is started")
    parser.add_argument("--seconds", action="store_true", help="run `make quick` and `make test`, and time them")
    options = parser.parse_args()
    figures: dict[str, object] = {**sizes(), "tests through the public surface": public_share()}
    figures |= {f"{name} (folder)": ran for name, ran in operations().items()}
    if options.store:
        figures |= {f"{name} (PostgreSQL)": ran for name, ran in operations(options.store).items()}
    else:
        with started_database() as address:
            if address:
                figures |= {f"{name} (PostgreSQL)": ran for name, ran in operations(address).items()}
    if options.seconds:
        figures |= {f"seconds of make {target}": seconds_of(target) for target in ("quick", "test")}
    print("| figure | value |\n| --- | ---: |")
    for name, value in figures.items():
        print(f"| {name} | {value} |")


if __name__ == "__main__":
    main()
