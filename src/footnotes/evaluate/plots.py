"""Plots as inline SVG: plain strings, no library, readable in light and dark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 640, 200, 44, 24, 10
COLOURS = ("var(--a)", "var(--b)", "var(--c)", "var(--d)")


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
    """How often values of each size occur, the groups behind each other."""
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
    """A bar a row, divided among its parts."""
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
