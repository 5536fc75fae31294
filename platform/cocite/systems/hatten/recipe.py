"""All settings of a HAtten training."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from cocite.bounds import (
    EpochsOrNone,
    Factor,
    PositiveFactor,
    PositiveShare,
    PositiveSmallCount,
    ProperShare,
    SmallCount,
    Total,
)
from cocite.config import Settings
from cocite.nn.word_vectors import WordVectorSettings
from cocite.systems.hatten.initial_vectors import InitialVectorSettings
from cocite.systems.hatten.network import HattenModelSettings
from cocite.systems.hatten.texts import HattenTextSettings
from cocite.text.paragraph_reader import ParagraphSettings
from cocite.training.engine.settings import TrainingSettings, WorkerSettings
from cocite.training.neighbour_search import NeighbourSearchSettings
from cocite.training.periods import PeriodSettings


class HattenObjectiveSettings(Settings):
    """The objective, and how many papers each context is compared with.

    Example:
        >>> HattenObjectiveSettings(objective="paper", mined=4).margin
        0.1
        >>> HattenObjectiveSettings.parse({"objective": "paper", "mined": 0, "random": 0})
        Traceback (most recent call last):
        cocite.errors.ConfigError: mined and random are both 0: there would be no negatives
    """

    objective: Literal["in_batch", "paper"] = "in_batch"
    """``in_batch``: a softmax of each cited paper against all papers of its step that the citing paper does not cite.
    ``paper``: triplets with mined negatives and positives (Eq. 3)."""
    bag_epochs: EpochsOrNone = 0
    """Epochs at the beginning that train the bag alone: without attention they are thirty times as fast."""
    contexts: PositiveSmallCount = 4
    """Contexts of one citing paper that make an example together."""
    scale: PositiveFactor = 20.0
    """Inverse temperature (``in_batch``)."""
    correction: Factor = 0.0
    """Factor of the log of a paper's share of citations that is subtracted from its logit (``in_batch``): with 0 a
    much-cited paper is a negative as often as it is cited, and a score says what is more likely than usual."""
    context_dropout: ProperShare = 0.0
    """Share of queries that are read without their context, as global queries are."""
    mined: SmallCount = 0
    """Mined papers drawn for each context as negatives; in the paper 4."""
    random: SmallCount = 1
    """Papers drawn from the whole corpus for each context."""
    cited_against_random: bool = True
    """Whether cited papers are compared with the random ones too (``paper``); in the paper with mined ones alone, and
    random ones with the textually relevant among the mined."""
    later: Literal["left_out", "not_drawn", "used"] = "left_out"
    """Papers of a later year than the citing paper. ``left_out``: a random one is drawn and is no negative, so that a
    context has fewer. ``not_drawn``: random ones are drawn from the others. ``used``: they are negatives, mined and
    random, as in the paper, which has no such filter."""
    spare_manuscript: bool = True
    """Whether what the citing paper cites elsewhere is no negative of a context either; in the paper only what it cites
    itself is none. The citing paper itself is never one."""
    depth: PositiveSmallCount = 100
    """K_n, papers mined for each context."""
    search: NeighbourSearchSettings = NeighbourSearchSettings()
    """When they are searched exhaustively."""
    overlap: PositiveShare = 0.1
    """Share of the mined papers that are positives: those whose words overlap most with the query's (``paper``)."""
    margin: PositiveFactor = 0.1
    """m (``paper``)."""

    @model_validator(mode="after")
    def _possible(self) -> HattenObjectiveSettings:
        if self.objective == "paper" and not self.mined + self.random:
            raise ValueError("mined and random are both 0: there would be no negatives")
        if self.objective == "paper" and not (self.mined or self.cited_against_random):
            raise ValueError(
                "mined is 0 and cited_against_random is false: cited papers would have no negatives"
            )
        return self


class HattenRecipe(Settings):
    """All settings of a HAtten training.

    Example:
        >>> recipe = HattenRecipe.parse({"kind": "hatten", "objective": {"mined": 4}, "training": {"epochs": 3}})
        >>> recipe.objective.mined, recipe.training.epochs, recipe.model.dimension
        (4, 3, 200)
    """

    kind: Literal["hatten"] = "hatten"
    period: PeriodSettings = PeriodSettings()
    dev_contexts: Total = 2000
    """Most contexts of the dev papers that are dev queries, drawn evenly."""
    paragraphs: ParagraphSettings = ParagraphSettings()
    words: WordVectorSettings = WordVectorSettings()
    model: HattenModelSettings = HattenModelSettings()
    objective: HattenObjectiveSettings = HattenObjectiveSettings()
    training: TrainingSettings = TrainingSettings()
    workers: WorkerSettings = WorkerSettings()

    @property
    def texts(self) -> HattenTextSettings:
        """What determines the numbered words that are trained on."""
        return HattenTextSettings(
            period=self.period,
            dev_contexts=self.dev_contexts,
            paragraphs=self.paragraphs,
            bodies=self.words.source == "corpus",
        )

    @property
    def word_vectors(self) -> InitialVectorSettings | None:
        """What determines the words' initial vectors; None where all are random."""
        return InitialVectorSettings.of(self.texts, self.words, self.model.dimension, self.training.seed)
