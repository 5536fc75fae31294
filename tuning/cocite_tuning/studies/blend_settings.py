"""The settings of the study of the first stage's blend."""

from __future__ import annotations

from typing import Literal

from cocite_tuning.studies.score_settings import Names, PoolSize, ScoreSettings


class FusionStudySettings(ScoreSettings):
    """Which signals of the first stage's blend are weighed.

    Example:
        >>> FusionStudySettings(signals=("whole>text", "sentences"), pool=50).signals
        ('whole>text', 'sentences')
    """

    kind: Literal["fusion"] = "fusion"
    signals: Names = ()
    """Signals whose weights are tuned; by default all that a shipped blend weighs and the model folder provides."""
    pool: PoolSize = 100
    """How many of a query's best papers by each signal are kept; no metric may look deeper."""
    metrics: Names = ("MRR", "R@10", "R@20", "R@100", "MAP@10")
    """The metrics of each trial."""
