"""What the figures of a sweep share: axes, and colours by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite_jobs.svg_figures import HIGH, LOW, MIDDLE
from cocite_tuning.report.formatting import format_value
from cocite_tuning.report.view import Column

DRAWN = 300
"""At most this many trials have a line of their own; see :func:`thin_out`."""
FEW = 8
"""An axis has a tick for each value if there are at most this many."""
POINTS = 300
"""A cloud of more points is a raster image within the SVG."""


def rank_colours(order: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n, 4) the RGBA colour of each trial by its rank; ``order`` lists the trials, worst first."""
    from matplotlib.colors import LinearSegmentedColormap

    ranks = np.empty(len(order))
    ranks[order] = np.linspace(0, 1, len(order)) if len(order) > 1 else 1.0
    colour_map = LinearSegmentedColormap.from_list("trials", [LOW, MIDDLE, HIGH])
    return np.asarray(colour_map(ranks))


def thin_out(order: NDArray[np.int64], most: int = DRAWN) -> NDArray[np.int64]:
    """At most ``most`` of the trials, in the same order, worst first: the best third, and others evenly by rank."""
    if len(order) <= most:
        return order
    best = most // 3
    rest = order[:-best]
    return np.concatenate([rest[np.linspace(0, len(rest) - 1, most - best).astype(int)], order[-best:]])


def scale_x(axes: Any, column: Column) -> None:
    """Set the scale of a parameter's axis: linear, logarithmic, or a tick for each level or each of few values."""
    from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter

    known = np.unique(column.known)
    if column.levels:
        axes.set_xticks(
            range(len(column.levels)),
            [truncate(level) for level in column.levels],
            rotation=0 if fits_side_by_side(column.levels) else 20,
        )
        axes.set_xlim(-0.5, len(column.levels) - 0.5)
        return
    if column.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if len(known) <= FEW and column.logarithmic:
        axes.set_xticks(known, [tick_label(value) for value in known])
    elif not column.logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=bool((known == np.round(known)).all())))
    elif known[-1] / known[0] < 1000 and known[0] >= 0.01:
        axes.xaxis.set_major_formatter(ScalarFormatter())


def fits_side_by_side(levels: Sequence[str]) -> bool:
    """Whether an axis has room for the names side by side."""
    return sum(map(len, levels)) <= 24


def truncate(text: str, most: int = 22) -> str:
    """A text cut to a length, with an ellipsis where something is missing."""
    return text if len(text) <= most else text[: most - 1] + "…"


def jitter(column: Column, seed: int = 0) -> NDArray[np.float64]:
    """A parameter's numbers; those of levels are moved a little, so that the trials of a level do not overlap."""
    if not column.levels:
        return column.numbers
    return np.asarray(column.numbers + np.random.default_rng(seed).uniform(-0.18, 0.18, len(column.numbers)))


def tick_label(value: float) -> str:
    """The label of a tick: whole numbers in full, others in three significant digits."""
    whole = float(value).is_integer() and abs(value) < 1e6
    return format_value(int(value)) if whole else f"{value:.3g}"
