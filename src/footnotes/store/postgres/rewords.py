"""Makes the words of generations again, from the stored texts, that an older version of Footnotes made otherwise.

Nothing is embedded. `migrate` does it, one server at a time; a run that was cut off is begun again with the
generations it had not finished.
"""

from __future__ import annotations

from footnotes.store.lexemes import made_by
from footnotes.store.postgres import reweigh, statistics
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Connection


def outdated(connection: Connection) -> list[tuple[int, str]]:
    """The generations, with their tenants, whose words an older version made."""
    rows = PostgresCursor(connection, "").all("generations_by_lexemes", lexemes=made_by())
    return [(row["pk"], row["user_id"]) for row in rows if _version(row["lexemes"]) < _version(made_by())]


def bring_up_to_date(connection: Connection) -> int:
    """Rewrite what is outdated; the connection is the owner's. Returns how many generations that were."""
    found = outdated(connection)
    for generation, user_id in found:
        cursor = PostgresCursor(connection, user_id)
        reweigh.rewrite(cursor, generation)
        statistics.recount(cursor, generation)
        cursor.run("set_lexemes", generation=generation, lexemes=made_by())
        cursor.run("bump_served", generation=generation)
    return len(found)


def _version(written: str) -> tuple[int, ...]:
    """`2.11` → (2, 11); what no version has written is older than any."""
    return tuple(int(part) for part in written.split(".") if part.isdigit())
