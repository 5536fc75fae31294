"""All settings of an NNSelect training."""

from __future__ import annotations

from typing import Literal

from pydantic import model_validator

from cocite.bounds import (
    BatchSize,
    Dimension,
    Factor,
    Location,
    Penalty,
    PositiveFactor,
    ProperShare,
    SmallCount,
    Total,
)
from cocite.config import Settings
from cocite.systems.citeomatic.negatives import NegativeSettings
from cocite.systems.citeomatic.nnselect.text_encoders import TextEncoderKind, Window
from cocite.systems.citeomatic.paper_words import PaperWordSettings
from cocite.systems.citeomatic.training_settings import CiteomaticRecipe, CiteomaticTrainingSettings
from cocite.text.fields import FieldSettings
from cocite.training.periods import PeriodSettings


class NNSelectModelSettings(Settings):
    """Size and start of the model.

    Example:
        >>> NNSelectModelSettings(dimension=75).initial_magnitude
        'idf'
    """

    dimension: Dimension = 300
    initial_magnitude: Literal["one", "idf"] = "idf"
    """Every word alike, or inverse document frequency."""
    pretrained: Location | None = None
    """A file of word vectors (word2vec or GloVe text format) to start the directions from."""
    finetune: bool = True
    """Whether the directions of pretrained vectors are trained further; false: the magnitudes alone are trained."""
    encoder: TextEncoderKind = "bag"
    """``bag``: the sum of the words' vectors (Eq. 1). ``cnn``, ``rnn``: a convolution, or a bidirectional GRU, over the
    words in their order (section 5)."""
    window: Window = 3
    """Words that a position of the convolution sees, an odd number (encoder ``cnn``)."""

    @model_validator(mode="after")
    def _fits(self) -> NNSelectModelSettings:
        if not self.finetune and self.pretrained is None:
            raise ValueError(
                "finetune is false without pretrained vectors to keep: name their file in pretrained, or leave "
                "finetune true"
            )
        if self.encoder == "cnn" and self.window % 2 == 0:
            raise ValueError(f"window is {self.window}, not an odd number")
        if self.encoder == "rnn" and self.dimension % 2:
            raise ValueError(
                f"dimension is {self.dimension}: an rnn needs an even one, half for each direction"
            )
        return self


class NNSelectObjectiveSettings(Settings):
    """What is minimised.

    Example:
        >>> NNSelectObjectiveSettings.parse({"objective": "triplets"})
        Traceback (most recent call last):
        cocite.errors.ConfigError: objective: input should be 'paper' or 'in_batch', got 'triplets'
    """

    objective: Literal["paper", "in_batch"] = "in_batch"
    """``paper``: triplets with margins (Eq. 2). ``in_batch``: each citation against all others of its batch."""
    triplets: Total = 500_000
    """Triplets of an epoch (objective ``paper``)."""
    gamma: Factor = 1.0
    """Margin multiplier (objective ``paper``)."""
    scale: PositiveFactor = 20.0
    """Inverse temperature (objective ``in_batch``)."""
    correction: Factor = 0.0
    """How much of the log of a candidate's frequency is taken off its logit (objective ``in_batch``)."""
    extra: tuple[SmallCount, SmallCount, SmallCount] = (0, 1, 1)
    """Random, neighbour and citation-of-citation negatives added for each citation (objective ``in_batch``)."""
    word_dropout: ProperShare = 0.5
    l1: Penalty = 0.0
    l2: Penalty = 0.0


class NNSelectTrainingSettings(CiteomaticTrainingSettings):
    """The engine's settings; an example is a citation, or a triplet.

    Example:
        >>> NNSelectTrainingSettings().batch
        512
    """

    batch: BatchSize = 512
    """Triplets, or citations, of an optimizer step, over all workers."""


class NNSelectRecipe(CiteomaticRecipe):
    """All of an NNSelect training.

    Example:
        >>> recipe = NNSelectRecipe.parse({"training": {"epochs": 2, "optimizer": {"learning_rate": 0.02}}})
        >>> recipe.training.epochs, recipe.training.optimizer.weight_decay, recipe.workers.count
        (2, 0.0, 0)
        >>> earlier = {"loop": {"epochs": 2, "decay": 0.5}}  # as recipes of earlier versions have it
        >>> NNSelectRecipe.parse(earlier).training.schedule.plateau
        0.5
    """

    kind: Literal["nnselect"] = "nnselect"
    period: PeriodSettings = PeriodSettings()
    fields: FieldSettings = FieldSettings()
    model: NNSelectModelSettings = NNSelectModelSettings()
    objective: NNSelectObjectiveSettings = NNSelectObjectiveSettings()
    negatives: NegativeSettings = NegativeSettings()
    training: NNSelectTrainingSettings = NNSelectTrainingSettings()

    @property
    def words(self) -> PaperWordSettings:
        """The numbered words that it is trained on."""
        order = self.model.encoder != "bag"
        return PaperWordSettings(period=self.period, fields=self.fields, order=order)
