"""The figure of parallel coordinates: all parameters of all trials."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite_jobs.svg_figures import BEST, FAINT, INK, WIDTH, new_figure, styled, to_svg
from cocite_tuning.report.figures import rank_colours, thin_out, tick_label, truncate
from cocite_tuning.report.importance import Importance, ranked_columns
from cocite_tuning.report.view import Column, View

AXES = 9
"""The number of parameters in the figure, the most important ones; more could not be read."""
UNSET = -0.14
"""Height on a parallel axis of a trial that does not have the parameter."""


@styled
def parallel(view: View, importance: Importance | None = None) -> str | None:
    """Parallel coordinates: each trial is a line through its parameters to its metric; None without two trials."""
    from matplotlib.collections import LineCollection

    columns = ranked_columns(view, importance)[:AXES]
    if len(view.compared) < 2 or not columns:
        return None
    drawing, axes = new_figure(WIDTH, 3.9)
    heights = np.column_stack([_height(c.numbers, c.logarithmic) for c in columns] + [_height(view.values)])
    heights = np.where(np.isnan(heights), UNSET, heights)
    positions = np.arange(heights.shape[1])
    selected, colour = thin_out(view.order), rank_colours(view.order)
    lines = np.stack([np.broadcast_to(positions, heights.shape), heights], axis=2)
    axes.add_collection(
        LineCollection(list(lines[selected]), colors=colour[selected], linewidths=0.9, alpha=0.75)
    )
    axes.plot(positions, heights[view.order[-1]], color=BEST, linewidth=2.2, zorder=4)
    for i, column in enumerate(columns):
        axes.axvline(i, color=INK, linewidth=0.9, zorder=3)
        _ticks(axes, i, column)
    axes.axvline(len(columns), color=INK, linewidth=0.9, zorder=3)
    low, high = view.values.min(), view.values.max()
    for height, value in ((0.0, low), (0.5, (low + high) / 2), (1.0, high)):
        axes.text(len(columns) + 0.06, height, f"{value:.4g}", va="center", fontsize=8)
    if (heights == UNSET).any():
        axes.text(-0.08, UNSET, "unset", va="center", ha="right", fontsize=8, color=FAINT)
    # Names alternate between two rows, so that long ones do not overlap.
    names = [*(truncate(column.label, 180 // len(positions)) for column in columns), view.metric]
    rows = ["\n" + name if i % 2 else name for i, name in enumerate(names)]
    axes.set_xticks(positions, rows, fontweight="bold", fontsize=8)
    axes.tick_params(axis="x", length=0)
    axes.set_yticks([])
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_xlim(-0.3, len(columns) + 0.55)
    axes.set_ylim(-0.2, 1.06)
    return to_svg(drawing, f"Parallel coordinates of {len(selected)} trials; the best one stands out")


def _height(numbers: NDArray[np.float64], logarithmic: bool = False) -> NDArray[np.float64]:
    """(n,) the values scaled to [0, 1], on a logarithmic scale if asked; 0.5 where all are equal."""
    values = np.log(numbers) if logarithmic else numbers
    low, high = np.nanmin(values), np.nanmax(values)
    return np.asarray(
        (values - low) / (high - low) if high > low else np.where(np.isnan(values), values, 0.5)
    )


def _ticks(axes: Any, axis: int, column: Column) -> None:
    """Draw the labels of a parallel axis."""
    if column.levels:
        heights = _height(np.arange(len(column.levels), dtype=float))
        labels = [truncate(level, 14) for level in column.levels]
    else:
        known = column.known
        low, high = known.min(), known.max()
        middle = math.sqrt(low * high) if column.logarithmic else (low + high) / 2
        ends = (low, middle, high) if high > low else (low,)
        heights = np.linspace(0, 1, len(ends)) if len(ends) > 1 else np.array([0.5])
        labels = [tick_label(value) for value in ends]
    for height, label in zip(heights, labels, strict=True):
        axes.text(
            axis + 0.04,
            height,
            label,
            va="center",
            fontsize=8,
            zorder=5,
            bbox={"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 0.8},
        )
