"""Figures of quality against latency."""

from __future__ import annotations

import numpy as np

from cocite_jobs.svg_figures import BEST, FAINT, GRID, HIGH, INK, MIDDLE, WIDTH, new_figure, styled, to_svg
from cocite_tuning.report.figures import POINTS, scale_x
from cocite_tuning.report.view import Column, View
from cocite_tuning.sweep.trials import LATENCY, Trial


@styled
def latency_frontier(view: View, *, budget: float | None = None, chosen: Trial | None = None) -> str | None:
    """Quality against latency, with the trials that no other beats in both; None where trials have no latency."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    front = view.frontier()
    if not view.has_latency or not front:
        return None
    drawing, axes = new_figure(WIDTH, 3.8)
    times = view.metrics(LATENCY)
    axes.scatter(
        times, view.values, s=12, color=GRID, edgecolors=FAINT, linewidths=0.4, rasterized=len(times) > POINTS
    )
    x, y = [trial.metrics[LATENCY] for trial in front], [view.all.value(trial) for trial in front]
    axes.plot(x, y, color=HIGH, linewidth=1.6, drawstyle="steps-post", zorder=3)
    axes.scatter(x, y, s=26, color=HIGH, zorder=4, linewidths=0)
    for i, point in enumerate(zip(x, y, strict=True)):
        # Neighbours on the line may be close: their numbers alternate between above and below.
        axes.annotate(
            str(i + 1), point, (0, 6 if i % 2 else -13), textcoords="offset points", ha="center", fontsize=8
        )
    if budget is not None:
        axes.axvline(budget, color=INK, linewidth=1, linestyle=(0, (4, 3)))
        axes.annotate(f"{budget:g} ms", (budget, 1), xycoords=("data", "axes fraction"), xytext=(4, -10),
                      textcoords="offset points", fontsize=8)  # fmt: skip
    if chosen is not None:
        axes.scatter(
            [chosen.metrics[LATENCY]], [view.all.value(chosen)], s=64, color=BEST, zorder=5, linewidths=0
        )
    if max(times) / min(times) > 10:
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("milliseconds a query")
    axes.set_ylabel(view.metric)
    axes.margins(x=0.1, y=0.12)
    return to_svg(
        drawing, f"{view.metric} against milliseconds a query; {len(front)} trials that none beats in both"
    )


@styled
def best_by_count(view: View) -> str | None:
    """The quality of the best trial of each K, and its latency below; None where no K was tuned."""
    columns = count_columns(view)
    if not view.has_latency or not columns:
        return None
    drawing, grid = new_figure(
        WIDTH, 4.0, nrows=2, ncols=len(columns), squeeze=False, sharex="col", sharey="row"
    )
    for i, column in enumerate(columns):
        best = view.best_by(column)
        x = [value for value, _ in best]
        for axes, y, colour in (
            (grid[0][i], [view.all.value(trial) for _, trial in best], HIGH),
            (grid[1][i], [trial.metrics[LATENCY] for _, trial in best], MIDDLE),
        ):
            axes.plot(x, y, color=colour, linewidth=1.6)
            axes.scatter(x, y, s=24, color=colour, zorder=3, linewidths=0)
        scale_x(grid[1][i], column)
        grid[1][i].set_ylim(bottom=0)
        grid[1][i].set_xlabel(column.label)
    grid[0][0].set_ylabel(f"best {view.metric}")
    grid[1][0].set_ylabel("its ms a query")
    return to_svg(
        drawing, f"{view.metric} and latency against " + ", ".join(column.name for column in columns)
    )


def count_columns(view: View) -> list[Column]:
    """The parameters that count something, such as K: whole numbers with at most 30 distinct values."""
    return [
        column
        for column in view.columns
        if not column.levels
        and len(np.unique(column.known)) <= 30
        and all(float(value).is_integer() for value in column.known)
    ]
