"""The learning rate of each optimizer step, as a share of its peak."""

from __future__ import annotations

import math

from cocite.training.engine.settings import ScheduleSettings


def warmup_steps(settings: ScheduleSettings, total: int) -> int:
    """Steps of the linear rise, of ``total`` steps in all."""
    share = settings.warmup < 1
    return round(settings.warmup * total) if share else round(settings.warmup)


def rate_factor(settings: ScheduleSettings, step: int, total: int) -> float:
    """The learning rate of a step, as a share of the peak.

    The warm-up of ``w`` steps rises as ``start + (1 - start) (step + 1) / w``, so that no step is lost to a rate of 0.
    From step ``w`` on, with ``x = (step - w) / (total - w)``: 1 (constant); ``1 - (1 - final) x`` (linear); ``final +
    (1 - final) (1 + cos(pi x)) / 2`` (cosine); ``sqrt(max(w, 1) / (step + 1))`` (inverse-square-root, which does not
    look at ``total``). Beyond ``total`` the first three stay where they ended.

    Args:
        settings: shape, warm-up and end.
        step: number of the optimizer step, from 0.
        total: steps of the whole training.
    """
    rise = warmup_steps(settings, total)
    if step < rise:
        return settings.start + (1 - settings.start) * (step + 1) / rise
    if settings.shape == "constant":
        return 1.0
    if settings.shape == "inverse-square-root":
        return math.sqrt(max(rise, 1) / (step + 1))
    done = min(1.0, (step - rise) / max(total - rise, 1))
    left = 1 - done if settings.shape == "linear" else (1 + math.cos(math.pi * done)) / 2
    return settings.final + (1 - settings.final) * left
