"""The figures of a report, each an SVG element."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.figures import (
    BEST,
    FAINT,
    GRID,
    HIGH,
    INK,
    MIDDLE,
    POINTS,
    STYLE,
    colours,
    cut,
    figure,
    jittered,
    named,
    scale_x,
    some,
    svg,
)
from cocite_tuning.report.importance import Importance
from cocite_tuning.report.view import Column, View
from cocite_tuning.run.trials import LATENCY, Trial

AXES = 9
"""Parameters of the parallel coordinates, the most important ones; more would not be read."""
WIDTH = 9.6
"""Of a figure, in inches."""
CURVES = 150
"""Learning curves that are drawn."""
UNSET = -0.14
"""Height on a parallel axis of a trial that has no such parameter."""

P = ParamSpec("P")


def styled(make: Callable[Concatenate[View, P], str | None]) -> Callable[Concatenate[View, P], str | None]:
    """Draw under this report's style, whatever matplotlib's own configuration says."""

    @wraps(make)
    def drawn(view: View, /, *args: P.args, **options: P.kwargs) -> str | None:
        import matplotlib as mpl

        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            return make(view, *args, **options)

    return drawn


def ranked_columns(view: View, found: Importance | None) -> list[Column]:
    """The parameters, the most important first; without importance as the trials have them."""
    if found is None:
        return view.columns
    place = {name: i for i, (name, _, _) in enumerate(found.parameters)}
    return sorted(view.columns, key=lambda column: place[column.name])


@styled
def parallel(view: View, found: Importance | None = None) -> str | None:
    """Parallel coordinates: a line a trial through its parameters to its metric; None without two trials."""
    from matplotlib.collections import LineCollection

    columns = ranked_columns(view, found)[:AXES]
    if len(view.compared) < 2 or not columns:
        return None
    made, axes = figure(WIDTH, 3.9)
    heights = np.column_stack([_height(c.numbers, c.logarithmic) for c in columns] + [_height(view.values)])
    heights = np.where(np.isnan(heights), UNSET, heights)
    places = np.arange(heights.shape[1])
    drawn, colour = some(view.order), colours(view.order)
    lines = np.stack([np.broadcast_to(places, heights.shape), heights], axis=2)
    axes.add_collection(LineCollection(list(lines[drawn]), colors=colour[drawn], linewidths=0.9, alpha=0.75))
    axes.plot(places, heights[view.order[-1]], color=BEST, linewidth=2.2, zorder=4)
    for i, column in enumerate(columns):
        axes.axvline(i, color=INK, linewidth=0.9, zorder=3)
        _ticks(axes, i, column)
    axes.axvline(len(columns), color=INK, linewidth=0.9, zorder=3)
    low, high = view.values.min(), view.values.max()
    for height, value in ((0.0, low), (0.5, (low + high) / 2), (1.0, high)):
        axes.text(len(columns) + 0.06, height, f"{value:.4g}", va="center", fontsize=8)
    if (heights == UNSET).any():
        axes.text(-0.08, UNSET, "unset", va="center", ha="right", fontsize=8, color=FAINT)
    # Names in two rows, in turn, so that long ones do not meet.
    names = [*(cut(column.label, 180 // len(places)) for column in columns), view.metric]
    rows = ["\n" + name if i % 2 else name for i, name in enumerate(names)]
    axes.set_xticks(places, rows, fontweight="bold", fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlim(-0.3, len(columns) + 0.55)
    axes.set_ylim(-0.2, 1.06)
    return svg(made, f"Parallel coordinates of {len(drawn)} trials; the best one stands out")


def _height(numbers: NDArray[np.float64], logarithmic: bool = False) -> NDArray[np.float64]:
    """(n,) where values lie between the least, 0, and the greatest, 1."""
    values = np.log(numbers) if logarithmic else numbers
    low, high = np.nanmin(values), np.nanmax(values)
    return np.asarray(
        (values - low) / (high - low) if high > low else np.where(np.isnan(values), values, 0.5)
    )


def _ticks(axes: Any, place: int, column: Column) -> None:
    """The labels of a parallel axis."""
    if column.levels:
        heights = _height(np.arange(len(column.levels), dtype=float))
        labels = [cut(level, 14) for level in column.levels]
    else:
        known = column.known
        low, high = known.min(), known.max()
        middle = math.sqrt(low * high) if column.logarithmic else (low + high) / 2
        ends = (low, middle, high) if high > low else (low,)
        heights = np.linspace(0, 1, len(ends)) if len(ends) > 1 else np.array([0.5])
        labels = [named(value) for value in ends]
    for height, label in zip(heights, labels, strict=True):
        axes.text(
            place + 0.04,
            height,
            label,
            va="center",
            fontsize=8,
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.8},
        )


@styled
def slices(view: View, found: Importance | None = None) -> str | None:
    """The metric against each parameter, the most important first; None without a trial."""
    columns = ranked_columns(view, found)
    if not columns:
        return None
    wide = min(4, len(columns))
    high = math.ceil(len(columns) / wide)
    made, grid = figure(WIDTH, 2.15 * high + 0.2, nrows=high, ncols=wide, squeeze=False, sharey=True)
    colour, best = colours(view.order), view.order[-1]
    # The worst may lie far below: what is looked at are the better nine tenths.
    low, top = np.quantile(view.values, (0.1, 1) if view.all.mode == "max" else (0, 0.9))
    margin = 0.06 * ((top - low) or abs(top) or 1)
    for i, axes in enumerate(grid.flat):
        if i >= len(columns):
            axes.set_visible(False)
            continue
        column = columns[i]
        x = jittered(column)
        axes.scatter(
            x[view.order],
            view.values[view.order],
            s=11,
            c=colour[view.order],
            linewidths=0,
            rasterized=len(x) > POINTS,
        )
        axes.scatter([x[best]], [view.values[best]], s=46, color=BEST, zorder=4, linewidths=0)
        if view.baseline is not None:
            axes.axhline(view.all.value(view.baseline), color=INK, linewidth=1, linestyle=(0, (4, 3)))
        scale_x(axes, column)
        axes.set_title(cut(column.label, 30), loc="left")
        if i % wide == 0:
            axes.set_ylabel(view.metric)
    grid.flat[0].set_ylim(low - margin, top + margin)
    return svg(made, f"{view.metric} of each trial against each of {len(columns)} parameters")


@styled
def importances(view: View, found: Importance) -> str | None:
    """A bar a parameter, with the deviation over the folds."""
    shown = found.parameters[:20]
    made, axes = figure(WIDTH * 0.75, 0.28 * len(shown) + 0.8)
    places = np.arange(len(shown))[::-1]
    axes.barh(places, [loss for _, loss, _ in shown], color=MIDDLE, height=0.62)
    axes.errorbar(
        [loss for _, loss, _ in shown],
        places,
        xerr=[deviation for _, _, deviation in shown],
        fmt="none",
        ecolor=INK,
        elinewidth=1,
        capsize=2,
    )
    labels = {column.name: column.label for column in view.columns}
    axes.set_yticks(places, [cut(labels[name], 34) for name, _, _ in shown])
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("loss of R² when the parameter is shuffled")
    return svg(made, "Importance of " + ", ".join(f"{name} {loss:.2f}" for name, loss, _ in shown))


@styled
def curves(view: View) -> str | None:
    """The learning curve of each trial, finished, stopped or failed; None where trials have none."""
    name = _curve_metric(view)
    if name is None:
        return None
    made, axes = figure(WIDTH, 3.4)
    trials = [trial for trial in view.all.trials if trial.curve and trial.phase == view.phase]
    sign = 1 if view.all.mode == "max" else -1
    trials.sort(key=lambda trial: sign * view.all.value(trial) if _has(view, trial) else -math.inf)
    trials = [trials[i] for i in some(np.arange(len(trials)), CURVES)]
    best = view.compared[view.order[-1]].number if view.compared else -1
    shades = colours(np.arange(len(trials)))
    for trial, shade in zip(trials, shades, strict=True):
        points = [(step, values[name]) for step, values in trial.curve if name in values]
        if not points:
            continue
        steps, values = zip(*points, strict=True)
        chosen = trial.number == best
        axes.plot(
            steps,
            values,
            color=BEST if chosen else shade,
            linewidth=2.2 if chosen else 1,
            alpha=1 if chosen else 0.8,
            zorder=4 if chosen else 2,
        )
        if trial.state != "finished":
            axes.plot(steps[-1:], values[-1:], "x", color=FAINT, markersize=5, zorder=3)
        elif len(steps) == 1:
            axes.plot(steps, values, "o", color=BEST if chosen else shade, markersize=3, zorder=3)
    axes.set_xlabel("step")
    axes.set_ylabel(name)
    return svg(made, f"{name} by step of {len(trials)} trials; the best one stands out")


def _has(view: View, trial: Trial) -> bool:
    return math.isfinite(view.all.value(trial))


def _curve_metric(view: View) -> str | None:
    """What the curves show: the sweep's metric, or the first that they have."""
    names = dict.fromkeys(name for t in view.all.trials for _, values in t.curve for name in values)
    return view.metric if view.metric in names else next(iter(names), None)


@styled
def speed(view: View, *, budget: float | None = None, chosen: Trial | None = None) -> str | None:
    """Quality against latency, and the trials that none beats in both; None where trials have no latency."""
    from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

    front = view.frontier()
    if not view.costed or not front:
        return None
    made, axes = figure(WIDTH, 3.8)
    times = view.metrics(LATENCY)
    axes.scatter(
        times, view.values, s=12, color=GRID, edgecolors=FAINT, linewidths=0.4, rasterized=len(times) > POINTS
    )
    x, y = [trial.metrics[LATENCY] for trial in front], [view.all.value(trial) for trial in front]
    axes.plot(x, y, color=HIGH, linewidth=1.6, drawstyle="steps-post", zorder=3)
    axes.scatter(x, y, s=26, color=HIGH, zorder=4, linewidths=0)
    for i, place in enumerate(zip(x, y, strict=True)):
        # Neighbours on the line may lie close: their numbers stand above and below in turn.
        axes.annotate(
            str(i + 1), place, (0, 6 if i % 2 else -13), textcoords="offset points", ha="center", fontsize=8
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
    return svg(
        made, f"{view.metric} against milliseconds a query; {len(front)} trials that none beats in both"
    )


@styled
def depths(view: View) -> str | None:
    """For each K the best trial's quality, and its latency below; None where no K was tuned."""
    columns = counted(view)
    if not view.costed or not columns:
        return None
    made, grid = figure(WIDTH, 4.0, nrows=2, ncols=len(columns), squeeze=False, sharex="col", sharey="row")
    for i, column in enumerate(columns):
        found = view.best_by(column)
        x = [value for value, _ in found]
        for axes, y, colour in (
            (grid[0][i], [view.all.value(trial) for _, trial in found], HIGH),
            (grid[1][i], [trial.metrics[LATENCY] for _, trial in found], MIDDLE),
        ):
            axes.plot(x, y, color=colour, linewidth=1.6)
            axes.scatter(x, y, s=24, color=colour, zorder=3, linewidths=0)
        scale_x(grid[1][i], column)
        grid[1][i].set_ylim(bottom=0)
        grid[1][i].set_xlabel(column.label)
    grid[0][0].set_ylabel(f"best {view.metric}")
    grid[1][0].set_ylabel("its ms a query")
    return svg(made, f"{view.metric} and latency against " + ", ".join(column.name for column in columns))


def counted(view: View) -> list[Column]:
    """The parameters that count something, such as K: whole numbers of at most 30 values."""
    return [
        column
        for column in view.columns
        if not column.levels
        and len(np.unique(column.known)) <= 30
        and all(float(value).is_integer() for value in column.known)
    ]
