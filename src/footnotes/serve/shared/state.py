"""A server among others: its keys, counters and jobs are in the database they share."""

from __future__ import annotations

import os
import socket
from dataclasses import replace
from pathlib import Path
from typing import cast

from footnotes.config import Settings
from footnotes.serve.connections import Connections
from footnotes.serve.conversing import Conversing
from footnotes.serve.database import ServerDatabase
from footnotes.serve.intake import Intake
from footnotes.serve.keys import Keys
from footnotes.serve.metrics import Metrics
from footnotes.serve.quota import Answers, Buckets
from footnotes.serve.shared.buckets import SharedBuckets
from footnotes.serve.shared.database import SharedDatabase
from footnotes.serve.shared.intake import SharedIntake
from footnotes.serve.shared.jobs import Listener, SharedJobs
from footnotes.serve.shared.queue import Queue
from footnotes.serve.shared.reading import ReadingIntake
from footnotes.serve.shared.workers import Workers
from footnotes.serve.state import ServerState
from footnotes.serve.streams import Streams
from footnotes.serve.tenants import Tenants
from footnotes.serve.threads import Pools
from footnotes.serve.worker import for_searches
from footnotes.store.address import named


def make_shared_state(folder: Path, settings: Settings, *, needs_keys: bool) -> ServerState:
    """Open what one of several servers needs."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    settings = replace(settings, store=named(settings.store, f"footnotes server {socket.gethostname()}:{os.getpid()}"))
    shared = SharedDatabase(settings.store, migrate=settings.migrate, read_only=settings.read_only)
    database = cast(ServerDatabase, shared)
    metrics, keys, pools = Metrics(), Keys(database), Pools(settings)
    tenants, jobs = Tenants(folder, for_searches(settings), metrics.embedding), SharedJobs(shared, settings.serve_queue)
    intake: Intake
    if settings.read_only:
        intake = ReadingIntake(tenants, jobs, metrics, settings)
    else:
        queue = Queue(settings.store, shared, migrate=settings.migrate)
        listener = Listener(shared, lambda job_id: working.heard(job_id))
        intake = working = SharedIntake(tenants, jobs, metrics, settings, queue, listener, Workers(shared))
    streams = Streams(settings.serve_streams, keys, pools.slow)
    return ServerState(
        settings=settings,
        database=database,
        tenants=tenants,
        keys=keys,
        answers=Answers(database, settings.serve_answers),
        buckets=_buckets(shared, settings),
        jobs=jobs,
        intake=intake,
        pools=pools,
        streams=streams,
        conversing=Conversing(streams, pools),
        connections=Connections(database, folder, settings),
        metrics=metrics,
        needs_keys=needs_keys,
        lock=os.open(os.devnull, os.O_RDONLY),
    )


def _buckets(shared: SharedDatabase, settings: Settings) -> Buckets:
    """Counted on all servers together, but where nothing can be written: there each server counts for itself."""
    kind = (settings.serve_rate, settings.serve_burst)
    return Buckets(*kind) if settings.read_only else SharedBuckets(shared, *kind)
