"""`footnotes models`: the models that can be chosen, what each lacks, and whether the chosen ones answer."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from footnotes import registry
from footnotes.cli.options import json_option, library_option
from footnotes.cli.printing import align_table, print_json
from footnotes.errors import FootnotesError
from footnotes.render import one_line

if TYPE_CHECKING:
    from footnotes.config import Settings

_KINDS: tuple[tuple[registry.Kind, str], ...] = (
    ("chat_models", "chat"),
    ("embedders", "embedder"),
    ("rerankers", "reranker"),
)


@dataclass(frozen=True, slots=True)
class ModelLine:
    """One provider of models of one kind."""

    kind: str
    provider: str
    chosen: str
    state: str


@click.command("models")
@library_option
@json_option
@click.option("--test", "tested", is_flag=True, help="Ask the chosen chat model and the embedder one small thing.")
@click.option("--model", metavar="PROVIDER:MODEL", help="With --test: ask this chat model in place of the chosen one.")
def models_command(library: str | None, as_json: bool, tested: bool, model: str | None) -> None:
    """Providers of models: which are installed, which lack a key, which are chosen, which answer."""
    from footnotes.config import load

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
                "\nNo chat model is chosen: answers are quotations. footnotes config set model openai:gpt-4o-mini"
            )
    if any(line.state.startswith("fails") for line in lines):
        raise SystemExit(1)


def _lines(settings: Settings, *, tested: bool) -> Iterator[ModelLine]:
    chosen = {"chat": settings.model, "embedder": settings.embedder, "reranker": settings.reranker}
    for kind, name in _KINDS:
        for provider in registry.names(kind):
            if provider == "hashing":  # for tests, and for trying things without a model
                continue
            is_chosen = registry.split_name(chosen[name])[0] == provider
            state = _state(kind, provider, settings)
            if tested and is_chosen and name != "reranker" and state == "installed":
                state = _answer(name, settings)
            yield ModelLine(name, provider, chosen[name] if is_chosen else "", state)


def _state(kind: registry.Kind, provider: str, settings: Settings) -> str:
    """Whether it can be used: its package is there, and its key where it needs one."""
    try:
        registry.find(kind, provider)
    except FootnotesError as error:
        return f"not installed: {error.remedy}" if error.code == "missing_extra" else f"broken: {error.message}"
    if getattr(settings, f"{provider}_api_key", None) == "":
        return f"no key: set FOOTNOTES_{provider.upper()}_API_KEY or {provider.upper()}_API_KEY"
    return "installed"


def _answer(name: str, settings: Settings) -> str:
    from footnotes.doctor.models import ask_model, check_embedder

    began = time.perf_counter()
    try:
        if name == "chat":
            return f"answers: first words after {ask_model(settings) * 1000:.0f} ms"
        (check,) = check_embedder(settings)
        return f"answers in {(time.perf_counter() - began) * 1000:.0f} ms: {check.found}"
    except FootnotesError as error:
        return f"fails: {error.message}. {error.remedy} [{error.code}]"
