"""Starts the server: checks the address, then listens until stopped."""

from __future__ import annotations

import ipaddress
import logging
import os
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from footnotes.errors import AddressRefused, ConfigError, MissingExtra
from footnotes.server.database import open_database
from footnotes.server.keys import Keys
from footnotes.settings import Settings, load

STOP_SECONDS = 10
OPEN_TRIES = 300


def serve(
    folder: Path | None,
    host: str,
    port: int,
    *,
    say: Callable[[str], None],
    read_only: bool = False,
    workers: int | None = None,
    opens: bool = False,
    plain_logs: bool = False,
) -> None:
    """Serve the library in a folder until interrupted; `opens` shows the page in a browser."""
    try:
        import uvicorn

        from footnotes.server.app import create_app
        from footnotes.server.protocol import connection_class
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    settings = load(folder, read_only=read_only or None, serve_workers=workers)
    if settings.read_only and not settings.store:
        raise ConfigError("a read-only server needs a store in PostgreSQL", remedy="Set FOOTNOTES_STORE.")
    root = folder or Path(settings.library).expanduser()
    local, keyed = is_loopback(host), has_keys(root, settings)
    if not local and not keyed:
        raise AddressRefused(f"other machines can reach {host}, and the server has no key")
    from footnotes.server.logs import set_up_logs

    set_up_logs(settings.serve_log_level, plain=plain_logs)
    check_port(host, port)
    app = create_app(root, settings=settings, needs_keys=keyed, local=local)
    say(f"Footnotes on http://{host}:{port} (Ctrl-C stops it)")
    if opens:
        open_when_served(host, port)
    uvicorn.run(
        app,
        host=host,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=STOP_SECONDS,
        ws_max_size=1 << 20,
        proxy_headers=False,
        http=connection_class(settings),
    )
    end_without_threads()


def open_when_served(host: str, port: int) -> None:
    """Open the page in a browser as soon as the port answers."""
    address = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104

    def wait_and_open() -> None:
        for _ in range(OPEN_TRIES):
            with suppress(OSError), socket.create_connection((address.strip("[]"), port), timeout=1):
                webbrowser.open(f"http://{address}:{port}/")
                return
            time.sleep(0.1)

    threading.Thread(target=wait_and_open, name="open-page", daemon=True).start()


def end_without_threads() -> None:
    """End the process although threads still wait for a model: Python would wait for them, a minute or more.

    Everything is closed by now, so their results would be lost anyway.
    """
    waiting = [thread for thread in threading.enumerate() if thread.name.startswith("footnotes-") and not thread.daemon]
    if waiting:
        logging.getLogger("footnotes.server").warning("calls are left unfinished", extra={"count": len(waiting)})
        logging.shutdown()
        sys.stdout.flush()
        os._exit(0)


def check_port(host: str, port: int) -> None:
    """Raise if another program listens there, before anything is opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host.strip("[]"), port))
        except OSError as error:
            raise AddressRefused(
                f"cannot listen on {host}:{port} ({error.strerror})",
                remedy="Stop the program that listens there, or choose another port with --port.",
            ) from error


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def has_keys(folder: Path, settings: Settings) -> bool:
    database = open_database(folder, settings)
    try:
        return Keys(database).exist()
    finally:
        database.close()


def missing_extra(error: ModuleNotFoundError) -> MissingExtra:
    return MissingExtra(
        f"the server needs the package {error.name!r}, which is not installed", remedy='pip install "footnotes[server]"'
    )
