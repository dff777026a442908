"""`footnotes backup` and `footnotes restore`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes.cli.options import json_option, library_option
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.config import Settings
    from footnotes.store.backup import BackupSnapshot

_file = click.argument("file", type=click.Path(path_type=Path))


@click.command("backup")
@_file
@library_option
@click.option("--keep", type=click.IntRange(1), metavar="N", help="Keep the newest N snapshots in the file.")
@json_option
def backup_command(file: Path, library: str | None, keep: int | None, as_json: bool) -> None:
    """Add a snapshot of the library to a backup file, while it serves.

    All tenants, originals, keys and waiting uploads are in it; indexes are rebuilt after a restore. What did not change
    since the last snapshot is not stored again. The snapshot is read back and compared before this command ends.
    """
    from footnotes.ingest.backup import backup_library
    from footnotes.serve.moving import save_server

    settings, folder = _settings(library)

    def save(draft: Path) -> None:
        save_server(settings, draft)

    _say(backup_library(settings, folder, file, keep=keep, beside=save), as_json, "backed up as")


@click.command("restore")
@_file
@library_option
@click.option("--snapshot", type=int, metavar="N", help="The snapshot to restore. [default: the newest]")
@click.option("--list", "listing", is_flag=True, help="List the snapshots of the file, and restore none.")
@json_option
def restore_command(file: Path, library: str | None, snapshot: int | None, listing: bool, as_json: bool) -> None:
    """Restore a snapshot of a backup file into an empty folder or database, and check it."""
    from footnotes.ingest.backup import restore_library
    from footnotes.serve.moving import load_server
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
    settings, folder = _settings(library)

    def bring(draft: Path) -> None:
        load_server(settings, draft)

    _say(restore_library(settings, folder, file, snapshot=snapshot, beside=bring), as_json, "restored")
    if not as_json and not settings.store and (folder / RESTORED_SETTINGS).is_file():
        click.echo(f"Its settings are in {RESTORED_SETTINGS}: look at them, then rename it to footnotes.toml.")


def _settings(library: str | None) -> tuple[Settings, Path]:
    from footnotes.config import load

    settings = load(Path(library).expanduser() if library else None)
    return settings, Path(library or settings.library).expanduser()


def _say(snapshot: BackupSnapshot, as_json: bool, done: str) -> None:
    click.echo(json.dumps(asdict(snapshot)) if as_json else f"{done} {_line(snapshot)}")


def _line(one: BackupSnapshot) -> str:
    files = f"{one.files} file" + ("" if one.files == 1 else "s")
    return one_line(f"snapshot {one.id} of {one.created_at}: {files}, {one.bytes / 2**20:.1f} MB, {one.library}")
