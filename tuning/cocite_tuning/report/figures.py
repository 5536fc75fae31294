"""The parts that all figures share: colours, axes, and an SVG that is the same for the same trials."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.formatting import format_value
from cocite_tuning.report.view import Column, View

BEST = "#d1495b"
"""Colour of the best trial."""
INK, FAINT, GRID = "#26323d", "#7b8794", "#e4e8ec"
LOW, MIDDLE, HIGH = "#d8e2ea", "#6aa5c4", "#0b4f6c"
"""Worse to better: light to dark, so that the order is visible without colour too."""
DRAWN = 300
"""At most this many trials have a line of their own; see :func:`thin_out`."""
FEW = 8
"""An axis has a tick for each value if there are at most this many."""
POINTS = 300
"""A cloud of more points is a raster image within the SVG."""
WIDTH = 9.6
"""Width of a figure in inches."""

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cocite",
    "font.family": "sans-serif",
    "font.size": 9.0,
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 9.0,
    "axes.titleweight": "bold",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": GRID,
    "grid.linewidth": 0.8,
    "text.color": INK,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "figure.facecolor": "white",
    "figure.dpi": 100,
    "savefig.dpi": 110,
}


P = ParamSpec("P")


def styled(make: Callable[Concatenate[View, P], str | None]) -> Callable[Concatenate[View, P], str | None]:
    """Decorate a function that draws a figure: it draws in this report's style, whatever matplotlib's configuration."""

    @wraps(make)
    def draw(view: View, /, *args: P.args, **options: P.kwargs) -> str | None:
        import matplotlib as mpl

        with mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            return make(view, *args, **options)

    return draw


def new_figure(width: float, height: float, **subplots: Any) -> tuple[Any, Any]:
    """A figure of a size in inches and its axes, outside pyplot's global state."""
    from matplotlib.figure import Figure

    drawing = Figure(figsize=(width, height), layout="constrained")
    return drawing, drawing.subplots(**subplots)


def to_svg(drawing: Any, label: str) -> str:
    """A figure as an SVG element that fits its page's width, with a label for screen readers."""
    buffer = io.StringIO()
    drawing.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # The size in points becomes a maximum width; the view box keeps the aspect ratio.
    width = re.search(r'width="([\d.]+)pt"', text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    style = f'style="width:100%;max-width:{float(width[1]) * 4 / 3:.0f}px;height:auto"' if width else ""
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}" {style}', 1)


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
