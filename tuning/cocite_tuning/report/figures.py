"""What every figure shares: colours, an SVG without anything that changes from one run to the next."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cocite_tuning.report.view import Column, shown

BEST = "#d1495b"
"""The best trial."""
INK, FAINT, GRID = "#26323d", "#7b8794", "#e4e8ec"
LOW, MIDDLE, HIGH = "#d8e2ea", "#6aa5c4", "#0b4f6c"
"""Worse to better: light to dark, so that it reads without colour too."""
DRAWN = 300
"""Trials whose lines are drawn one by one; of more, the best third of so many and others evenly by rank."""
FEW = 8
"""Values that are all named on an axis."""
POINTS = 300
"""Points above which a cloud becomes a picture inside the SVG."""

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


def figure(width: float, height: float, **subplots: Any) -> tuple[Any, Any]:
    """A figure of so many inches with axes, outside pyplot's global state."""
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    return made, made.subplots(**subplots)


def svg(made: Any, label: str) -> str:
    """A figure as an SVG element that fits its page's width, with a label for those who do not see it."""
    buffer = io.StringIO()
    made.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    # Its size in points becomes a greatest width, and the view box keeps the shape.
    width = re.search(r'width="([\d.]+)pt"', text)
    text = re.sub(r' (?:width|height)="[\d.]+pt"', "", text, count=2)
    style = f'style="width:100%;max-width:{float(width[1]) * 4 / 3:.0f}px;height:auto"' if width else ""
    label = label.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return text.replace("<svg", f'<svg role="img" aria-label="{label}" {style}', 1)


def colours(order: NDArray[np.int64]) -> NDArray[np.float64]:
    """(n, 4) a colour for each trial by its rank: ``order`` has the trials, worst first."""
    from matplotlib.colors import LinearSegmentedColormap

    ranks = np.empty(len(order))
    ranks[order] = np.linspace(0, 1, len(order)) if len(order) > 1 else 1.0
    map_ = LinearSegmentedColormap.from_list("trials", [LOW, MIDDLE, HIGH])
    return np.asarray(map_(ranks))


def some(order: NDArray[np.int64], most: int = DRAWN) -> NDArray[np.int64]:
    """At most so many of the trials, worst first as they came: the best third, and of the others every so-manieth."""
    if len(order) <= most:
        return order
    best = most // 3
    rest = order[:-best]
    return np.concatenate([rest[np.linspace(0, len(rest) - 1, most - best).astype(int)], order[-best:]])


def scale_x(axes: Any, column: Column) -> None:
    """Give a parameter's axis its scale: logarithmic, or one place for each level; few values are ticks themselves."""
    from matplotlib.ticker import MaxNLocator, NullLocator, ScalarFormatter

    known = np.unique(column.known)
    if column.levels:
        axes.set_xticks(
            range(len(column.levels)),
            [cut(level) for level in column.levels],
            rotation=0 if short(column.levels) else 20,
        )
        axes.set_xlim(-0.5, len(column.levels) - 0.5)
        return
    if column.logarithmic:
        axes.set_xscale("log")
        axes.xaxis.set_minor_locator(NullLocator())
    if len(known) <= FEW and column.logarithmic:
        axes.set_xticks(known, [named(value) for value in known])
    elif not column.logarithmic:
        axes.xaxis.set_major_locator(MaxNLocator(5, integer=bool((known == np.round(known)).all())))
    elif known[-1] / known[0] < 1000 and known[0] >= 0.01:
        axes.xaxis.set_major_formatter(ScalarFormatter())


def short(levels: Sequence[str]) -> bool:
    """Whether names find room side by side."""
    return sum(map(len, levels)) <= 24


def cut(text: str, most: int = 22) -> str:
    """A name that is not longer than its place."""
    return text if len(text) <= most else text[: most - 1] + "…"


def jittered(column: Column, seed: int = 0) -> NDArray[np.float64]:
    """A parameter's numbers; those of levels moved aside a little, so that trials of one level do not hide."""
    if not column.levels:
        return column.numbers
    return np.asarray(column.numbers + np.random.default_rng(seed).uniform(-0.18, 0.18, len(column.numbers)))


def named(value: float) -> str:
    """A tick's label on a parallel axis."""
    whole = float(value).is_integer() and abs(value) < 1e6
    return shown(int(value)) if whole else f"{value:.3g}"
