"""Text of parameters and metrics in tables, figures and lines of the terminal."""

from __future__ import annotations

from typing import Any

from cocite_tuning.sweep.trials import Trial

DEFAULT = "default"
"""The name of a trial without parameters."""


def format_value(value: Any) -> str:
    """A parameter or a metric in four significant digits, a truth value as a word, nothing as a dash.

    Example:
        >>> [format_value(value) for value in (0.123456, 1e-05, True, None, "context")]
        ['0.1235', '1e-05', 'yes', '–', 'context']
    """
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return str(value)


def format_metric(value: float | None) -> str:
    """A metric: shares get four decimal places, so that the digits of a column are aligned.

    Example:
        >>> [format_metric(value) for value in (0.3, 0.30001, 12.0, None)]
        ['0.3000', '0.3000', '12', '–']
    """
    if value is None or not 0.001 <= abs(value) < 1:
        return format_value(value)
    return f"{value:.4f}"


def format_params(trial: Trial) -> str:
    """The parameters of a trial on one line.

    Example:
        >>> format_params(Trial(number=1, params={"k1": 1.2, "form": "title"}))
        'k1 1.2, form title'
        >>> format_params(Trial(number=0, params={}))
        'default'
    """
    return ", ".join(f"{name} {format_value(value)}" for name, value in trial.params.items()) or DEFAULT
