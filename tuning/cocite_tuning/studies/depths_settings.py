"""The settings of the study of how many candidates each stage gets."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from cocite_tuning.studies.score_settings import Names, ScoreSettings, TimedQueries


class DepthsStudySettings(ScoreSettings):
    """Which numbers of candidates can be chosen, and how the latency is measured.

    Example:
        >>> DepthsStudySettings(depths=(300, 100, 100), reranks=(20, 0)).depths
        (100, 300)
    """

    kind: Literal["depths"] = "depths"
    depths: Annotated[
        tuple[Annotated[int, Field(ge=1, le=1_000_000)], ...], Field(min_length=1, max_length=1000)
    ] = (10, 20, 50, 100, 200, 300, 500, 1000)
    """Choices of K for the first stage."""
    reranks: Annotated[
        tuple[Annotated[int, Field(ge=0, le=1_000_000)], ...], Field(min_length=1, max_length=1000)
    ] = (0, 10, 20, 50)
    """Choices of K for the cross-encoder, where there is one; it scores every pair of the greatest K once."""
    timed: TimedQueries = 20
    """How many queries the latency is measured on."""
    metrics: Names = ("MRR", "R@10", "R@20", "MAP@10")
    """The metrics of each trial; papers beyond K are not ranked."""

    @field_validator("depths", "reranks")
    @classmethod
    def _ascending(cls, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(values)))
