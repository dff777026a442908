"""Recomputes the terms of generations, from the stored texts, that an older version of Footnotes computed differently.

Nothing is embedded. `migrate` does it, one server at a time; an interrupted run starts again with the generations it
had not finished.
"""

from __future__ import annotations

from footnotes.store.lexemes import made_by
from footnotes.store.postgres import reweigh, statistics
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection


def outdated(connection: Connection) -> list[tuple[int, str]]:
    """Return the generations, with their tenants, whose terms come from an older version."""
    rows = PostgresCursor(connection, "").all("generations_by_lexemes", lexemes=made_by())
    return [(row["pk"], row["user_id"]) for row in rows if _version(row["lexemes"]) < _version(made_by())]


def bring_up_to_date(connection: Connection) -> int:
    """Recompute outdated terms, on the owner's connection. Return the number of generations."""
    found = outdated(connection)
    for generation, user_id in found:
        cursor = PostgresCursor(connection, user_id)
        reweigh.rewrite(cursor, generation)
        statistics.recount(cursor, generation)
        cursor.run("set_lexemes", generation=generation, lexemes=made_by())
        cursor.run("bump_served", generation=generation)
    return len(found)


def _version(text: str) -> tuple[int, ...]:
    """Parse `2.11` to (2, 11); unknown versions sort before all others."""
    return tuple(int(part) for part in text.split(".") if part.isdigit())
