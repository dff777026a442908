"""Sources that a server follows: stored for each tenant, synced by a schedule or by hand, on either store."""

from __future__ import annotations

import json
import math
import secrets
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from footnotes import plugins
from footnotes.errors import FootnotesError, Forbidden, NotFound, OptionError, StorageQuota
from footnotes.ingest.names import check_metadata, parse_collection
from footnotes.ingest.sources.address import kind_of, parse_address, scheme_of
from footnotes.ingest.sources.open import SourceAccess
from footnotes.ingest.sources.secrets import SEALED, is_reference
from footnotes.ingest.work import OnProgress
from footnotes.library import Library
from footnotes.server.connections import Seal
from footnotes.server.database import ServerDatabase, now, one, open_database
from footnotes.settings import Settings
from footnotes.store.database import Row
from footnotes.types import ErrorInfo, Metadata, Synced
from footnotes.wire import to_json

MOST = 200
LEAST_SECONDS = 60
QUOTA_SECONDS = 0.5
RunState = Literal["new", "queued", "running", "ok", "failed"]


@dataclass(frozen=True, slots=True)
class FollowedSource:
    """A source as callers see it: with references to secrets, never their values."""

    id: str
    address: str
    collection: str
    options: Mapping[str, str]
    metadata: Metadata
    every: int
    """Seconds between two runs; 0 if it only runs by hand."""
    created_at: str
    next_at: str | None
    ran_at: str | None
    state: RunState
    counts: Mapping[str, int]
    error: ErrorInfo | None
    tenant: str = field(metadata={"json": None})
    trusted: bool = field(metadata={"json": None})


@dataclass(frozen=True, slots=True)
class NewFollowedSource:
    """A request to follow a source. `secrets` are plain texts by the names of their options."""

    address: str
    collection: str
    options: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    metadata: Metadata = field(default_factory=dict)
    every: int = 3_600


class FollowedSources:
    """The sources of every tenant."""

    def __init__(self, database: ServerDatabase, folder: Path, settings: Settings) -> None:
        self._database, self._settings, self._seal = database, settings, Seal(folder, settings)

    def all(self, tenant: str) -> list[FollowedSource]:
        return [_followed_source(row) for row in self._database.all("followed_by", tenant=tenant)]

    def find(self, tenant: str, source_id: str) -> FollowedSource:
        return _followed_source(self._row(tenant, source_id))

    def add(self, tenant: str, new: NewFollowedSource, *, trusted: bool) -> FollowedSource:
        """Store a source. Its secrets are sealed, and used to read this address only."""
        options = {**new.options, **dict.fromkeys(new.secrets, SEALED)}
        self._check(new, options, trusted=trusted)
        if len(self.all(tenant)) >= MOST:
            raise StorageQuota(f"{MOST} sources already exist", remedy="Remove one of them.")
        source_id, moment = secrets.token_hex(6), now()
        self._database.change(
            "follow",
            id=source_id,
            tenant=tenant,
            address=new.address,
            collection=new.collection,
            options=json.dumps(options),
            sealed=self._seal.close(json.dumps(dict(new.secrets))) if new.secrets else "",
            metadata=json.dumps(dict(check_metadata(new.metadata))),
            every=new.every,
            trusted=int(trusted),
            created_at=moment,
            next_at=moment if new.every else "",
        )
        return self.find(tenant, source_id)

    def _check(self, new: NewFollowedSource, options: Mapping[str, str], *, trusted: bool) -> None:
        """Check kind, options and permissions, without a connection to the source."""
        parse_collection(new.collection)
        kind = kind_of(scheme_of(new.address))
        if kind not in plugins.names("sources"):
            known = ", ".join(plugins.names("sources"))
            raise OptionError(f"unknown source {kind or new.address[:60]!r}; known: {known}")
        address = parse_address(new.address, self._settings, options=options, trusted=trusted)
        plugin = plugins.find("sources", kind)
        if hasattr(plugin, "options"):
            address.check_options(*plugin.options())
        if not trusted and not address.host:
            raise Forbidden("only the operator may use files of the server", remedy="Use a source on the network.")
        if not trusted and hasattr(plugin, "check_rights"):
            plugin.check_rights(address)
        if not trusted and any(is_reference(each) and each != SEALED for each in address.options.values()):
            raise Forbidden(
                "only the operator may use the server's secrets",
                remedy="Send the secret itself; it is stored encrypted.",
            )
        if new.every and new.every < LEAST_SECONDS:
            raise OptionError(f"the interval of a source must be at least {LEAST_SECONDS} seconds")

    def remove(self, tenant: str, source_id: str) -> FollowedSource:
        """Stop following a source. Its documents stay."""
        found = self.find(tenant, source_id)
        self._database.change("unfollow", tenant=tenant, id=source_id)
        self._database.checkpoint()
        return found

    # ── running

    def claim_due(self) -> list[FollowedSource]:
        """Claim the sources that are due: only this caller gets them, to queue them."""
        rows: list[Row] = []
        for row in self._database.all("due", moment=now()):
            turn = {"id": row["id"], "next_at": _seconds_from_now(int(row["every"])), "now_at": row["next_at"]}
            rows += self._database.change("take_turn", **turn)
        return [_followed_source(row) for row in rows]

    def note_queued(self, source: FollowedSource) -> None:
        self._database.change("note_queued", id=source.id)

    def sync(self, library: Library, source: FollowedSource, *, on_progress: OnProgress | None, **given: Any) -> Synced:
        """Sync a source once, and store the result."""
        self._note(source, "running")
        try:
            progress = _within_quota(library, on_progress)
            access = SourceAccess(source.trusted, self._open_secrets(source))
            done = library.sync(
                source.address,
                collection=source.collection,
                metadata=source.metadata,
                options=source.options,
                access=access,
                on_progress=progress,
                **given,
            )
        except FootnotesError as error:
            self._note(source, "failed", error=error.info())
            raise
        except BaseException:
            self._note(source, "queued")
            raise
        self._note(source, "ok", counts=done.counts)
        return done

    def _open_secrets(self, source: FollowedSource) -> dict[str, str]:
        sealed = self._row(source.tenant, source.id)["sealed"]
        found: dict[str, str] = json.loads(self._seal.open(sealed)) if sealed else {}
        return found

    def _note(
        self,
        source: FollowedSource,
        state: RunState,
        *,
        counts: Mapping[Any, int] | None = None,
        error: ErrorInfo | None = None,
    ) -> None:
        counts_json = "" if counts is None else json.dumps({name: count for name, count in counts.items() if count})
        error_json = json.dumps(to_json(error)) if error else ""
        self._database.change("note_run", id=source.id, state=state, moment=now(), error=error_json, counts=counts_json)

    def _row(self, tenant: str, source_id: str) -> Row:
        row = one(self._database.all("find_followed", tenant=tenant, id=source_id))
        if row is None:
            raise NotFound(f"there is no source {source_id[:60]!r}", remedy="List the sources to see their ids.")
        return row


def _within_quota(library: Library, on_progress: OnProgress | None) -> OnProgress | None:
    """Raise now, or at a later progress, if the tenant has reached its storage limit."""
    most = library.settings.serve_tenant_bytes
    if not most:
        return on_progress
    last_check = -math.inf

    def check(*arguments: Any) -> None:
        nonlocal last_check
        if time.monotonic() - last_check >= QUOTA_SECONDS:
            last_check = time.monotonic()
            if int(library.counts()["bytes"]) >= most:
                raise StorageQuota(f"the tenant has used all of its {most:,} bytes")
        if on_progress is not None and arguments:
            on_progress(*arguments)

    check()
    return check


def sync_followed(library: Library, tenant: str, source_id: str, *, on_progress: OnProgress | None) -> Synced:
    """Sync a source of the server's database once, from a worker in any process."""
    with closing(open_database(library.folder, library.settings)) as database:
        sources = FollowedSources(database, library.folder, library.settings)
        return sources.sync(library, sources.find(tenant, source_id), on_progress=on_progress)


def _seconds_from_now(seconds: int) -> str:
    return (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _followed_source(row: Row) -> FollowedSource:
    error = json.loads(row["error"]) if row["error"] else None
    return FollowedSource(
        id=row["id"],
        address=row["address"],
        collection=row["collection"],
        options=json.loads(row["options"]),
        metadata=json.loads(row["metadata"]),
        every=row["every"],
        created_at=row["created_at"],
        next_at=row["next_at"] or None,
        ran_at=row["ran_at"] or None,
        state=row["state"],
        counts=json.loads(row["counts"]),
        error=ErrorInfo(**error) if error else None,
        tenant=row["tenant"],
        trusted=bool(row["trusted"]),
    )
