"""`footnotes eval` and `footnotes tune`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from footnotes.cli.options import fusion_options, json_option, library_option, mode_option, pairs
from footnotes.errors import OptionError

if TYPE_CHECKING:
    from footnotes.evaluate.compare import Comparison
    from footnotes.evaluate.run import Run
    from footnotes.evaluate.tune import Tuning
    from footnotes.library import Library

EXIT_WORSE = 4


@click.command("eval")
@click.argument("golden", required=False, type=click.Path(path_type=Path))
@library_option
@json_option
@mode_option
@fusion_options
@click.option("--reranker", metavar="NAME", help="Rerank the hits with this reranker.")
@click.option("--answers", is_flag=True, help="Also answer every question: overlap, citations, abstention.")
@click.option("--name", default="", help="Name of this run.")
@click.option("--save", type=click.Path(path_type=Path), help="Save the run, for --compare.")
@click.option(
    "--compare", "compared", nargs=2, type=click.Path(path_type=Path), metavar="A B", help="Compare two saved runs."
)
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report with plots.")
@click.option("--at-least", "goals", multiple=True, metavar="MEASURE=X", help="Exit with code 4 if a measure is lower.")
@click.option("--make", "count", type=int, metavar="N", help="Write N questions from the library to GOLDEN.")
@click.option("--from-ratings", is_flag=True, help="Write the questions rated on the page to GOLDEN.")
def eval_command(
    golden: Path | None,
    library: str | None,
    as_json: bool,
    compared: tuple[Path, Path] | None,
    count: int | None,
    from_ratings: bool,
    save: Path | None,
    report: Path | None,
    name: str,
    goals: Sequence[str],
    **options: object,
) -> None:
    """Measure search and answers on your own questions.

    GOLDEN has questions and the expected results: JSON Lines, CSV or a BEIR folder. With --compare, the exit code
    is 4 if the second run is significantly worse than the first.
    """
    if compared:
        _compare(*compared, report=report, as_json=as_json)
        return
    if golden is None:
        raise OptionError("no golden set given", remedy="Pass a file of questions, or --compare two saved runs.")
    if count is not None or from_ratings:
        _make(library, golden, None if from_ratings else count, as_json=as_json)
        return
    minimums = _goals(goals)
    run = _run(library, golden, name, options)
    if save:
        from footnotes.evaluate.run import save_run

        save_run(save, run)
    _write_report(report, [run], f"Evaluation: {golden.name}")
    _show_run(run, as_json=as_json)
    _check_goals(run, minimums)


def _goals(goals: Sequence[str]) -> dict[str, float]:
    """Parse measures such as `recall@3=1.0`."""
    found: dict[str, float] = {}
    for name, value in pairs(goals).items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise click.UsageError(f"{name}={value} is not of the form MEASURE=NUMBER")
        found[name] = float(value)
    return found


def _check_goals(run: Run, goals: Mapping[str, float]) -> None:
    """Exit with an error code if a measure is below its minimum."""
    for name in goals:
        if name not in run.means:
            measures = ", ".join(run.means)
            raise OptionError(f"{name} was not measured", remedy=f"Measured: {measures}.")
    missed = [f"{name} is {run.means[name]:.4f}, below {least:g}" for name, least in goals.items()
              if run.means[name] < least]  # fmt: skip
    for line in missed:
        click.secho(line, fg="red", err=True)
    if missed:
        sys.exit(EXIT_WORSE)


@click.command("tune")
@click.argument("golden", type=click.Path(path_type=Path))
@library_option
@json_option
@click.option("--chunkers", is_flag=True, help="Also try other chunkers; embeds everything again for each.")
@click.option("--write", is_flag=True, help="Write the best settings to footnotes.toml, if the gain is significant.")
@click.option("--report", type=click.Path(path_type=Path), help="Write an HTML report with plots.")
def tune_command(
    golden: Path, library: str | None, as_json: bool, chunkers: bool, write: bool, report: Path | None
) -> None:
    """Find the best settings for your documents and questions, evaluated on held-out questions."""
    from footnotes.evaluate.golden import read_golden
    from footnotes.evaluate.tune import tune
    from footnotes.settings import change_file

    questions = read_golden(golden)
    with _open_library(library) as open_library:
        found = tune(
            open_library, questions, chunkers=chunkers, on_variant=lambda each: click.echo(f"trying {each}", err=True)
        )
        written = write and found.worth_it
        if written:
            change_file(open_library.folder / "footnotes.toml", found.written(open_library.folder))
    _write_report(report, found.best_last, f"Tuning: {golden.name}")
    _show_tuning(found, written=written, as_json=as_json)


def _open_library(folder: str | None) -> Library:
    from footnotes.library import Library

    return Library(folder, create=False)


def _run(folder: str | None, golden: Path, name: str, options: dict[str, Any]) -> Run:
    from footnotes.evaluate.golden import read_golden
    from footnotes.evaluate.run import Options, evaluate

    questions = read_golden(golden)
    hidden = not sys.stderr.isatty()
    with (
        _open_library(folder) as library,
        click.progressbar(length=len(questions), file=sys.stderr, hidden=hidden) as progress,
    ):
        run = evaluate(
            library,
            questions,
            name=name or golden.stem,
            options=Options(**options),
            on_progress=lambda done, _: progress.update(done - progress.pos),
        )
        progress.update(len(questions) - progress.pos)
    return run


def _make(folder: str | None, golden: Path, count: int | None, *, as_json: bool) -> None:
    """Write a golden set: `count` questions from the library, or the rated ones if there is no count."""
    from footnotes.evaluate.golden import questions_of_ratings, write_golden
    from footnotes.evaluate.make import chat_of, make_golden

    if golden.exists():
        raise OptionError(
            f"{golden} already exists", remedy="Pass a new file name: existing questions are not overwritten."
        )
    with _open_library(folder) as library:
        if count is None:
            number = write_golden(golden, questions_of_ratings(library))
        else:
            number = write_golden(golden, make_golden(library, count, say=chat_of(library.settings)))
    if as_json:
        click.echo(json.dumps({"golden": str(golden), "questions": number}))
    else:
        click.echo(
            f"{_count_questions(number)} written to {golden}. Review and correct them before you trust a figure."
        )


def _compare(first: Path, second: Path, *, report: Path | None, as_json: bool) -> None:
    from footnotes.evaluate.compare import compare
    from footnotes.evaluate.report import main_measure, verdict
    from footnotes.evaluate.run import load_run

    before, after = load_run(first), load_run(second)
    if [each.id for each in before.outcomes] != [each.id for each in after.outcomes]:
        raise OptionError("the two runs have different questions", remedy="Run both on the same golden set.")
    measure = main_measure(after)
    found = compare(before.values(measure), after.values(measure))
    _write_report(report, [before, after], f"{before.name} against {after.name}")
    if as_json:
        click.echo(json.dumps({"measure": measure, **_comparison_shape(found)}))
    else:
        click.echo(verdict(before, after, measure, found))
    if found.verdict == "worse":
        sys.exit(EXIT_WORSE)


def _write_report(path: Path | None, runs: Sequence[Run], title: str) -> None:
    if path is None:
        return
    from footnotes.evaluate.report import html_report

    path.write_text(html_report(runs, title=title), encoding="utf-8")
    click.echo(f"report: {path}", err=True)


def _show_run(run: Run, *, as_json: bool) -> None:
    times = sorted(outcome.milliseconds for outcome in run.outcomes)
    median = times[len(times) // 2]
    if as_json:
        shape = {"name": run.name, "questions": len(run.outcomes), "measures": run.means, "median_ms": round(median, 3)}
        click.echo(json.dumps(shape, ensure_ascii=False))
        return
    click.echo(f"{run.name}: {_count_questions(len(run.outcomes))}, {median:.1f} ms a search")
    for name, value in run.means.items():
        click.echo(f"  {name:18} {value:.4f}  ({_count_questions(len(run.values(name)))})")


def _count_questions(questions: int) -> str:
    return "1 question" if questions == 1 else f"{questions} questions"


def _show_tuning(found: Tuning, *, written: bool, as_json: bool) -> None:
    if as_json:
        shape = {
            "measure": found.measure,
            "variants": {run.name: run.means.get(found.measure) for run in found.runs},
            "best": {"name": found.best.name, "settings": dict(found.best.changes)},
            "held_out": _comparison_shape(found.held_out),
            "written": written,
        }
        click.echo(json.dumps(shape, ensure_ascii=False))
        return
    for run in sorted(found.runs, key=lambda run: -run.means.get(found.measure, 0.0)):
        click.echo(f"  {run.name:28} {found.measure} {run.means.get(found.measure, 0.0):.4f}")
    gain = found.held_out
    click.echo(f"best: {found.best.name}")
    click.echo(f"on held-out questions: {gain.difference:+.4f} (95% from {gain.low:+.4f} to {gain.high:+.4f})")
    if written:
        click.echo("written to footnotes.toml" + ("; run `footnotes reindex` now" if found.best.rebuilds else ""))
    elif found.worth_it:
        click.echo("Run the command again with --write to save these settings.")
    else:
        click.echo("No setting gains significantly; nothing was changed.")


def _comparison_shape(found: Comparison) -> dict[str, object]:
    return {**asdict(found), "verdict": found.verdict}
