"""The settings that all studies without training have in common."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cocite.bounds import FilePath, Name, ProperShare, Seed
from cocite.config import Settings
from cocite.evaluation.metrics import GLOBAL, LOCAL, Metric

Names = Annotated[tuple[Name, ...], Field(max_length=1000)]
"""Names of components, signals, metrics or recipes."""
PoolSize = Annotated[int, Field(ge=10, le=10_000)]
"""How many of a query's best papers are kept."""
TimedQueries = Annotated[int, Field(ge=1, le=100_000)]
"""How many queries the latency is measured on."""


class ScoreSettings(Settings):
    """Which queries a study without training is measured on, and by which metrics.

    Example:
        >>> ScoreSettings(kind="bm25", task="global", metrics=("mrr", "R@20")).metric_names
        ('MRR', 'R@20')
        >>> "R@10" in ScoreSettings(kind="bm25").metric_names  # what the protocol for contexts reports
        True
    """

    kind: Name
    """Which study."""
    model: FilePath | None = None
    """Model folder; without one, the study uses BM25 and the history alone."""
    index: FilePath | None = None
    """An index folder of the same corpus, whose vectors and word statistics are used instead of computing them anew."""
    without: Names = ()
    """Components of the model folder that are left out."""
    task: Literal["local", "global"] = "local"
    """Whether the queries are contexts or whole papers."""
    queries: int = Field(1000, ge=2, le=1_000_000_000)
    """At most this many dev queries, drawn with the seed."""
    held_out: ProperShare = 0.3
    """Share of the dev manuscripts that no trial uses: on them the best trial is compared with the default."""
    metrics: Names = ()
    """The metrics of each trial; by default those that the task's protocol reports."""
    seed: Seed = 0
    """Seed of the draws of queries and manuscripts."""

    @property
    def metric_names(self) -> tuple[str, ...]:
        """The names of the metrics, in their usual spelling."""
        names = self.metrics or (LOCAL if self.task == "local" else GLOBAL)
        return tuple(str(Metric.parse(name)) for name in names)
