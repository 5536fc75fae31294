"""Functions that a sweep calls as it progresses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from cocite_tuning.sweep.trials import Trial, Trials


@dataclass(frozen=True)
class SweepCallback:
    """Functions that a sweep calls as it progresses; by default each does nothing.

    Attributes:
        on_stage: called with the name of the stage that begins, and how many trials it has (0: none).
        on_trial_end: called with a trial that has ended, and all trials so far.
        on_trial_restart: called with the number of a trial whose process died and that is restarted.

    Example:
        >>> callback = SweepCallback(on_trial_end=lambda trial, trials: print(trial.number, trials.value(trial)))
        >>> trial = Trial(number=3, params={}, metrics={"MRR": 0.25})
        >>> callback.on_trial_end(trial, Trials(sweep="s", metric="MRR", trials=(trial,)))
        3 0.25
    """

    on_stage: Callable[[str, int], None] = lambda *_: None
    on_trial_end: Callable[[Trial, Trials], None] = lambda *_: None
    on_trial_restart: Callable[[int], None] = lambda *_: None
