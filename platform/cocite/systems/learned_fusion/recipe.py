"""All settings of a learned fusion's training, and of a final fusion's."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from cocite.bounds import Depth, Location, Name, Penalty, PositiveShare, ProperShare, Seed, Threads, Total
from cocite.config import Settings
from cocite.training.stages import Keep


class FusionSettings(Settings):
    """How the trees are grown.

    Example:
        >>> FusionSettings(trees=500, learning_rate=0.03).leaves
        31
    """

    trees: int = Field(250, ge=1, le=10_000)
    """Boosting rounds."""
    learning_rate: PositiveShare = 0.05
    """Weight of each tree."""
    leaves: int = Field(31, ge=2, le=1024)
    """Leaves of a tree."""
    least_in_leaf: Total = 50
    """Candidates that a leaf must hold."""
    truncation: Total = 20
    """Positions at the top whose order counts in training."""
    feature_share: PositiveShare = 0.5
    """Share of the signals that each tree may use."""
    query_share: PositiveShare = 0.8
    """Share of the candidates that each tree sees."""
    bins: int = Field(63, ge=3, le=65_535)
    """Distinct values that a signal is rounded to."""
    l2: Penalty = 1.0
    """L2 regularisation of the leaves' values."""
    seed: Seed = 0
    """Seed of LightGBM's draws of signals and candidates."""
    threads: Threads = 2
    """CPU threads."""


class RankingRecipe(Settings):
    """The settings that the fusion and the final fusion share.

    Example:
        >>> RankingRecipe(tasks=("local",), without=("neighbours",)).keep
        'unless_below'
    """

    tasks: Annotated[tuple[Literal["local", "global"], ...], Field(min_length=1, max_length=2)] = (
        "local",
        "global",
    )
    """Kinds of query; the training reports and leaves out one that the corpus has no examples of."""
    queries: Total = 4000
    """Most queries of a kind, drawn with the seed."""
    held_out: ProperShare = 0.2
    """Share of the manuscripts whose queries the dev metric is measured on, by a fusion trained on the rest; the fusion
    that is written is trained on all. Where the share is few queries, several such shares are measured, each by a
    fusion of its own."""
    without: Annotated[tuple[Name, ...], Field(max_length=1000)] = ()
    """Signals left out, by their beginning: ``nnrank``, ``shared-authors``, ``neighbours`` …"""
    trees: FusionSettings = FusionSettings()
    """How the trees are grown."""
    index: Location | None = None
    """Path or URI of an index of the same corpus, whose vectors and word statistics are used instead of computing
    them."""
    seed: Seed = 0
    """Seed of the query sample."""
    keep: Keep = "unless_below"
    """Whether a fusion that is below the order before it on dev is left out of the pipeline, or kept (``always``)."""


class FusionRecipe(RankingRecipe):
    """How a learned fusion is trained.

    Example:
        >>> recipe = FusionRecipe.parse({"kind": "fusion", "reserve": 0.3}, where="fusion.yaml")
        >>> recipe.local_depth, recipe.trees.trees
        (300, 250)
    """

    kind: Literal["fusion"] = "fusion"
    local_depth: Depth = 300
    """Candidates of a local query."""
    global_depth: Depth = 500
    """Candidates of a global query."""
    reserve: float = Field(0.0, ge=0, le=0.9)
    """Share of the dev manuscripts that the fusion is not trained on, so that a final fusion can be."""


class FinalRecipe(RankingRecipe):
    """How a final fusion is trained: behind the cross-encoder, on the dev manuscripts that the fusion did not see.

    Example:
        >>> FinalRecipe(rerank=100).trees.trees
        150
    """

    kind: Literal["final"] = "final"
    queries: Total = 600
    """Most queries of a kind. Each costs ``rerank`` pairs of the cross-encoder."""
    rerank: int = Field(50, ge=2, le=1000)
    """Candidates of a query that the cross-encoder reads."""
    trees: FusionSettings = FusionSettings(trees=150, leaves=15)
    """How the trees are grown."""
