"""Renders runs as one self-contained HTML page: tables, plots and every question."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path

from footnotes.errors import OptionError, ReindexRefused
from footnotes.evaluate.compare import Comparison, compare
from footnotes.evaluate.golden import read_golden
from footnotes.evaluate.run import MAIN, Outcome, Run, evaluate
from footnotes.library import Library

_FOUND_BY = ("both", "lexical", "dense", "neither")
_STYLE = """
:root{--ink:#1d2330;--paper:#fff;--line:#d9dde5;--soft:#f4f6f9;--a:#2f6fb3;--b:#e08e2b;--c:#3f9b6c;--d:#b5474b}
@media(prefers-color-scheme:dark){:root{--ink:#e4e8ef;--paper:#14181f;--line:#343b47;--soft:#1c222b;--a:#6aa5e2;
--b:#f0ab55;--c:#6cc596;--d:#e0777b}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:60rem;margin:2rem auto;
padding:0 1rem}
h1{font-size:1.5rem}h2{font-size:1.15rem;margin-top:2rem}
table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--line);vertical-align:top}
.wide{overflow-x:auto}th{background:var(--soft)}td.number,th.number{text-align:right}
figure{margin:1rem 0}svg{width:100%;background:var(--soft);border-radius:6px}text{font-size:11px;fill:var(--ink)}
.axis{stroke:var(--line)}figcaption,.legend,small{color:var(--ink);opacity:.75;font-size:.85rem}
.legend span{margin-right:1rem}.legend i{display:inline-block;width:.8em;height:.8em;margin-right:.3em}
.verdict{background:var(--soft);padding:.7rem 1rem;border-radius:6px}
"""
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 200, 44, 24, 10
COLOURS = ("var(--a)", "var(--b)", "var(--c)", "var(--d)")
RECALL = "recall@10"


def html_report(runs: Sequence[Run], *, title: str) -> str:
    """Return the page. If there are several runs, it compares the last with the first."""
    main = main_measure(runs[-1])
    sections = [
        f"<h1>{escape(title)}</h1>",
        _summary(runs),
        _comparison(runs, main) if len(runs) > 1 else "",
        _by_question(_outer(runs), main),
        _legs(runs),
        _latency(_outer(runs)),
        _questions(runs[-1], main),
    ]
    head = f'<meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{escape(title)}</title>'
    return f"<!doctype html><html><head>{head}<style>{_STYLE}</style></head><body>{''.join(sections)}</body></html>"


def main_measure(run: Run) -> str:
    """Return the main measure of a run: nDCG if documents were judged, else spans, else the first one."""
    measures = run.means
    return next((name for name in (MAIN, "span_recall@5") if name in measures), next(iter(measures)))


def _outer(runs: Sequence[Run]) -> Sequence[Run]:
    """Return the two runs to compare: more would hide each other in a plot."""
    return runs if len(runs) < 3 else (runs[0], runs[-1])


def _summary(runs: Sequence[Run]) -> str:
    """Write every measure of every run, one run per row; options that all runs share are listed once."""
    details = dict.fromkeys(name for run in runs for name in run.details)
    shared = {name for name in details if len({run.details.get(name) for run in runs}) == 1}
    differing = [name for name in details if name not in shared]
    measures = list(dict.fromkeys(name for run in runs for name in run.means))
    head = "".join(f"<th>{escape(name)}</th>" for name in ("run", *differing))
    head += "".join(f'<th class="number">{escape(name.replace("_", " "))}</th>' for name in measures)
    rows = "".join(
        "<tr>"
        + "".join(
            f"<td>{escape(value)}</td>" for value in (run.name, *(run.details.get(name, "") for name in differing))
        )
        + "".join(_number(run.means.get(name)) for name in measures)
        + "</tr>"
        for run in runs
    )
    cells = [
        f"{len(runs[0].outcomes)} questions",
        *(f"{name} {runs[0].details[name]}" for name in details if name in shared),
    ]
    return (
        f'<h2>Figures</h2><div class="wide"><table><tr>{head}</tr>{rows}</table></div>'
        f"<p><small>{escape(', '.join(cells))}</small></p>"
    )


def _number(value: float | None) -> str:
    return f'<td class="number">{"" if value is None else f"{value:.4f}"}</td>'


def _comparison(runs: Sequence[Run], measure: str) -> str:
    found = compare(runs[0].values(measure), runs[-1].values(measure))
    pairs = sorted(
        zip(runs[0].outcomes, runs[-1].outcomes, strict=True), key=lambda pair: -_change(pair[0], pair[1], measure)
    )
    changes = [_change(one, other, measure) for one, other in pairs]
    titles = [f"{other.question} ({change:+.3f})" for (_, other), change in zip(pairs, changes, strict=True)]
    plot = bars(changes, titles=titles, caption=f"Change of {measure} by question, from most gained to most lost")
    return f'<h2>Comparison</h2><p class="verdict">{escape(verdict(runs[0], runs[-1], measure, found))}</p>{plot}'


def verdict(before: Run, after: Run, measure: str, found: Comparison) -> str:
    """Write one sentence on whether the change helped."""
    return (
        f"{after.name} against {before.name}, {measure}: {found.before:.4f} → {found.after:.4f}, "
        f"{found.difference:+.4f} (95% from {found.low:+.4f} to {found.high:+.4f}, p = {found.luck:.3f}); "
        f"{found.wins} questions better, {found.losses} worse, {found.ties} the same: {found.verdict}."
    )


def _change(before: Outcome, after: Outcome, measure: str) -> float:
    return after.measures.get(measure, 0.0) - before.measures.get(measure, 0.0)


def _by_question(runs: Sequence[Run], measure: str) -> str:
    rows = []
    for run in runs:
        judged = sorted((o for o in run.outcomes if measure in o.measures), key=lambda o: -o.measures[measure])
        titles = [f"{outcome.question} ({outcome.measures[measure]:.3f})" for outcome in judged]
        values = [outcome.measures[measure] for outcome in judged]
        rows.append(bars(values, titles=titles, caption=f"{measure} by question, {run.name}"))
    return f"<h2>Score by question</h2>{''.join(rows)}"


def _legs(runs: Sequence[Run]) -> str:
    counts = {run.name: Counter(outcome.found_by for outcome in run.outcomes if outcome.expected) for run in runs}
    if not any(counts.values()):
        return ""
    rows = {name: {leg: found[leg] for leg in _FOUND_BY} for name, found in counts.items()}
    return "<h2>Which leg found it</h2>" + stacked(rows, caption="The leg that listed the first relevant document")


def _latency(runs: Sequence[Run]) -> str:
    times = {run.name: [outcome.milliseconds for outcome in run.outcomes] for run in runs}
    return "<h2>Latency</h2>" + histogram(times, caption="Milliseconds a search, embedding included", unit=" ms")


def _questions(run: Run, measure: str) -> str:
    rows = "".join(
        f"<tr>{_number(outcome.measures.get(measure))}<td>{escape(outcome.question)}</td>"
        f"<td>{escape(', '.join(outcome.expected))}</td><td>{escape(', '.join(outcome.found[:3]))}</td></tr>"
        for outcome in sorted(run.outcomes, key=lambda outcome: outcome.measures.get(measure, math.inf))
    )
    head = f'<tr><th class="number">{escape(measure)}</th><th>question</th><th>expected</th><th>found first</th></tr>'
    return f"<h2>Every question, worst first ({escape(run.name)})</h2><table>{head}{rows}</table>"


# ── plots as inline SVG: plain strings, no library, readable in light and dark ────────────────────────────────


def bars(values: Sequence[float], *, titles: Sequence[str], caption: str) -> str:
    """Draw a bar for each value, around zero if some are negative; hovering over a bar shows its title."""
    if not values:
        return ""
    low, high = min(0.0, *values), max(0.0, *values)
    high = 1.0 if low == high else high
    step = (WIDTH - LEFT) / len(values)
    shapes = []
    for index, (value, title) in enumerate(zip(values, titles, strict=True)):
        top, bottom = _y(max(value, 0), low, high), _y(min(value, 0), low, high)
        colour = COLOURS[0] if value >= 0 else COLOURS[3]
        shapes.append(
            f'<rect x="{LEFT + index * step:.1f}" y="{top:.1f}" width="{max(step - 1, 0.5):.1f}"'
            f' height="{max(bottom - top, 0.6):.1f}" fill="{colour}"><title>{escape(title)}</title></rect>'
        )
    return _figure("".join(shapes) + _axis(low, high), caption)


def histogram(groups: Mapping[str, Sequence[float]], *, buckets: int = 24, caption: str, unit: str = "") -> str:
    """Draw how often values of each size occur, with overlapping groups."""
    every = [value for values in groups.values() for value in values]
    if not every:
        return ""
    widest = sorted(every)[int(0.99 * (len(every) - 1))] or 1.0
    counts = {name: _counts(values, widest, buckets) for name, values in groups.items()}
    most = max(max(count) for count in counts.values()) or 1
    step = (WIDTH - LEFT) / buckets
    shapes = []
    for colour, (name, count) in zip(COLOURS, counts.items(), strict=False):
        for index, number in enumerate(count):
            height = _y(0, 0, most) - _y(number, 0, most)
            title = f"{name}: {number} from {widest * index / buckets:.1f}{unit}"
            shapes.append(
                f'<rect x="{LEFT + index * step:.1f}" y="{_y(number, 0, most):.1f}" width="{step - 1:.1f}"'
                f' height="{height:.1f}" fill="{colour}" opacity="0.6"><title>{escape(title)}</title></rect>'
            )
    ends = _text(LEFT, HEIGHT - 6, f"0{unit}") + _text(WIDTH - 60, HEIGHT - 6, f"{widest:.1f}{unit}")
    return _figure("".join(shapes) + _axis(0, most) + ends, caption) + legend(list(counts))


def stacked(rows: Mapping[str, Mapping[str, int]], *, caption: str) -> str:
    """Draw one bar per row, divided among its parts."""
    parts = list(dict.fromkeys(part for counts in rows.values() for part in counts))
    height = 30 * len(rows) + 8
    shapes = []
    for index, (name, counts) in enumerate(rows.items()):
        total, x, y = sum(counts.values()) or 1, 150.0, 30 * index + 4
        shapes.append(_text(4, y + 16, name[:22]))
        for colour, part in zip(COLOURS, parts, strict=False):
            width = (WIDTH - 160) * counts.get(part, 0) / total
            title = f"{name}, {part}: {counts.get(part, 0)} of {total}"
            shapes.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="22" fill="{colour}">'
                f"<title>{escape(title)}</title></rect>"
            )
            x += width
    return _figure("".join(shapes), caption, height=height) + legend(parts)


def legend(names: Sequence[str]) -> str:
    marks = (
        f'<span><i style="background:{colour}"></i>{escape(name)}</span>'
        for colour, name in zip(COLOURS, names, strict=False)
    )
    return f'<p class="legend">{"".join(marks)}</p>'


def _counts(values: Sequence[float], widest: float, buckets: int) -> list[int]:
    found = [0] * buckets
    for value in values:
        found[min(int(value / widest * buckets), buckets - 1)] += 1
    return found


def _y(value: float, low: float, high: float) -> float:
    return TOP + (HEIGHT - TOP - BOTTOM) * (high - value) / ((high - low) or 1)


def _axis(low: float, high: float) -> str:
    marks = dict.fromkeys((low, 0.0, high))
    lines = (
        f'<line x1="{LEFT}" x2="{WIDTH}" y1="{_y(mark, low, high):.1f}" y2="{_y(mark, low, high):.1f}" class="axis"/>'
        + _text(2, _y(mark, low, high) + 4, f"{mark:.2f}" if abs(mark) < 10 else f"{mark:.0f}")
        for mark in marks
    )
    return "".join(lines)


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}">{escape(text)}</text>'


def _figure(shapes: str, caption: str, *, height: int = HEIGHT) -> str:
    svg = f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(caption, quote=True)}">{shapes}</svg>'
    return f"<figure>{svg}<figcaption>{escape(caption)}</figcaption></figure>"


# ── A golden set as a gate: a generation is published only if it answers the questions as well as the last one


def golden_gate(
    library: Library, file: Path, min_recall: float | None, *, say: Callable[[str], None]
) -> Callable[[int], dict[str, object]]:
    """Build a gate for `Library.reindex`: asks both generations all questions and compares the results."""
    if min_recall is not None and not 0 <= min_recall <= 1:
        raise OptionError(f"the least recall must be between 0 and 1, not {min_recall}")
    questions = read_golden(file)

    def check(generation: int) -> dict[str, object]:
        before = evaluate(library, questions, name="serving")
        after = evaluate(library.at_generation(generation), questions, name="next")
        measure = main_measure(after)
        found = compare(before.values(measure), after.values(measure))
        say(verdict(before, after, measure, found))
        say(f"{RECALL}: {_recall(before):.3f} before, {_recall(after):.3f} after")
        _refuse_if_worse(after, measure, found, min_recall)
        return {"measure": measure, "before": found.before, "after": found.after, "verdict": found.verdict}

    return check


def _recall(run: Run) -> float:
    return run.means.get(RECALL, run.means.get("span_recall@5", 0.0))


def _refuse_if_worse(after: Run, measure: str, found: Comparison, min_recall: float | None) -> None:
    recall = _recall(after)
    if min_recall is not None and recall < min_recall:
        raise ReindexRefused(f"the recall of the new generation is {recall:.3f}, less than {min_recall}")
    if found.verdict == "worse":
        raise ReindexRefused(
            f"the new generation answers worse: {measure} falls from {found.before:.3f} to {found.after:.3f}"
        )
