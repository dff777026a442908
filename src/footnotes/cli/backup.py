"""`footnotes backup`, `footnotes restore` and `footnotes copy`."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, library_option, load_settings, progress_line
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.settings import Settings
    from footnotes.store.backup import BackupSnapshot

_file = click.argument("file", type=click.Path(path_type=Path))


@click.command("backup")
@_file
@library_option
@click.option("--keep", type=click.IntRange(1), metavar="N", help="Keep the newest N snapshots in the file.")
@json_option
def backup_command(file: Path, library: str | None, keep: int | None, as_json: bool) -> None:
    """Add a snapshot of the library to a backup file. Works while a server runs.

    The snapshot contains all tenants, originals, keys and pending uploads; a restore rebuilds the indexes. Unchanged
    data is not stored again. The command reads the snapshot back and compares it before it ends.
    """
    from footnotes.ingest.backup import backup_library
    from footnotes.server.database import save_server

    settings, folder = load_settings(library)

    def save(draft: Path) -> None:
        save_server(settings, draft)

    done = f"backed up to {one_line(str(file))} as"
    _print_snapshot(backup_library(settings, folder, file, keep=keep, beside=save, say=_warn), as_json, done)


@click.command("restore")
@_file
@library_option
@click.option("--snapshot", type=int, metavar="N", help="The snapshot to restore. [default: the newest]")
@click.option("--list", "listing", is_flag=True, help="List the snapshots of the file; restore nothing.")
@json_option
def restore_command(file: Path, library: str | None, snapshot: int | None, listing: bool, as_json: bool) -> None:
    """Restore a snapshot from a backup file into an empty folder or database, and check it."""
    from footnotes.ingest.backup import restore_library
    from footnotes.server.database import load_server
    from footnotes.store.backup import BackupFile
    from footnotes.store.sqlite.backup import RESTORED_SETTINGS

    if listing:
        with BackupFile(file) as found:
            snapshots = found.snapshots()
        if as_json:
            click.echo(json.dumps({"snapshots": [asdict(one) for one in snapshots]}))
        for one in [] if as_json else snapshots:
            click.echo(_line(one))
        return
    settings, folder = load_settings(library)

    def bring(draft: Path) -> None:
        load_server(settings, draft)

    _print_snapshot(restore_library(settings, folder, file, snapshot=snapshot, beside=bring), as_json, "restored")
    if not as_json and not settings.store and (folder / RESTORED_SETTINGS).is_file():
        click.echo(f"Its settings are in {RESTORED_SETTINGS}: review them, then rename the file to footnotes.toml.")


def _warn(note: str) -> None:
    click.secho(f"note: {one_line(note)}", fg="yellow", err=True)


def _print_snapshot(snapshot: BackupSnapshot, as_json: bool, done: str) -> None:
    click.echo(json.dumps(asdict(snapshot)) if as_json else f"{done} {_line(snapshot)}")


def _line(one: BackupSnapshot) -> str:
    files = f"{one.files} file" + ("" if one.files == 1 else "s")
    return one_line(f"snapshot {one.id} of {one.created_at}: {files}, {one.bytes / 2**20:.1f} MB, {one.library}")


@click.command("copy")
@click.argument("source", metavar="FROM")
@click.argument("target", metavar="TO")
@click.option("--user", metavar="NAME", help="The tenant to copy. [default: the tenant in the settings]")
@json_option
def copy_command(source: str, target: str, user: str | None, as_json: bool) -> None:
    """Copy a library between stores, with its vectors, ids and generations.

    FROM and TO are folders or PostgreSQL addresses (postgresql://…). Run the command again to continue an interrupted
    copy. At the end, it compares every document with its original.
    """
    from footnotes.ingest.copying import copy_between, note_lost

    with progress_line() as progress:
        done = copy_between(_load_settings(source, user), _load_settings(target, user), on_progress=progress)
    if note := note_lost(done.lost):
        _warn(note)
    if as_json:
        click.echo(json.dumps(asdict(done)))
        return
    click.echo(
        f"{done.documents:,} documents copied ({done.already_there:,} existed), {done.chunks:,} chunks in total, "
        f"{done.generations} generations, {done.originals:,} originals; every document compared"
    )


def _load_settings(store: str, user: str | None) -> Settings:
    from footnotes.settings import load

    is_address = "://" in store
    settings = load(None if is_address else Path(store).expanduser())
    target_settings = replace(settings, store=store) if is_address else replace(settings, store="", library=store)
    return replace(target_settings, user=user) if user else target_settings
