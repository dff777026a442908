"""Writers: any number at once, each with a number, alive as long as its own connection lives.

A writer holds an advisory lock on its number. The documents, versions, jobs and originals it holds carry the number.
Anyone who finds one of a dead writer may take it over, so a machine that is switched off blocks no one.
"""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from footnotes.errors import FootnotesError, StoreError, StoreUnavailable
from footnotes.store import recovery
from footnotes.store.postgres.cursor import PostgresCursor
from footnotes.store.postgres.database import Database, OwnedConnection

_KEPT_OPEN = 4


@dataclass(slots=True)
class Writer:
    """One writer of one tenant. Its writing blocks may nest.

    `vectors` are those it computed before their chunks were written, by model and input.
    """

    number: int
    connection: OwnedConnection
    depth: int = 0
    builds: bool = False
    vectors: dict[int, dict[bytes, object]] = field(default_factory=dict)

    def check(self) -> int:
        """Return its number. Raises if its connection, and so the number, is lost."""
        if self.connection.is_lost:
            raise StoreUnavailable(
                "the connection by which others know that this writer lives was lost",
                remedy="Try again: what was acknowledged is kept, and the rest is done again.",
            )
        return self.number


class Writers:
    """The writers of this process. A thread writes for a tenant under one number, at any nesting."""

    def __init__(self, database: Database, folder: Path) -> None:
        self._database = database
        self._folder = folder
        self._local = threading.local()
        self._guard = threading.Lock()
        self._idle: list[Writer] = []

    @contextmanager
    def writing(self, user_id: str) -> Iterator[Writer]:
        mine: dict[str, Writer] = self._local.__dict__.setdefault("writers", {})
        writer = mine.get(user_id)
        if writer is None:
            writer = mine[user_id] = self._begin(user_id)
        writer.depth += 1
        try:
            yield writer
        finally:
            writer.depth -= 1
            if writer.depth == 0:
                mine.pop(user_id, None)
                self._end(user_id, writer)

    def number(self, user_id: str) -> int:
        """Return the number under which this thread writes."""
        writer = self._current(user_id)
        if writer is None:
            raise StoreError("a tenant's library is held for writing before anything is written to it")
        return writer.check()

    def number_if_any(self, user_id: str) -> int:
        """Like `number`, but 0 for a thread that does not write."""
        writer = self._current(user_id)
        return 0 if writer is None else writer.number

    def vectors(self, user_id: str, model: int) -> dict[bytes, object]:
        """Return the vectors this thread computed for chunks that are not written yet."""
        writer = self._current(user_id)
        return {} if writer is None else writer.vectors.setdefault(model, {})

    def hold_generations(self, user_id: str) -> bool:
        """Lock the building of generations for a tenant until this writer ends."""
        writer = self._current(user_id)
        assert writer is not None
        if not writer.builds:
            writer.builds = bool(PostgresCursor(writer.connection, user_id).value("hold_generations"))
        return writer.builds

    def incoming(self, user_id: str) -> Path:
        """Return this writer's own folder."""
        folder = self._folder / str(self.number(user_id))
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StoreUnavailable(f"{folder} cannot be made ({error.strerror})") from error
        return folder

    def close(self) -> None:
        with self._guard:
            idle, self._idle = self._idle, []
        for writer in idle:
            self._give_up(writer)

    def _current(self, user_id: str) -> Writer | None:
        mine: dict[str, Writer] = self._local.__dict__.get("writers", {})
        return mine.get(user_id)

    def _begin(self, user_id: str) -> Writer:
        writer = self._reuse() or self._create(user_id)
        try:
            if recovery.is_unfinished(self._database, user_id):
                recovery.recover(self._database, user_id)
            self._clear_incoming()
        except BaseException:
            self._give_up(writer)
            raise
        return writer

    def _reuse(self) -> Writer | None:
        """Return an idle writer, because connecting takes longer than writing a small document."""
        with self._guard:
            while self._idle:
                writer = self._idle.pop()
                if not writer.connection.is_lost:
                    return writer
        return None

    def _create(self, user_id: str) -> Writer:
        connection = self._database.lasting(user_id)
        cursor = PostgresCursor(connection, user_id)
        number = int(cursor.value("next_holder"))
        cursor.run("be_alive", holder=number)
        return Writer(number, connection)

    def _end(self, user_id: str, writer: Writer) -> None:
        """Release everything. The next writer recovers what cannot be released now."""
        shutil.rmtree(self._folder / str(writer.number), ignore_errors=True)
        writer.vectors.clear()
        try:
            recovery.recover(self._database, user_id, writer.check())
            if writer.builds:
                PostgresCursor(writer.connection, user_id).run("release_generations")
                writer.builds = False
        except FootnotesError:
            self._give_up(writer)
            return
        with self._guard:
            if len(self._idle) < _KEPT_OPEN:
                self._idle.append(writer)
                return
        self._give_up(writer)

    @staticmethod
    def _give_up(writer: Writer) -> None:
        """Close the connection, so that others may take over its documents."""
        with suppress(FootnotesError):
            writer.connection.close()

    def _clear_incoming(self) -> None:
        """Remove the incoming bytes of dead writers."""
        if not self._folder.is_dir():
            return
        left = {path for path in self._folder.iterdir() if path.name.isdigit()}
        if left:
            with self._database.owning() as connection:
                living = {str(row["holder"]) for row in PostgresCursor(connection, "").all("living")}
            for path in left:
                if path.name not in living:
                    shutil.rmtree(path, ignore_errors=True)
