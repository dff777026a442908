"""The command line: thin, no logic. Every command prints for people, or with --json what `wire.py` writes."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from footnotes import __version__
from footnotes.commands.backup import backup_command, restore_command
from footnotes.commands.copy import copy_command
from footnotes.commands.doctor import doctor_command
from footnotes.commands.follow import sync_command, watch_command
from footnotes.commands.importing import import_command
from footnotes.commands.jobs import jobs_command
from footnotes.commands.migrate import migrate_command
from footnotes.commands.options import pairs as _pairs
from footnotes.commands.original import write_original
from footnotes.commands.repository import add_repositories
from footnotes.commands.serve import keys_command, mcp_command, serve_command, worker_command
from footnotes.commands.status import status_command
from footnotes.errors import FootnotesError
from footnotes.evaluate.commands import eval_command, tune_command
from footnotes.inspect.commands import inspect_command
from footnotes.render import (
    answer_as_text,
    hit_place,
    note_on_search,
    one_line,
    shortened,
)
from footnotes.types import Turn
from footnotes.wire import to_json

if TYPE_CHECKING:
    from footnotes.engine import Library
    from footnotes.progress import ProgressLine
    from footnotes.types import Added, Answer, Event, Hit

EXIT_ERROR, EXIT_SOME_FAILED, EXIT_INTERRUPTED = 1, 3, 130


class _Commands(click.Group):
    """Turns errors of the tree into their message, remedy and exit code, whichever command raised them."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except FootnotesError as error:
            _show_error(error, as_json="--json" in sys.argv)
            ctx.exit(EXIT_ERROR)
        except KeyboardInterrupt:
            click.echo("\nStopped. What was reported is kept; run the same command again to go on.", err=True)
            ctx.exit(EXIT_INTERRUPTED)


def _show_error(error: FootnotesError, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps({"error": to_json(error.info())}, ensure_ascii=False))
        return
    click.secho(f"error: {one_line(error.message)}", fg="red", err=True)
    click.echo(f"       {error.remedy} [{error.code}]", err=True)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="footnotes")
def main() -> None:
    """Answers questions from your own documents; every sentence carries a footnote to where it came from.

    \b
    footnotes add ~/documents
    footnotes ask "How long is the notice period?"
    """


def _common(command: Callable[..., None]) -> Callable[..., None]:
    """The options every command has."""
    options = (
        click.option("--library", "-l", metavar="DIR", help="Folder of the library. [default: ~/.footnotes]"),
        click.option("--collection", "-c", metavar="NAME", help="A named group of documents inside the library."),
        click.option("--json", "as_json", is_flag=True, help="Print JSON for programs."),
    )
    for option in reversed(options):
        command = option(command)
    return command


def _opened(command: Callable[..., None]) -> Callable[..., None]:
    """Gives the command an open library in place of its folder."""

    @wraps(command)
    def run(library: str | None, **options: Any) -> None:
        from footnotes.engine import Library

        creating = command.__name__ == "add"
        with Library(library, create=creating) as opened:
            command(opened, **options)

    return run


_where = click.option(
    "--where",
    "-w",
    multiple=True,
    metavar="KEY=VALUE",
    help="Filter; also != > >= < <= ~ (glob), or layer:domain path:src/**.",
)
_mode = click.option("--mode", type=click.Choice(["hybrid", "lexical", "dense"]), help="Which legs to use.")


# ── add ──────────────────────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH_OR_URL...")
@_common
@click.option("--chunker", metavar="NAME", help="How to cut; see docs/reference/chunkers.md.")
@click.option("--chunker-option", multiple=True, metavar="KEY=VALUE", help="An option of the chunker.")
@click.option("--metadata", "-m", multiple=True, metavar="KEY=VALUE", help="Metadata for every document added.")
@click.option("--code", is_flag=True, help="The paths are repositories: take in their source, and follow it.")
@click.option("--untracked", is_flag=True, help="With --code: also files that git neither tracks nor ignores.")
@click.option("--wiki", is_flag=True, help="The paths are folders of pages that describe a repository.")
@click.option("--repo", metavar="DIR", help="With --wiki: the repository they describe.")
@click.option("--analysis", metavar="FILE", help="With --wiki: a prepared analysis of it; see docs/code.md.")
@click.option("--verbose", "-v", is_flag=True, help="Name every file that was left out, and why.")
@_opened
def add(
    library: Library,
    paths: Sequence[str],
    collection: str | None,
    as_json: bool,
    chunker: str | None,
    chunker_option: Sequence[str],
    metadata: Sequence[str],
    verbose: bool,
    code: bool,
    wiki: bool,
    **repository: Any,
) -> None:
    """Take in files, folders, archives of documents, pages and sitemaps; repositories with --code or --wiki."""
    kept = _repository_options(code, wiki, **repository)
    with _progress() as progress:
        if kept is not None:
            if wiki and (chunker or chunker_option):
                raise click.UsageError("pages are cut by their sections; leave --chunker out")
            given = {"chunker": chunker, "chunker_options": _pairs(chunker_option) or None} if code else {}
            options = {"collection": collection, "metadata": _pairs(metadata), "on_progress": progress, **given, **kept}
            add_repositories(library, paths, wiki=wiki, as_json=as_json, verbose=verbose, options=options)
            return
        stream = library.adding(
            *paths,
            collection=collection,
            metadata=_pairs(metadata),
            chunker=chunker,
            chunker_options=_pairs(chunker_option) or None,
            on_progress=progress,
        )
        _show_all_added(stream, as_json, verbose)


@main.command()
@_common
@_opened
def resume(library: Library, collection: str | None, as_json: bool) -> None:
    """Go on with work that was cut off, and try again what failed in a way that may pass.

    See `footnotes jobs` for what there is to do. It concerns all collections.
    """
    with _progress() as progress:
        _show_all_added(library.resuming(on_progress=progress), as_json, False)


def _repository_options(
    code: bool, wiki: bool, untracked: bool, repo: str | None, analysis: str | None
) -> dict[str, Any] | None:
    """What is meant for a repository or its pages; nothing where neither is added."""
    if code and wiki:
        raise click.UsageError("--code and --wiki are different things to add; run the command twice")
    if untracked and not code:
        raise click.UsageError("--untracked needs --code")
    if (repo or analysis) and not wiki:
        raise click.UsageError("--repo and --analysis need --wiki")
    if repo and analysis:
        raise click.UsageError("--repo and --analysis say the same; name one")
    if code:
        return {"untracked": untracked}
    return {"repository": repo, "analysis": analysis} if wiki else None


def _show_all_added(stream: Iterator[Added], as_json: bool, verbose: bool) -> None:
    """Print results as they come, then the summary. Failures end the program with a code of their own."""
    began = time.monotonic()
    results: list[Added] = []
    for added in stream:
        results.append(added)
        if not as_json:
            _show_added(added, verbose)
    took = (time.monotonic() - began) * 1000
    if as_json:
        _print_json({"documents": results, "took_ms": round(took, 1)})
    else:
        _show_summary(results, took)
    if any(added.status == "failed" for added in results):
        sys.exit(EXIT_SOME_FAILED)


def _show_added(added: Added, verbose: bool) -> None:
    name = _near(added.path)
    if added.error is not None:
        click.secho(f"failed        {name}", fg="red")
        click.echo(f"              {one_line(added.error.message)}. {added.error.remedy} [{added.error.code}]")
    elif added.status != "skipped":
        click.echo(f"{added.status:13} {name}  {_count(added.chunks, 'chunk')}")
        for warning in added.warnings:
            click.secho(f"              note: {one_line(warning)}", fg="yellow")
        if near := added.near_duplicate_of:
            said = f"{near.similarity:.0%} the same as {one_line(near.filename)} ({near.document_id})"
            click.secho(f"              note: {said}", fg="yellow")
    elif verbose:
        click.echo(f"skipped       {name}  {', '.join(added.warnings)}")


def _near(path: str) -> str:
    """A path as the user would write it from here."""
    here = str(Path.cwd()) + "/"
    return one_line(path.removeprefix(here))


def _show_summary(results: list[Added], took_ms: float) -> None:
    counts = {status: sum(added.status == status for added in results) for status in
              ("ready", "indexing", "replaced", "deduplicated", "skipped", "failed")}  # fmt: skip
    said = ", ".join(f"{count} {status}" for status, count in counts.items() if count) or "nothing to add"
    click.echo(f"{said} in {took_ms / 1000:.1f} s")
    if counts["failed"]:
        names = [Path(one_line(added.path)).name for added in results if added.status == "failed"]
        shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        click.secho(f"could not take in: {shown}", fg="red")
    if counts["skipped"]:
        click.echo("left out: hidden files, what .gitignore names, links out of the folder (-v lists them)")


# ── find ─────────────────────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.argument("query", nargs=-1, required=True)
@_common
@_where
@_mode
@click.option("--limit", "-n", type=int, help="How many hits.  [default: 10]")
@click.option("--per-document", type=int, help="How many hits of one document.  [default: 1]")
@click.option("--fusion", type=click.Choice(["adaptive", "alpha", "rrf"]), help="How the legs are fused.")
@click.option("--alpha", type=float, help="Weight of the dense leg in alpha fusion.")
@click.option("--reranker", metavar="NAME", help="late, llm, onnx, server:model or cohere:model.")
@_opened
def search(
    library: Library,
    query: Sequence[str],
    collection: str | None,
    as_json: bool,
    where: Sequence[str],
    mode: str | None,
    limit: int | None,
    per_document: int | None,
    fusion: str | None,
    alpha: float | None,
    reranker: str | None,
) -> None:
    """Find passages."""
    result = library.search(
        " ".join(query),
        collection=collection,
        where=where,
        mode=mode,
        limit=limit,
        per_document=per_document,
        fusion=fusion,
        alpha=alpha,
        reranker=reranker,
    )
    if as_json:
        _print_json(result)
        return
    for number, hit in enumerate(result.hits, start=1):
        _show_hit(number, hit)
    if not result.hits:
        click.echo("Nothing found.")
    if note := note_on_search(result):
        click.secho(note, fg="yellow", err=True)


def _show_hit(number: int, hit: Hit) -> None:
    place = hit_place(hit)
    heading = f"  {one_line(hit.headings[-1])}" if hit.headings else ""
    legs = []
    for name, leg in (("lexical", hit.scores.lexical), ("dense", hit.scores.dense)):
        if leg is not None:
            legs.append(f"{name} {'#' + str(leg.rank) if leg.rank else '–'} {leg.score:.3f}")
    legs += [one_line(hit.scores.reason)] if hit.scores.reason else []
    click.secho(f"{number}. {place}{heading}", bold=True)
    click.echo(f"   {shortened(hit.text, 300)}")
    click.secho(f"   {hit.score:.3f} ({', '.join(legs)})  {hit.document_id}:{hit.start}-{hit.end}", dim=True)


def _answering(command: Callable[..., None]) -> Callable[..., None]:
    """The options of every command that answers."""
    options = (
        click.option("--passages", type=int, help="How many passages an answer may draw on.  [default: 6]"),
        click.option("--model", metavar="NAME", help="extractive, or provider:model of a chat model."),
        click.option(
            "--deep", is_flag=True, help="Search more than once: take the question apart, follow what is found."
        ),
        click.option(
            "--strict", is_flag=True, default=None, help="Leave out what nothing supports; fail with the model."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


@main.command()
@click.argument("question", nargs=-1, required=True)
@_common
@_where
@_mode
@_answering
@click.option("--stream/--no-stream", default=None, help="Show it as it comes; with --json, one event a line.")
@_opened
def ask(
    library: Library, question: Sequence[str], as_json: bool, stream: bool | None, where: Sequence[str], **options: Any
) -> None:
    """Answer a question, with a footnote for every sentence."""
    asked = " ".join(question)
    if stream if stream is not None else not as_json and sys.stdout.isatty():
        events = library.ask_stream(asked, where=where, **options)
        _show_events(events, as_json)
        return
    answer = library.ask(asked, where=where, **options)
    if as_json:
        _print_json(answer)
    else:
        click.echo(answer_as_text(answer))


def _show_events(events: Iterable[Event], as_json: bool) -> Answer:
    """The events as lines of JSON, or as text for people."""
    from footnotes.answer import last_answer
    from footnotes.terminal import StreamedAnswer

    if as_json:
        return last_answer(_echoed(events))

    def write(text: str) -> None:
        click.echo(text, nl=False)

    return StreamedAnswer(write, lambda text: click.secho(text, dim=True, nl=False)).show(events)


@main.command()
@_common
@_where
@_mode
@_answering
@_opened
def chat(library: Library, as_json: bool, where: Sequence[str], **options: Any) -> None:
    """Talk with the documents: each question is understood from those before. An empty line ends it."""
    history: list[Turn] = []
    while asked := _next_question(quiet=as_json):
        events = library.ask_stream(asked, where=where, history=history, **options)
        answer = _show_events(events, as_json)
        history += [Turn("user", asked), Turn("assistant", answer.answer)]


def _next_question(*, quiet: bool) -> str:
    """The next line, without what ends it; nothing at the end of the input."""
    if sys.stdin.isatty() and not quiet:
        click.secho("\n? ", bold=True, nl=False)
    return sys.stdin.readline().strip()


def _echoed(events: Iterable[Event]) -> Iterator[Event]:
    for event in events:
        click.echo(json.dumps(to_json(event), ensure_ascii=False))
        yield event


# ── look ─────────────────────────────────────────────────────────────────────────────────────────────────


@main.command("list")
@_common
@_where
@click.option("--limit", "-n", type=click.IntRange(min=0), help="How many documents.")
@_opened
def list_(library: Library, collection: str | None, as_json: bool, where: Sequence[str], limit: int | None) -> None:
    """List documents."""
    found = library.documents(collection=collection, where=where, limit=limit)
    alike = library.near_duplicates()
    if as_json:
        _print_json({"documents": [replace(document, near_duplicate_of=alike.get(document.id)) for document in found]})
        return
    for document in found:
        pages = f", {_count(document.pages, 'page')}" if document.pages else ""
        click.echo(
            f"{document.id}  {document.status:9} {one_line(document.filename)}  "
            f"({_count(document.chunks, 'chunk')}{pages}, {document.collection})"
        )
        if near := alike.get(document.id):
            click.secho(f"{'':19}{near.similarity:.0%} the same as {near.document_id}", fg="yellow")
        if document.error:
            click.secho(f"{'':19}{one_line(document.error.message)}. {document.error.remedy}", fg="red")
    if not found:
        click.echo("No documents. Add some with: footnotes add PATH")


@main.command()
@click.argument("document_id", metavar="ID")
@_common
@click.option("--text", "what", flag_value="text", help="The canonical text.")
@click.option("--chunks", "what", flag_value="chunks", help="The chunks with their spans.")
@click.option("--original", metavar="FILE", help="Write the file it was made from, if kept, to FILE; - is the output.")
@_opened
def show(
    library: Library, document_id: str, collection: str | None, as_json: bool, what: str | None, original: str | None
) -> None:
    """Show a document, its text or its chunks, or write the file it was made from."""
    if original is not None:
        write_original(library, library.document(document_id), original, as_json)
        return
    by_name = {"text": _show_text, "chunks": _show_chunks}
    by_name.get(what or "", _show_document)(library, document_id, as_json)


def _show_document(library: Library, document_id: str, as_json: bool) -> None:
    document = library.document(document_id)
    shown = to_json(replace(document, near_duplicate_of=library.near_duplicates().get(document.id)))
    if as_json:
        _print_json(shown)
        return
    for name, value in shown.items():
        if value not in (None, [], {}):
            click.echo(f"{name:18} {one_line(value if isinstance(value, str) else json.dumps(value))}")


def _show_text(library: Library, document_id: str, as_json: bool) -> None:
    text = library.text(document_id)
    if as_json:
        _print_json({"document_id": document_id, "text": text})
    else:
        _write_text(text)


def _show_chunks(library: Library, document_id: str, as_json: bool) -> None:
    chunks = library.chunks(document_id)
    if as_json:
        _print_json({"document_id": document_id, "chunks": chunks})
        return
    for chunk in chunks:
        place = " > ".join(one_line(heading) for heading in chunk.headings)
        pages = f", p. {_page_range(chunk.pages)}" if chunk.pages else ""
        lines = f", lines {chunk.lines[0]}–{chunk.lines[1]}" if chunk.lines else ""
        span = f"{chunk.start}-{chunk.end}{lines}  {chunk.tokens} tokens{pages}"
        click.secho(f"── {chunk.index + 1} of {chunk.total}  {span}  {place}", bold=True)
        _write_text(chunk.text + "\n")


@main.command()
@_common
@click.option("--repair", is_flag=True, help="Rebuild from the database what does not match it.")
@_opened
def verify(library: Library, collection: str | None, as_json: bool, repair: bool) -> None:
    """Check that everything in the library matches."""
    _whole_library(collection)
    found = library.verify(repair=repair)
    if as_json:
        problems = [{"what": problem.what, "mendable": problem.mendable} for problem in found.problems]
        _print_json({"ok": found.ok, "checked": found.checked, "problems": problems, "repaired": found.repaired})
    else:
        for note in found.repaired:
            click.echo(f"repaired: {note}")
        for problem in found.problems:
            hint = " (footnotes verify --repair mends it)" if problem.mendable else ""
            click.secho(f"problem: {problem.what}{hint}", fg="red")
        if found.ok:
            checked = ", ".join(f"{count:,} {name}" for name, count in found.checked.items()) or "an empty library"
            click.echo(f"All is well: {checked} checked.")
    if not found.ok:
        sys.exit(EXIT_ERROR)


# ── change ───────────────────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.argument("document_ids", nargs=-1, metavar="ID...")
@_common
@click.option("--source", metavar="PATH", help="Delete what came from this path.")
@click.option("--all-of-collection", is_flag=True, help="Delete every document of the collection named by -c.")
@click.option("--compact", is_flag=True, help="Also leave no byte of them in the folder; slower.")
@_opened
def delete(
    library: Library,
    document_ids: Sequence[str],
    collection: str | None,
    as_json: bool,
    source: str | None,
    all_of_collection: bool,
    compact: bool,
) -> None:
    """Delete documents by id, by source or by collection."""
    if all_of_collection and not collection:
        raise click.UsageError("--all-of-collection needs --collection NAME")
    if not (document_ids or source or all_of_collection):
        raise click.UsageError("name the documents to delete: an ID, --source PATH, or -c NAME --all-of-collection")
    scope = collection if source or all_of_collection else None
    gone = library.delete(*document_ids, source=source, collection=scope, compact=compact)
    if as_json:
        _print_json({"deleted": gone})
    else:
        click.echo(f"deleted {_count(len(gone), 'document')}")
        if (failure := library.index_failure) is not None:
            click.secho(f"Note: the vector database has them still ({one_line(failure.message)}).", fg="yellow")


@main.command()
@_common
@_opened
def compact(library: Library, collection: str | None, as_json: bool) -> None:
    """Leave no byte of deleted documents in the folder."""
    _whole_library(collection)
    library.compact()
    if as_json:
        _print_json({"compacted": True})
    else:
        click.echo("compacted")


@main.command()
@_common
@click.option("--chunker", metavar="NAME", help="Cut with this chunker from now on.")
@click.option("--chunker-option", multiple=True, metavar="KEY=VALUE", help="An option of the chunker.")
@click.option("--embedder", metavar="PROVIDER:MODEL", help="Embed with this model from now on.")
@click.option("--keep", is_flag=True, help="Keep the generation that served, so that --rollback can restore it.")
@click.option("--rollback", is_flag=True, help="Serve the kept generation again.")
@click.option("--golden", type=click.Path(path_type=Path), metavar="FILE", help="Switch only if these get no worse.")
@click.option("--min-recall", type=float, metavar="X", help="With --golden: switch only if so much of it is found.")
@_opened
def reindex(
    library: Library,
    collection: str | None,
    as_json: bool,
    chunker: str | None,
    chunker_option: Sequence[str],
    embedder: str | None,
    keep: bool,
    rollback: bool,
    golden: Path | None,
    min_recall: float | None,
) -> None:
    """Build the next generation beside the one that serves, then switch."""
    gate = _gate(library, golden, min_recall)
    with _progress() as progress:
        if rollback:
            result = library.rollback(on_progress=progress)
        else:
            result = library.reindex(
                collection=collection,
                chunker=chunker,
                chunker_options=_pairs(chunker_option),
                embedder=embedder,
                keep=keep,
                gate=gate,
                on_progress=progress,
            )
    if as_json:
        _print_json(result)
    else:
        kept = f"; generation {result['replaced']} is kept" if result["kept"] else ""
        click.echo(
            f"generation {result['generation']} serves: {_count(result['documents'], 'document')} built, "
            f"{_count(result['embedded'], 'chunk')} embedded{kept}"
        )


# ── move ─────────────────────────────────────────────────────────────────────────────────────────────────


@main.command()
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@_common
@_opened
def export(library: Library, file: str, collection: str | None, as_json: bool) -> None:
    """Write documents and chunks as JSON Lines; to standard output when FILE is `-`."""
    if file == "-":
        for line in library.exporting(collection=collection):
            click.echo(line)
        return
    counts = library.export(file, collection=collection)
    if as_json:
        _print_json({"file": file, **counts})
    else:
        click.echo(f"wrote {_count(counts['documents'], 'document')} and {_count(counts['chunks'], 'chunk')} to {file}")


# ── printing ─────────────────────────────────────────────────────────────────────────────────────────────


def _whole_library(collection: str | None) -> None:
    if collection is not None:
        raise click.UsageError("this command works on the whole library; leave --collection out")


def _gate(library: Library, golden: Path | None, min_recall: float | None) -> Callable[[int], dict[str, Any]] | None:
    if golden is None:
        if min_recall is not None:
            raise click.UsageError("--min-recall needs --golden")
        return None
    from footnotes.evaluate.gate import golden_gate

    return golden_gate(library, golden, min_recall, say=lambda text: click.echo(text, err=True))


def _progress() -> ProgressLine:
    from footnotes.progress import ProgressLine

    return ProgressLine(sys.stderr, live=sys.stderr.isatty())


def _print_json(value: Any) -> None:
    shown = to_json(value)
    text = json.dumps(shown, ensure_ascii=False)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:  # a question may hold what is no Unicode; as an escape it is JSON all the same
        text = json.dumps(shown)
    click.echo(text)


def _write_text(text: str) -> None:
    """A document's own text: to a file or pipe exactly as it is, to a terminal without what could draw on it."""
    if sys.stdout.isatty():
        text = "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in text)
    sys.stdout.write(text)
    sys.stdout.flush()


def _count(number: int | None, noun: str) -> str:
    return f"{number or 0:,} {noun}{'' if number == 1 else 's'}"


def _page_range(pages: tuple[int, int]) -> str:
    first, last = pages
    return str(first) if first == last else f"{first}–{last}"


main.add_command(status_command)
main.add_command(doctor_command)
main.add_command(jobs_command)
main.add_command(serve_command)
main.add_command(keys_command)
main.add_command(backup_command)
main.add_command(restore_command)
main.add_command(copy_command)
main.add_command(import_command)
main.add_command(migrate_command)
main.add_command(mcp_command)
main.add_command(worker_command)
main.add_command(sync_command)
main.add_command(watch_command)
main.add_command(inspect_command)
main.add_command(eval_command)
main.add_command(tune_command)

if __name__ == "__main__":
    main()
