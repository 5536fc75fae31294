"""Figures of single parameters: the metric against each, and how much each matters."""

from __future__ import annotations

import math

import numpy as np

from cocite_jobs.svg_figures import BEST, INK, MIDDLE, WIDTH, new_figure, styled, to_svg
from cocite_tuning.report.figures import POINTS, jitter, rank_colours, scale_x, truncate
from cocite_tuning.report.importance import Importance, ranked_columns
from cocite_tuning.report.view import View


@styled
def slices(view: View, importance: Importance | None = None) -> str | None:
    """The metric against each parameter, the most important first; None without a trial."""
    columns = ranked_columns(view, importance)
    if not columns:
        return None
    wide = min(4, len(columns))
    high = math.ceil(len(columns) / wide)
    drawing, grid = new_figure(WIDTH, 2.15 * high + 0.2, nrows=high, ncols=wide, squeeze=False, sharey=True)
    colour, best = rank_colours(view.order), view.order[-1]
    # The worst trials may lie far below: the axis shows the better nine tenths.
    low, top = np.quantile(view.values, (0.1, 1) if view.all.mode == "max" else (0, 0.9))
    margin = 0.06 * ((top - low) or abs(top) or 1)
    for i, axes in enumerate(grid.flat):
        if i >= len(columns):
            axes.set_visible(False)
            continue
        column = columns[i]
        x = jitter(column)
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
        axes.set_title(truncate(column.label, 30), loc="left")
        if i % wide == 0:
            axes.set_ylabel(view.metric)
    grid.flat[0].set_ylim(low - margin, top + margin)
    return to_svg(drawing, f"{view.metric} of each trial against each of {len(columns)} parameters")


@styled
def importances(view: View, importance: Importance) -> str | None:
    """A bar for each parameter, with the standard deviation over the folds."""
    listed = importance.parameters[:20]
    drawing, axes = new_figure(WIDTH * 0.75, 0.28 * len(listed) + 0.8)
    positions = np.arange(len(listed))[::-1]
    axes.barh(positions, [loss for _, loss, _ in listed], color=MIDDLE, height=0.62)
    axes.errorbar(
        [loss for _, loss, _ in listed],
        positions,
        xerr=[deviation for _, _, deviation in listed],
        fmt="none",
        ecolor=INK,
        elinewidth=1,
        capsize=2,
    )
    labels = {column.name: column.label for column in view.columns}
    axes.set_yticks(positions, [truncate(labels[name], 34) for name, _, _ in listed])
    axes.axvline(0, color=INK, linewidth=0.9)
    axes.grid(axis="y", visible=False)
    axes.set_xlabel("loss of R² when the parameter is shuffled")
    return to_svg(drawing, "Importance of " + ", ".join(f"{name} {loss:.2f}" for name, loss, _ in listed))
