"""`footnotes models`: list the available models and what each lacks, and test the selected ones."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes import plugins
from footnotes.cli.options import json_option, library_option, open_server_database
from footnotes.cli.printing import align_table, print_json
from footnotes.errors import FootnotesError, OptionError
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.server.connections import Connections
    from footnotes.server.keys import Caller
    from footnotes.settings import Settings

_KINDS: tuple[tuple[plugins.Kind, str], ...] = (
    ("chat_models", "chat"),
    ("embedders", "embedder"),
    ("rerankers", "reranker"),
)
_tenant_option = click.option(
    "--tenant", default="local", show_default=True, help="The tenant whose questions it answers."
)


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One provider of models of one kind."""

    kind: str
    provider: str
    chosen: str
    state: str


@click.group("models", invoke_without_command=True)
@click.pass_context
@library_option
@json_option
@click.option(
    "--test", "tested", is_flag=True, help="Send a small request to the selected chat model and the embedder."
)
@click.option(
    "--model", metavar="PROVIDER:MODEL", help="With --test: test this chat model instead of the selected one."
)
def models_command(context: click.Context, library: str | None, as_json: bool, tested: bool, model: str | None) -> None:
    """List model providers: installed, missing a key, selected, responding.

    The commands below connect models to the server, as its page does, without editing files or a restart.
    """
    from footnotes.settings import load

    if context.invoked_subcommand is not None:
        return
    if model is not None and not tested:
        raise click.UsageError("--model needs --test")
    settings = load(Path(library).expanduser() if library else None)
    if model is not None:
        settings = replace(settings, model=model)
    lines = list(_lines(settings, tested=tested))
    if as_json:
        print_json({"models": [asdict(line) for line in lines]})
    else:
        rows = [[line.kind, line.provider, line.chosen, one_line(line.state)] for line in lines]
        click.echo(align_table([["kind", "provider", "chosen", "state"], *rows], most=len(rows) + 1))
        if settings.model == "extractive":
            click.echo(
                "\nNo chat model is set: answers are quotations. Run: footnotes config set model openai:gpt-4o-mini"
            )
    if any(line.state.startswith("fails") for line in lines):
        raise SystemExit(1)


def _lines(settings: Settings, *, tested: bool) -> Iterator[ModelLine]:
    models = {"chat": settings.model, "embedder": settings.embedder, "reranker": settings.reranker}
    for kind, name in _KINDS:
        for provider in plugins.names(kind):
            if provider == "hashing":  # for tests, and for use without a model
                continue
            is_chosen = plugins.split_name(models[name])[0] == provider
            state = _state(kind, provider, settings)
            if tested and is_chosen and name != "reranker" and state == "installed":
                state = _answer(name, settings)
            yield ModelLine(name, provider, models[name] if is_chosen else "", state)


def _state(kind: plugins.Kind, provider: str, settings: Settings) -> str:
    """Return whether it can be used: the package is installed, and the key is set if it needs one."""
    try:
        plugins.find(kind, provider)
    except FootnotesError as error:
        return f"not installed: {error.remedy}" if error.code == "missing_extra" else f"broken: {error.message}"
    if getattr(settings, f"{provider}_api_key", None) == "":
        return f"no key: set FOOTNOTES_{provider.upper()}_API_KEY or {provider.upper()}_API_KEY"
    return "installed"


def _answer(name: str, settings: Settings) -> str:
    from footnotes.answer.models.table import make_chat_model
    from footnotes.doctor.models import ask_model, check_embedder

    start = time.perf_counter()
    try:
        if name == "chat":
            seconds = ask_model(settings.model, make_chat_model(settings.model, settings))
            return f"answers: first words after {seconds * 1000:.0f} ms"
        (check,) = check_embedder(settings)
        return f"answers in {(time.perf_counter() - start) * 1000:.0f} ms: {check.found}"
    except FootnotesError as error:
        return f"fails: {error.message}. {error.remedy} [{error.code}]"


@models_command.command("fetch")
@click.argument("name", metavar="NAME[@REVISION]")
@click.option("--to", "folder", metavar="DIR", help="Folder for models. [default: models_dir in the settings]")
@click.option("--file", default="", metavar="PATH", help="The ONNX file to download. [default: model.onnx]")
@json_option
def fetch_command(name: str, folder: str | None, file: str, as_json: bool) -> None:
    """Download an embedding model or a cross-encoder from a hub. Then use it as onnx:NAME, also offline.

    Records the revision and checks every file. Obeys HF_ENDPOINT, HF_TOKEN and HF_HUB_OFFLINE.
    """
    from footnotes.embed.hub import fetch_model
    from footnotes.settings import load

    model, _, revision = name.partition("@")
    models_folder = Path(folder or load(None).models_dir).expanduser()

    def say(path: str, size: int) -> None:
        click.echo(f"{path}  {size / 1e6:.1f} MB", err=True)

    fetched = fetch_model(model, models_folder / model, revision=revision, file=file, on_file=say)
    if as_json:
        print_json(asdict(fetched))
        return
    click.echo(
        f"{fetched.folder}  revision {fetched.revision[:12]}, {fetched.files} files, {fetched.bytes / 1e6:.1f} MB"
    )
    click.echo(f"footnotes config set embedder onnx:{model}")
    if folder:
        click.echo(f"footnotes config set models_dir {models_folder}")


# ── models connected to the server


@contextmanager
def _connections(library: str | None, tenant: str) -> Iterator[tuple[Connections, Caller]]:
    from footnotes.server.connections import Connections
    from footnotes.server.keys import Caller

    with open_server_database(library) as (database, settings, folder):
        # A user who can write to the server's folder operates it, for any tenant.
        yield Connections(database, folder, replace(settings, user=tenant)), Caller(tenant, "", frozenset(("admin",)))


@models_command.command("connect")
@click.argument("provider")
@click.argument("model", default="")
@library_option
@_tenant_option
@json_option
@click.option(
    "--address", default="", metavar="URL", help="Address of the model. [default: the provider's own address]"
)
@click.option("--file", "path", default="", metavar="GGUF", help="The file of a llama model.")
@click.option(
    "--key-env", default="", metavar="NAME", help="Environment variable with the key. [default: prompt for it, hidden]"
)
@click.option("--no-key", is_flag=True, help="The model needs no key.")
def connect_command(
    provider: str, model: str, library: str | None, tenant: str, as_json: bool, no_key: bool, key_env: str, **place: str
) -> None:
    """Connect a model: openai, anthropic, gemini, cohere, ollama, compatible or llama. Sends a small test request."""
    from footnotes.answer.models.connect import try_model
    from footnotes.server.connections import NewConnection
    from footnotes.settings import load

    keyless = no_key or key_env or provider in ("ollama", "llama")
    key = "" if keyless else click.prompt("Key", hide_input=True, default="", show_default=False, err=True)
    new = NewConnection(provider, model, place["address"], place["path"], key, key_env)
    with _connections(library, tenant) as (connections, caller):
        found = try_model(connections.build(caller, new), load(Path(library).expanduser() if library else None))
        if found.error is not None:
            raise OptionError(f"the model does not respond: {found.error.message}", remedy=found.error.remedy)
        connection = connections.add(caller, new)
    if as_json:
        print_json({**asdict(connection), "ms": found.ms})
    else:
        click.echo(f"{connection.id}  {connection.name}  answered after {found.ms:.0f} ms")


@models_command.command("connected")
@library_option
@_tenant_option
@json_option
def connected_command(library: str | None, tenant: str, as_json: bool) -> None:
    """List the connected models, without their keys."""
    with _connections(library, tenant) as (connections, _):
        found = connections.all(tenant)
    if as_json:
        print_json({"connections": [asdict(each) for each in found]})
        return
    for each in found:
        place = each.base_url or each.path
        click.echo(
            f"{each.id}  {'answers' if each.is_default else '       '}  {one_line(each.name)}  {one_line(place)}"
        )
    if not found:
        click.echo("no model is connected")


@models_command.command("disconnect")
@click.argument("connection")
@library_option
@_tenant_option
@json_option
def disconnect_command(connection: str, library: str | None, tenant: str, as_json: bool) -> None:
    """Remove a connection and its key."""
    with _connections(library, tenant) as (connections, _):
        removed = connections.remove(tenant, connection)
    if as_json:
        print_json(asdict(removed))
    else:
        click.echo(f"disconnected {removed.id}")


@models_command.command("found")
@json_option
def found_command(as_json: bool) -> None:
    """Find model servers on this machine: Ollama, LM Studio and llama.cpp at their usual ports."""
    from footnotes.answer.models.connect import find_servers
    from footnotes.settings import load

    found = list(find_servers(load(None)))
    if as_json:
        print_json({"servers": [asdict(each) for each in found]})
        return
    for each in found:
        click.echo(f"{each.name}  {each.base_url}  {', '.join(map(one_line, each.models[:5]))}")
    if not found:
        click.echo("none answers")
