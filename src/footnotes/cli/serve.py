"""`footnotes serve`, `footnotes mcp` and `footnotes keys`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, library_option, load_settings, open_server_database
from footnotes.render import one_line
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.server.keys import Key, Keys


log_format_option = click.option(
    "--log-format", type=click.Choice(["plain", "json"]), help="Format of the log.  [default: plain on a terminal]"
)


@click.command("serve")
@library_option
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(0, 65535), help="Port to listen on.")
@click.option("--read-only", is_flag=True, help="Serve only searches and answers, on a PostgreSQL replica.")
@click.option("--workers", type=click.IntRange(0, 256), help="Number of search processes, one per core.  [default: 0]")
@click.option("--open", "opens", is_flag=True, help="Open the page in a browser.")
@log_format_option
def serve_command(
    library: str | None,
    host: str,
    port: int,
    read_only: bool,
    workers: int | None,
    opens: bool,
    log_format: str | None,
) -> None:
    """Serve the library over HTTP, with a web page.

    Without keys, it listens only on this machine. To serve others, first run `footnotes keys create`.
    """
    from footnotes.server.run import serve

    folder = Path(library).expanduser() if library else None
    serve(
        folder,
        host,
        port,
        say=lambda text: click.echo(text, err=True),
        read_only=read_only,
        workers=workers,
        opens=opens,
        plain_logs=_plain_logs(log_format),
    )


def _plain_logs(log_format: str | None) -> bool:
    """Return whether to log plain lines, for a terminal, or JSON, for a collector."""
    return log_format == "plain" if log_format else sys.stderr.isatty()


@click.command("worker")
@library_option
@click.option(
    "--concurrency", default=2, show_default=True, type=click.IntRange(1, 64), help="Number of concurrent jobs."
)
@click.option("--once", is_flag=True, help="Stop when no job is left.")
@log_format_option
def worker_command(library: str | None, concurrency: int, once: bool, log_format: str | None) -> None:
    """Ingest documents that servers accepted, for a store in PostgreSQL. Start any number, on any machine."""
    from footnotes.errors import ConfigError
    from footnotes.server.logs import set_up_logs
    from footnotes.server.run import missing_extra

    settings, folder = load_settings(library)
    if not settings.store:
        raise ConfigError(
            "workers need a store that several processes can share",
            remedy="Set FOOTNOTES_STORE=postgresql://…; for a library in a folder, `footnotes serve` needs no workers.",
        )
    try:
        from footnotes.server.standalone import run
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    set_up_logs(plain=_plain_logs(log_format))
    run(folder, settings, concurrency, once=once)


@click.command("mcp")
@library_option
@click.option("--read-only", is_flag=True, help="Omit tools that change the library.")
def mcp_command(library: str | None, read_only: bool) -> None:
    """Serve the library to an agent over standard input and output (Model Context Protocol)."""
    from footnotes.library import Library
    from footnotes.server.run import missing_extra

    try:
        from footnotes.server.mcp import serve_stdio
    except ModuleNotFoundError as error:
        raise missing_extra(error) from error
    with Library(Path(library).expanduser() if library else None) as open_library:
        serve_stdio(open_library, read_only=read_only)


@click.group("keys")
def keys_command() -> None:
    """Create, list and revoke keys for the server."""


@contextmanager
def _keys(library: str | None) -> Iterator[Keys]:
    from footnotes.server.keys import Keys

    with open_server_database(library) as (database, _, _):
        yield Keys(database)


@keys_command.command("create")
@library_option
@click.option("--tenant", default="local", show_default=True, help="The tenant whose documents the key can access.")
@click.option("--name", default="", help="A name for the key.")
@click.option("--scope", "scopes", multiple=True, default=["read"],
              type=click.Choice(["read", "write", "admin", "metrics"]), show_default=True,
              help="Grant a scope; repeat for several.")  # fmt: skip
@click.option("--days", type=float, help="Days until the key expires.  [default: never]")
@json_option
def create(
    library: str | None, tenant: str, name: str, scopes: Sequence[str], days: float | None, as_json: bool
) -> None:
    """Create a key. It is shown once; only its hash is stored."""
    with _keys(library) as keys:
        key, stored_key = keys.create(tenant, name=name, scopes=scopes, days=days)
    if as_json:
        click.echo(json.dumps({**to_json(stored_key), "key": key}))
    else:
        click.echo(key)
        click.echo(
            "Save the key now: it is not shown again. From now on every request to the server needs a key.", err=True
        )


@keys_command.command("list")
@library_option
@json_option
def list_keys(library: str | None, as_json: bool) -> None:
    """List the keys, without their secrets."""
    with _keys(library) as keys:
        found = keys.all()
    if as_json:
        click.echo(json.dumps(to_json({"keys": found})))
        return
    tenants = max((len(one_line(key.tenant)) for key in found), default=0)
    for key in found:
        click.echo(_line(key, tenants))
    if not found:
        click.echo("no keys")


def _line(key: Key, tenants: int) -> str:
    """Format a key; `tenants` is the width of their column."""
    state = "live" if key.live else ("revoked" if key.revoked_at else "expired")
    name = f"  {one_line(key.name)}" if key.name else ""
    until = f"  until {key.expires_at[:10]}" if key.live and key.expires_at else ""
    return f"{key.id}  {state:7}  {one_line(key.tenant):{tenants}}  {','.join(key.scopes)}{name}{until}"


@keys_command.command("revoke")
@click.argument("key_id")
@library_option
@json_option
def revoke(key_id: str, library: str | None, as_json: bool) -> None:
    """Revoke a key by its id."""
    with _keys(library) as keys:
        stored_key = keys.revoke(key_id)
    click.echo(json.dumps(to_json(stored_key)) if as_json else f"revoked {stored_key.id}")
