"""`PYTHONPATH=tests python -m torture [--short]`: the campaigns of the server, as a table. An hour, or minutes."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from postgres import PostgresServer
from serving import Running, serving
from torture import Row, table
from torture.parsers import parsers
from torture.schema import schema
from torture.tenancy import tenancy

GENEROUS = {"serve_rate": 10**6, "serve_burst": 10**6, "serve_answers": 10**9}


def campaigns(*, short: bool, seed: int) -> Iterator[Callable[[], Row]]:
    """The campaigns of the server: random tenants and generated requests on both stores, and mutated files."""
    steps, examples, trials = (1_000, 5, 500) if short else (500_000, 500, 100_000)
    for store in ("SQLite", "PostgreSQL"):
        yield lambda store=store: tenancy(f"tenants, {store}", _opened(store, keys=True), steps=steps, seed=seed)
        yield lambda store=store: schema(f"requests, {store}", _opened(store, keys=False), examples=examples)
    yield lambda: parsers("mutated files", _samples(), trials=trials, seed=seed)


def _samples() -> dict[str, bytes]:
    from format_samples import SAMPLES

    return {suffix: make() for suffix, make in SAMPLES.items()}


def _opened(store: str, *, keys: bool) -> Callable[[], object]:
    @contextmanager
    def opened() -> Iterator[Running]:
        with tempfile.TemporaryDirectory() as folder:
            if store == "SQLite":
                with serving(Path(folder) / "library", needs_keys=keys, **GENEROUS) as running:
                    yield running
                return
            postgres = PostgresServer(Path(folder) / "database")
            try:
                with serving(Path(folder), needs_keys=keys, store=postgres.fresh(), **GENEROUS) as running:
                    yield running
            finally:
                postgres.stop()

    return opened


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--short", action="store_true")
    options.add_argument("--seed", type=int, default=1)
    chosen = options.parse_args()
    rows = []
    for campaign in campaigns(short=chosen.short, seed=chosen.seed):
        rows.append(campaign())
        print(table(rows), *rows[-1].cases, sep="\n", flush=True)
    sys.exit(0 if all(row.is_clean for row in rows) else 1)


if __name__ == "__main__":
    main()
