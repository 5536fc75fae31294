"""All settings of an NNRank training."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, field_validator

from cocite.bounds import BatchSize, Factor, LearningRate, Penalty, PositiveSmallCount, ProperShare, Total
from cocite.config import Settings
from cocite.systems.citeomatic.negatives import NegativeSettings
from cocite.systems.citeomatic.nnrank.network import NNRankModelSettings
from cocite.systems.citeomatic.paper_words import PaperWordSettings
from cocite.systems.citeomatic.training_settings import CiteomaticRecipe, CiteomaticTrainingSettings
from cocite.text.fields import FieldSettings
from cocite.training.neighbour_search import NeighbourSearchSettings
from cocite.training.periods import PeriodSettings
from cocite.training.stages import Keep


class NNRankCandidateSettings(Settings):
    """Which candidates NNRank is to order.

    Example:
        >>> NNRankCandidateSettings(neighbours=50).expand
        True
    """

    neighbours: PositiveSmallCount = 100
    """K: nearest papers in NNSelect's space; what they cite is added."""
    expand: bool = True
    """Whether the neighbours' citations are added."""
    search: NeighbourSearchSettings = NeighbourSearchSettings()
    """When the neighbours are searched exhaustively."""


class NNRankObjectiveSettings(Settings):
    """What is minimised.

    Example:
        >>> NNRankObjectiveSettings.parse({"folds": 1})
        Traceback (most recent call last):
        cocite.errors.ConfigError: folds: one fold would leave nothing to train on: give 0, or 2 and more, got 1
    """

    objective: Literal["paper", "listwise"] = "listwise"
    """``paper``: triplets with margins on the sigmoid (Eq. 2). ``listwise``: softmax over a query's candidates."""
    triplets: Total = 500_000
    """Triplets of an epoch (objective ``paper``)."""
    gamma: Factor = 1.0
    """Margin multiplier (objective ``paper``)."""
    positives: PositiveSmallCount = 20
    """At most so many citations of a query (objective ``listwise``)."""
    folds: int = Field(3, ge=0, le=100)
    """NNSelect is trained again for so many folds, so that its similarities of training queries are like those of
    new ones; 0 takes the similarities of the one NNSelect, which has seen the answers."""
    listed: PositiveSmallCount = 60
    """Candidates of a query that it does not cite (objective ``listwise``)."""
    temporal: bool | None = None
    """Whether a training query sees in-citations and links of the years before it alone, or those of all other
    training papers, its own left out. Unset: the former where years separate the training papers from the dev queries,
    so that counts in training are distributed as they are for the queries of dev."""
    word_dropout: ProperShare = 0.1
    table_rate: LearningRate | None = None
    """Learning rate of what belongs to a word (its vector, its shared weight): at that of the layers it overfits long
    before they have learned. Unset: one rate for all."""
    l1: Penalty = 0.0
    l2: Penalty = 0.0

    @field_validator("folds")
    @classmethod
    def _several(cls, value: int) -> int:
        if value == 1:
            raise ValueError("one fold would leave nothing to train on: give 0, or 2 and more")
        return value


class NNRankTrainingSettings(CiteomaticTrainingSettings):
    """The engine's settings; an example is a query with its candidates, or a triplet.

    Example:
        >>> NNRankTrainingSettings().batch
        64
    """

    batch: BatchSize = 64
    """Triplets (objective ``paper``) or queries (``listwise``) of an optimizer step, over all workers."""


class NNRankRecipe(CiteomaticRecipe):
    """All of an NNRank training.

    Example:
        >>> recipe = NNRankRecipe.parse({"model": {"authors": True}, "training": {"epochs": 3}})
        >>> recipe.model.metadata, recipe.objective.folds, recipe.keep
        (('authors',), 3, 'unless_below')
    """

    kind: Literal["nnrank"] = "nnrank"
    period: PeriodSettings = PeriodSettings()
    fields: FieldSettings = FieldSettings()
    model: NNRankModelSettings = NNRankModelSettings()
    objective: NNRankObjectiveSettings = NNRankObjectiveSettings()
    candidates: NNRankCandidateSettings = NNRankCandidateSettings()
    negatives: NegativeSettings = NegativeSettings()
    training: NNRankTrainingSettings = NNRankTrainingSettings()
    keep: Keep = "unless_below"
    """What becomes of an NNRank that is below the stage before it on dev: it is left out, or kept (``always``)."""

    @property
    def words(self) -> PaperWordSettings:
        """The numbered words and names that it is trained on."""
        metadata = bool(self.model.metadata)
        return PaperWordSettings(period=self.period, fields=self.fields, metadata=metadata)
