"""The settings of the study of the learned fusion's trees."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from cocite.bounds import Depth, Threads
from cocite_tuning.studies.score_settings import Names, ScoreSettings


class TreesStudySettings(ScoreSettings):
    """What the trees of each trial are trained on and measured on.

    Example:
        >>> TreesStudySettings(depth=100, fit=0.8).metric_names
        ('MRR', 'R@10', 'R@20', 'MAP@10')
    """

    kind: Literal["trees"] = "trees"
    depth: Depth = 300
    """Candidates per query."""
    fit: float = Field(0.7, gt=0, lt=1)
    """Share of the trials' manuscripts that the trees are trained on; the metrics are measured on the others."""
    threads: Threads = 1
    """CPU threads per trial."""
    metrics: Names = ("MRR", "R@10", "R@20", "MAP@10")
    """The metrics of each trial; papers beyond ``depth`` are not ranked."""
