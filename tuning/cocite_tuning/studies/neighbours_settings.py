"""The settings of the study of Citeomatic's K."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator

from cocite.bounds import FilePath
from cocite_tuning.studies.score_settings import Names, ScoreSettings, TimedQueries


class NeighboursStudySettings(ScoreSettings):
    """Which K of Citeomatic's selection can be chosen.

    Example:
        >>> settings = NeighboursStudySettings(neighbours=(50, 10))
        >>> settings.neighbours, settings.task
        ((10, 50), 'global')
    """

    kind: Literal["neighbours"] = "neighbours"
    model: FilePath | None = Path("model")
    """Model folder with NNSelect; with NNRank too, where its order is to be tried."""
    task: Literal["local", "global"] = "global"
    """Whether the queries are contexts or whole papers; Citeomatic is made for whole papers."""
    neighbours: Annotated[
        tuple[Annotated[int, Field(ge=1, le=10_000)], ...], Field(min_length=1, max_length=1000)
    ] = (1, 2, 5, 10, 20, 50, 100, 200)
    """Choices of K."""
    timed: TimedQueries = 20
    """How many queries the latency is measured on."""
    metrics: Names = ("F1@20", "MRR", "P@10", "R@20", "R@100")
    """The metrics of each trial."""

    @field_validator("neighbours")
    @classmethod
    def _ascending(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(values)))
