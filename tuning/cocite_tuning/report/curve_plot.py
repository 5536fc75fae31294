"""The figure of the learning curves."""

from __future__ import annotations

import math

import numpy as np

from cocite_jobs.svg_figures import BEST, FAINT, WIDTH, new_figure, styled, to_svg
from cocite_tuning.report.figures import rank_colours, thin_out
from cocite_tuning.report.view import View
from cocite_tuning.sweep.trials import Trial

CURVES = 150
"""At most this many curves are drawn."""


@styled
def curves(view: View) -> str | None:
    """The learning curves of the trials, finished, stopped or failed; None where they have none."""
    name = _curve_metric(view)
    if name is None:
        return None
    drawing, axes = new_figure(WIDTH, 3.4)
    trials = [trial for trial in view.all.trials if trial.curve and trial.phase == view.phase]
    sign = 1 if view.all.mode == "max" else -1
    trials.sort(key=lambda trial: sign * view.all.value(trial) if _has_value(view, trial) else -math.inf)
    trials = [trials[i] for i in thin_out(np.arange(len(trials)), CURVES)]
    best = view.compared[view.order[-1]].number if view.compared else -1
    shades = rank_colours(np.arange(len(trials)))
    for trial, shade in zip(trials, shades, strict=True):
        points = [(step, values[name]) for step, values in trial.curve if name in values]
        if not points:
            continue
        steps, values = zip(*points, strict=True)
        is_best = trial.number == best
        axes.plot(
            steps,
            values,
            color=BEST if is_best else shade,
            linewidth=2.2 if is_best else 1,
            alpha=1 if is_best else 0.8,
            zorder=4 if is_best else 2,
        )
        if trial.state != "finished":
            axes.plot(steps[-1:], values[-1:], "x", color=FAINT, markersize=5, zorder=3)
        elif len(steps) == 1:
            axes.plot(steps, values, "o", color=BEST if is_best else shade, markersize=3, zorder=3)
    axes.set_xlabel("step")
    axes.set_ylabel(name)
    return to_svg(drawing, f"{name} by step of {len(trials)} trials; the best one stands out")


def _has_value(view: View, trial: Trial) -> bool:
    return math.isfinite(view.all.value(trial))


def _curve_metric(view: View) -> str | None:
    """The metric of the figure: the sweep's, or the first that the curves have."""
    names = dict.fromkeys(name for t in view.all.trials for _, values in t.curve for name in values)
    return view.metric if view.metric in names else next(iter(names), None)
