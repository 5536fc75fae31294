"""The figures of a reproduction."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from cocite.evaluation.report import Table
from cocite_jobs.reproduction.plan import Plot
from cocite_jobs.reproduction.published import PublishedNumber
from cocite_jobs.svg_figures import HIGH, WIDTH, new_figure, styled, to_svg

COLOURS = (HIGH, "#d1495b", "#3b8f6b", "#b07d1a", "#7d5ba6", "#4a7fb5", "#8c564b", "#5f6b76")
"""Of the lines and bars, in order; their markers and hatches differ too."""
MARKERS = "osD^vPX*"
HATCHES = ("", "////", "....", "xxxx")
Line = tuple[str, list[float], list[float]]
"""Name, x, y."""


@styled
def draw(
    plot: Plot, table: Table, title: str, published: Sequence[PublishedNumber], names: Mapping[str, str]
) -> str | None:
    """A table as an SVG element; None where no cell that is drawn has a number.

    Args:
        plot: what is drawn.
        table: ours.
        title: for screen readers.
        published: the paper's numbers of this table; those of the plot's dataset are dashed lines.
        names: our name of a row or column -> the paper's, where they differ.
    """
    if plot.kind == "bars":
        return _bars(plot, table, title)
    ours = _by_rows(plot, table) if plot.kind == "rows" else _by_columns(plot, table)
    theirs = _of_paper(plot, [line[0] for line in ours], published, names)
    if not any(line[1] for line in ours):
        return None
    drawing, axes = new_figure(WIDTH, 4.0)
    for i, (name, x, y) in enumerate(ours):
        style: dict[str, Any] = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        axes.plot(x, y, label=name, linewidth=1.6, markersize=4, **style)
        if name in theirs:
            label = f"{name}, paper on {plot.dataset}"
            axes.plot(*theirs[name], label=label, linestyle=(0, (4, 3)), linewidth=1.2, markersize=3, **style)
    every = [x for line in ours for x in line[1]] + [x for xs, _ in theirs.values() for x in xs]
    if min(every) > 0 and max(every) / min(every) >= 20:
        axes.set_xscale("log")
    ticks = sorted(set(every))
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel(plot.x)
    axes.set_ylabel(plot.y)
    axes.set_ylim(bottom=0)
    drawing.legend(loc="outside right upper", frameon=False, fontsize=8)
    return to_svg(drawing, title)


def _bars(plot: Plot, table: Table, title: str) -> str | None:
    """A group of bars for each row, a bar a column."""
    columns = [column for column in plot.columns if column in table.columns]
    places = [table.columns.index(column) for column in columns]
    rows = [row for row in table.rows if any(_is_number(row[at]) for at in places)]
    if not rows:
        return None
    many = len(columns)
    drawing, axes = new_figure(WIDTH, 0.6 + (0.12 + 0.2 * many) * len(rows))
    height = (0.6 if many == 1 else 0.8) / many
    for i, (column, at) in enumerate(zip(columns, places, strict=True)):
        y = [k + (i - (many - 1) / 2) * height for k in range(len(rows))]
        widths = [float(row[at]) if _is_number(row[at]) else math.nan for row in rows]
        colour, hatch = COLOURS[i % len(COLOURS)], HATCHES[i % len(HATCHES)]
        axes.barh(y, widths, color=colour, hatch=hatch, edgecolor="white", height=height, label=column)
    axes.set_yticks(range(len(rows)), [_short(str(row[0])) for row in rows])
    axes.invert_yaxis()
    axes.set_xlabel(plot.x)
    axes.grid(visible=False, axis="y")
    if many > 1:
        drawing.legend(loc="outside upper right", frameon=False, fontsize=8)
    return to_svg(drawing, title)


def _by_rows(plot: Plot, table: Table) -> list[Line]:
    """A line for each row, over the numbers in the names of the columns."""
    places = [
        (_number_in(column), table.columns.index(column))
        for column in plot.columns
        if column in table.columns
    ]
    lines = []
    for row in table.rows:
        points = [(x, float(row[i])) for x, i in places if _is_number(row[i])]
        lines.append((str(row[0]), [x for x, _ in points], [y for _, y in points]))
    return lines


def _by_columns(plot: Plot, table: Table) -> list[Line]:
    """A line for each column, over the numbers in the first one."""
    lines = []
    for column in plot.columns:
        if column in table.columns:
            at = table.columns.index(column)
            points = [(_number_in(str(row[0])), float(row[at])) for row in table.rows if _is_number(row[at])]
            lines.append((column, [x for x, _ in points], [y for _, y in points]))
    return lines


def _of_paper(
    plot: Plot, lines: Sequence[str], published: Sequence[PublishedNumber], names: Mapping[str, str]
) -> dict[str, tuple[list[float], list[float]]]:
    """The paper's points of each of our lines, by our name of the line."""
    found = {}
    columns = {names.get(column, column) for column in plot.columns}
    for name in lines:
        paper_name = names.get(name, name)
        points = [
            (_number_in(n.column if plot.kind == "rows" else n.row), n.share)
            for n in published
            if n.dataset == plot.dataset
            and (n.row if plot.kind == "rows" else n.column) == paper_name
            and (plot.kind == "columns" or n.column in columns)
        ]
        if points:
            found[name] = ([x for x, _ in points], [y for _, y in points])
    return found


def _number_in(text: str) -> float:
    """The first number in a name, as 100 of ``R@100`` and 192 of ``192 + 320``."""
    return float(re.findall(r"\d+(?:\.\d+)?", text)[0])


def _is_number(cell: Any) -> bool:
    return isinstance(cell, int | float) and math.isfinite(cell)


def _short(text: str, most: int = 60) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
