"""Makes the words of generations anew, from the stored texts, that an older version of Footnotes made otherwise.

Nothing is embedded. Whoever migrates does it, one server at a time; a run that was cut off is begun again with the
generations it had not finished.
"""

from __future__ import annotations

from footnotes.store.lexemes import made_by
from footnotes.store.postgres import reweigh, statistics
from footnotes.store.postgres.database import Connection

_FOUND = "SELECT pk, user_id, lexemes FROM generations WHERE lexemes <> $1 ORDER BY pk"
_DONE = "UPDATE generations SET lexemes = $2 WHERE pk = $1"
_CHANGED = "UPDATE users SET changed = changed + 1 WHERE serving = $1"


def outdated(connection: Connection) -> list[tuple[int, str]]:
    """The generations, with their tenants, whose words an older version made."""
    rows = connection.fetch(_FOUND, made_by())
    return [(row["pk"], row["user_id"]) for row in rows if _version(row["lexemes"]) < _version(made_by())]


def bring_up_to_date(connection: Connection) -> int:
    """Rewrite what is outdated; the connection is the owner's. Returns how many generations that were."""
    found = outdated(connection)
    for generation, user_id in found:
        reweigh.rewrite(connection, user_id, generation)
        statistics.recount(connection, user_id, generation)
        connection.execute(_DONE, generation, made_by())
        connection.execute(_CHANGED, generation)
    return len(found)


def _version(written: str) -> tuple[int, ...]:
    """`2.11` → (2, 11); what no version has written is older than any."""
    return tuple(int(part) for part in written.split(".") if part.isdigit())
