"""What all figures of reports share: colours, a style, and an SVG that is the same for the same numbers."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from cocite_jobs.deferred_interrupt import deferred_interrupt

BEST = "#d1495b"
"""Colour of what a figure points out."""
INK, FAINT, GRID = "#26323d", "#7b8794", "#e4e8ec"
LOW, MIDDLE, HIGH = "#d8e2ea", "#6aa5c4", "#0b4f6c"
"""Worse to better: light to dark, so that the order is visible without colour too."""
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
R = TypeVar("R")


def styled(draw: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that draws a figure: it draws in :data:`STYLE`, whatever matplotlib's configuration.

    A Ctrl-C takes effect once it has been drawn.
    """

    @wraps(draw)
    def drawn(*args: P.args, **options: P.kwargs) -> R:
        import matplotlib as mpl

        with deferred_interrupt(), mpl.rc_context():
            mpl.rcdefaults()
            mpl.rcParams.update(STYLE)
            return draw(*args, **options)

    return drawn


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
