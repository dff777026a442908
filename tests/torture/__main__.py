"""`PYTHONPATH=tests python -m torture`: every campaign for its share of the time, and one table.

`--short` gives each a few trials; `--only` names some; `--write` puts the table into docs/promises.md.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from postgres import PostgresServer
from serving import Running, serving
from torture import Budget, Row, table
from torture.damage import damage
from torture.kills import kills
from torture.parsers import parsers
from torture.power import power_cuts
from torture.scarce import clock_jumps, full_disk, no_descriptors
from torture.schema import schema
from torture.syscalls import kills_at_calls, places, slow_calls, workers
from torture.tenancy import tenancy

GENEROUS = {"serve_rate": 10**6, "serve_burst": 10**6, "serve_answers": 10**9}
PROMISES = Path(__file__).parents[2] / "docs" / "promises.md"
BEGIN, END = "<!-- torture: begin -->", "<!-- torture: end -->"
Campaign = Callable[..., Row]


def campaigns() -> dict[str, tuple[Campaign, int, int, int]]:
    """By name: the campaign, its share of the time, its most trials, and those of the short version."""
    return {
        "kills at file events": (kills, 12, 1_000, 12),
        "kills at system calls": (_at_calls(), 8, 1_000, 10),
        "kills at system calls, Qdrant beside": (_at_calls(qdrant=True), 4, 1_000, 5),
        "kills at system calls, PostgreSQL": (_at_calls(postgres=True), 6, 1_000, 5),
        "kills at system calls, PostgreSQL with Qdrant": (_at_calls(postgres=True, qdrant=True), 4, 1_000, 5),
        "workers killed at system calls": (workers, 4, 1_000, 2),
        "slow disk": (partial(slow_calls, made=places), 2, 200, 3),
        "slow network, PostgreSQL with Qdrant": (
            partial(slow_calls, made=partial(places, postgres=True, qdrant=True)),
            2,
            200,
            3,
        ),
        "damaged and swapped files": (damage, 8, 1_000, 30),
        "power cuts": (power_cuts, 10, 200, 3),
        "full disk": (full_disk, 3, 200, 5),
        "no descriptors": (no_descriptors, 3, 200, 5),
        "clock jumps": (clock_jumps, 3, 200, 5),
        "tenants, SQLite": (partial(tenancy, opened=_opened("SQLite", keys=True)), 5, 500_000, 300),
        "tenants, PostgreSQL": (partial(tenancy, opened=_opened("PostgreSQL", keys=True)), 5, 500_000, 300),
        "requests, SQLite": (partial(schema, opened=_opened("SQLite", keys=False)), 3, 20_000, 60),
        "requests, PostgreSQL": (partial(schema, opened=_opened("PostgreSQL", keys=False)), 3, 20_000, 60),
        "mutated files": (lambda name, **given: parsers(name, _samples(), **given), 5, 100_000, 200),
    }


def _at_calls(**databases: bool) -> Campaign:
    return partial(kills_at_calls, made=partial(places, **databases))


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


def budgets(chosen: argparse.Namespace) -> Iterator[tuple[str, Campaign, Budget]]:
    """The campaigns that were chosen, each with its part of the minutes."""
    picked = {name: one for name, one in campaigns().items() if not chosen.only or name in chosen.only}
    shares = sum(share for _, share, _, _ in picked.values())
    for name, (campaign, share, trials, few) in picked.items():
        if chosen.short:
            yield name, campaign, Budget(few)
        else:
            yield name, campaign, Budget(trials, chosen.minutes * 60 * share / shares)


def write(text: str) -> None:
    """Put the table between its two marks."""
    before, _, rest = PROMISES.read_text(encoding="utf-8").partition(BEGIN)
    _, mark, after = rest.partition(END)
    if not mark:
        sys.exit(f"{PROMISES} has no marks {BEGIN} and {END}")
    PROMISES.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--short", action="store_true", help="a few trials of each")
    options.add_argument("--minutes", type=float, default=60, help="for all campaigns together")
    options.add_argument("--only", nargs="*", choices=list(campaigns()), help="these campaigns alone")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--write", action="store_true", help=f"put the table into {PROMISES.name}")
    chosen = options.parse_args()
    rows: list[Row] = []
    for name, campaign, budget in budgets(chosen):
        rows.append(campaign(name, budget=budget, seed=chosen.seed))
        print(table(rows), *rows[-1].cases, sep="\n", flush=True)
    if chosen.write:
        write(f"`python -m torture {' '.join(word for word in sys.argv[1:] if word != '--write')}`:\n\n{table(rows)}")
    sys.exit(0 if all(row.is_clean for row in rows) else 1)


if __name__ == "__main__":
    main()
